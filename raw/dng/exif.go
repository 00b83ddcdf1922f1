package dng

import (
	"errors"
	"io"
	"slices"

	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// Exif tags read by name here.
const (
	exifDateTimeOriginal = 36867
	exifLensSpec         = 42034
)

// keptExif lists the tags of the Exif directory that describe the exposure, the
// camera and the lens and stay true of the finished picture. MakerNote,
// thumbnails, pixel sizes and colour space are left out.
var keptExif = []uint16{
	33434, 33437, 34850, 34855, 34864, 34865, 34866, // exposure time, f-number, program, ISO
	36864, 36867, 36868, 36880, 36881, 36882, // version, dates, time zones
	37377, 37378, 37379, 37380, 37381, 37382, 37383, 37384, 37385, 37386, // APEX values, flash, focal length
	37520, 37521, 37522, // fractions of seconds
	41986, 41987, 41988, 41989, 41990, 41996, // modes, zoom, scene
	42032, 42033, 42034, 42035, 42036, 42037, // owner, serial numbers, lens
}

// keptFirst lists the tags kept of the first directory.
var keptFirst = []uint16{270, tagMake, tagModel, tagSoftware, tagDateTime, tagArtist, tagCopyright}

// maxExifValue is the largest value kept. Everything kept together must fit
// into a JPEG APP1 segment of 65,533 bytes.
const (
	maxExifValue = 4 << 10
	maxExif      = 60 << 10
)

// sourceOf parses a TIFF-structured file whose image is not asked for.
func sourceOf(r io.ReaderAt, size int64) (*source, error) {
	f, err := tiff.Parse(r, size)
	if err != nil {
		return nil, err
	}
	dirs, err := f.Walk()
	if err != nil {
		return nil, err
	}
	if len(dirs) == 0 {
		return nil, rawerr.Formatf("tiff", "no directory")
	}
	return &source{file: f, first: dirs[0]}, nil
}

// Maker is the camera's maker that a TIFF-structured file names which is no DNG file, ""
// if it names none or is one.
func Maker(r io.ReaderAt, size int64) (string, error) {
	s, err := sourceOf(r, size)
	if err != nil || s.first.Has(tagDNGVersion) {
		return "", err
	}
	return s.first.Text(tagMake)
}

// Exif reads the Exif block, as Meta.Exif has it, and the time of a TIFF-structured file
// whose image another decoder reads.
func Exif(r io.ReaderAt, size int64) (block []byte, dateTime string, warnings []string, err error) {
	s, err := sourceOf(r, size)
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
	if d := x.sub(s.first, tiff.TagExifIFD, "Exif"); d != nil {
		dst := tiff.NewDir(order, false)
		x.copy(dst, d, keptExif)
		if t, err := d.Text(exifDateTimeOriginal); err == nil && t != "" {
			im.Meta.DateTime = t
		}
		s.lens(&x, dst)
		if dst.Len() > 0 {
			out.Dirs(tiff.TagExifIFD, dst)
		}
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
	if n == 0 || x.err != nil {
		return
	}
	if n > maxExifValue || x.total+n > maxExif {
		x.s.warn("Exif tag %d of %d bytes is too large to keep.", e.Tag, n)
		return
	}
	b, err := src.Data(e)
	if x.failed(err) {
		return
	}
	x.total += n + 12
	dst.Raw(e.Tag, e.Type, int(e.Count), b)
}

// sub opens a directory, nil if there is none that can be read.
func (x *exifCopier) sub(d *tiff.IFD, tag uint16, name string) *tiff.IFD {
	if !d.Has(tag) || x.err != nil {
		return nil
	}
	sub, err := d.Sub(tag)
	if x.failed(err) {
		x.s.warn("The %s directory is damaged and was left out.", name)
		return nil
	}
	return sub
}

// failed reports whether err is an error; damage becomes a warning, anything
// else ends the copying.
func (x *exifCopier) failed(err error) bool {
	var damaged *rawerr.FormatError
	if errors.As(err, &damaged) {
		x.s.warn("Part of the Exif data was left out: %v.", damaged)
	} else if err != nil {
		x.err = err
	}
	return err != nil
}
