package dng

import (
	"bytes"
	"errors"
	"io"
	"slices"

	"enhance/internal/metadata"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// Exif tags read by name here.
const (
	exifDateTimeOriginal = 36867
	exifUserComment      = 37510
	exifLensSpec         = 42034
)

// keptExif lists the tags of the Exif directory that are about the exposure, the camera,
// the lens, the place and the people, and stay true of a picture made of the photo. Left out
// are MakerNote, whose offsets hold in its own file only; what is about the samples as stored
// (sizes, colour space, places in the picture, the filter array, how the camera rendered);
// and directories.
var keptExif = []uint16{
	33434, 33437, 34850, 34852, 34855, // exposure time, f-number, program, spectral sensitivity, ISO
	34864, 34865, 34866, 34867, 34868, 34869, // kinds of sensitivity
	36864, 36867, 36868, 36880, 36881, 36882, // version, dates, time zones
	37377, 37378, 37379, 37380, 37381, 37382, 37383, 37384, 37385, 37386, // APEX values, flash, focal length
	37510, 37520, 37521, 37522, // comment, fractions of seconds
	37888, 37889, 37890, 37891, 37892, 37893, // temperature, humidity, pressure, depth, acceleration, elevation
	41483, 41493, 41495, 41728, 41729, // flash energy, exposure index, kinds of sensor, file and scene
	41986, 41987, 41988, 41989, 41990, 41991, 41996, // modes, zoom, scene, gain, distance
	42016, 42032, 42033, 42034, 42035, 42036, 42037, // identity, owner, serial numbers, lens
	42080, 42081, 42082, // composite images
}

// keptFirst lists the tags kept of the first directory.
var keptFirst = []uint16{270, tagMake, tagModel, tagSoftware, tagDateTime, tagArtist, 18246, 18249, tagCopyright} // rating too

// maxExifValue is the largest value kept. Everything kept together must fit
// into a JPEG APP1 segment of 65,533 bytes.
const (
	maxExifValue = 4 << 10
	maxExif      = 60 << 10
)

// Maker is the camera's maker that a TIFF-structured file names which is no DNG file, ""
// if it names none or is one.
func Maker(r io.ReaderAt, size int64) (string, error) {
	s, _, err := parse(r, size)
	if err != nil || s.first.Has(tagDNGVersion) {
		return "", err
	}
	return s.first.Text(tagMake)
}

// Exif reads the Exif block, as Meta.Exif has it, and the time of a TIFF-structured file
// whose image another decoder reads.
func Exif(r io.ReaderAt, size int64) (block []byte, dateTime string, warnings []string, err error) {
	s, _, err := parse(r, size)
	if err != nil {
		return nil, "", nil, err
	}
	im := &Image{}
	if err := s.camera(im, nil); err != nil {
		return nil, "", nil, err
	}
	err = s.exif(im, nil)
	return im.Meta.Exif, im.Meta.DateTime, s.warnings, err
}

// XMP reads the XMP packet, as Meta.XMP has it, of a TIFF-structured file whose image another
// decoder reads. One that cannot be read is none.
func XMP(r io.ReaderAt, size int64) []byte {
	s, _, err := parse(r, size)
	if err != nil {
		return nil
	}
	im := &Image{}
	if err := s.xmp(im, nil); err != nil {
		return nil
	}
	return im.Meta.XMP
}

// xmp reads the XMP packet of the first directory. Whether it is XML is for those to find
// out who pass it on.
func (s *source) xmp(im *Image, _ *layout) error {
	e, ok := s.first.Find(tagXMP)
	if !ok || e.Type.Size() != 1 || e.Count < 1 {
		return nil
	}
	if e.Count > metadata.MaxXMP {
		s.warn("XMP of %d bytes is too large to keep", e.Count)
		return nil
	}
	x := exifCopier{s: s}
	b, err := s.first.Data(e)
	if !x.failed(err) {
		im.Meta.XMP = b
	}
	return x.err
}

// camera reads what the camera says of itself.
func (s *source) camera(im *Image, _ *layout) error {
	m := &im.Meta
	for _, c := range []struct {
		tag uint16
		dst *string
	}{
		{tagMake, &m.Make}, {tagModel, &m.Model}, {tagSoftware, &m.Software}, {tagDateTime, &m.DateTime},
	} {
		v, err := s.first.Text(c.tag)
		if err != nil {
			return err
		}
		*c.dst = v
	}
	if m.Model == "" {
		v, err := s.first.Text(tagUniqueCameraModel)
		if err != nil {
			return err
		}
		m.Model = v
	}
	return nil
}

// exif builds Meta.Exif. A damaged Exif or GPS part does not make the photo
// unreadable: it is left out with a warning. I/O errors remain errors.
func (s *source) exif(im *Image, _ *layout) error {
	order := s.file.Order()
	out := tiff.NewDir(order, false)
	x := exifCopier{s: s}
	x.copy(out, s.first, keptFirst)
	dst := tiff.NewDir(order, false)
	if d := x.sub(s.first, tiff.TagExifIFD, "Exif"); d != nil {
		x.copy(dst, d, keptExif)
		if t, err := d.Text(exifDateTimeOriginal); err == nil && t != "" {
			im.Meta.DateTime = t
		}
	}
	x.copy(dst, s.first, keptExif) // where TIFF/EP has them
	s.lens(&x, dst)
	if dst.Len() > 0 {
		out.Dirs(tiff.TagExifIFD, dst)
	}
	if d := x.sub(s.first, tiff.TagGPSIFD, "GPS"); d != nil {
		dst := tiff.NewDir(order, false)
		var all []uint16
		for tag := range uint16(32) {
			all = append(all, tag)
		}
		x.copy(dst, d, all)
		if dst.Len() > 0 {
			out.Dirs(tiff.TagGPSIFD, dst)
		}
	}
	if x.err != nil || out.Len() == 0 {
		return x.err
	}
	out.Shorts(tagOrientation, 1)
	im.Meta.Exif = out.EncodeFile()
	return nil
}

// lens takes the lens from DNG's LensInfo where Exif does not name it.
func (s *source) lens(x *exifCopier, dst *tiff.Dir) {
	if e, ok := s.first.Find(tagLensInfo); ok && !dst.Has(exifLensSpec) && e.Type == tiff.Rational && e.Count == 4 {
		e.Tag = exifLensSpec
		x.entry(dst, s.first, e)
	}
}

// exifCopier copies tags between directories of the same byte order.
type exifCopier struct {
	s     *source
	total int64
	err   error // an I/O error
}

func (x *exifCopier) copy(dst *tiff.Dir, src *tiff.IFD, tags []uint16) {
	for _, e := range src.Entries {
		if slices.Contains(tags, e.Tag) && !dst.Has(e.Tag) {
			x.entry(dst, src, e)
		}
	}
}

func (x *exifCopier) entry(dst *tiff.Dir, src *tiff.IFD, e tiff.Entry) {
	n := e.Count * e.Type.Size()
	if n == 0 || x.err != nil || e.Type > tiff.Double { // offsets, and numbers that only BigTIFF has
		return
	}
	if n > maxExifValue || x.total+n > maxExif {
		x.s.warn("Exif tag %d of %d bytes is too large to keep", e.Tag, n)
		return
	}
	b, err := src.Data(e)
	if x.failed(err) || e.Type == tiff.ASCII && metadata.Blank(b) {
		return
	}
	if e.Type == tiff.ASCII {
		b = oneText(e.Tag, b)
		e.Count = int64(len(b))
	}
	if e.Tag == exifUserComment && metadata.Blank(b[min(8, len(b)):]) { // its first 8 bytes name the encoding
		return
	}
	x.total += n + 12
	dst.Raw(e.Tag, e.Type, int(e.Count), b)
}

// oneText ends a text by one NUL: cameras pad theirs, or leave it out. Copyright alone has
// two texts, the photographer's and the editor's.
func oneText(tag uint16, b []byte) []byte {
	b = bytes.TrimRight(b, "\x00")
	if i := bytes.IndexByte(b, 0); i >= 0 && tag != tagCopyright {
		b = b[:i]
	}
	return append(b[:len(b):len(b)], 0)
}

// sub opens a directory, nil if there is none that can be read.
func (x *exifCopier) sub(d *tiff.IFD, tag uint16, name string) *tiff.IFD {
	if !d.Has(tag) || x.err != nil {
		return nil
	}
	sub, err := d.Sub(tag)
	if x.failed(err) {
		x.s.warn("the %s directory is damaged and was left out", name)
		return nil
	}
	return sub
}

// failed reports whether err is an error; damage becomes a warning, anything
// else ends the copying.
func (x *exifCopier) failed(err error) bool {
	var damaged *rawerr.FormatError
	if errors.As(err, &damaged) {
		x.s.warn("part of the Exif data was left out: %v", damaged)
	} else if err != nil {
		x.err = err
	}
	return err != nil
}
