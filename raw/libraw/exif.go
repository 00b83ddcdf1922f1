package libraw

import (
	"bytes"
	"encoding/binary"
	"errors"

	"enhance/raw/mosaic"
	"enhance/raw/tiff"
)

// Tags of Exif 2.3 and TIFF 6.0.
const (
	tagDescription  = 270
	tagMake         = 271
	tagModel        = 272
	tagOrientation  = 274
	tagSoftware     = 305
	tagDateTime     = 306
	tagArtist       = 315
	tagExposureTime = 33434
	tagFNumber      = 33437
	tagISO          = 34855
	tagVersion      = 36864
	tagOriginal     = 36867
	tagFocalLength  = 37386
	tagLensModel    = 42036
)

// exif makes an Exif block of what LibRaw says of the exposure.
func (f *facts) exif(m *mosaic.Meta) []byte {
	first, sub := tiff.NewDir(binary.LittleEndian, false), tiff.NewDir(binary.LittleEndian, false)
	f.addExif(m, first, sub)
	return encode(first, sub)
}

// CompleteExif adds what LibRaw says, but the file's own block does not, to that block.
// A block that cannot be read is replaced.
func (im *Image) CompleteExif(own []byte) []byte {
	file, err := tiff.Parse(bytes.NewReader(own), int64(len(own)))
	if err != nil {
		return im.Meta.Exif
	}
	dirs, err := file.Walk()
	if err != nil || len(dirs) == 0 {
		return im.Meta.Exif
	}
	first, sub := tiff.NewDir(file.Order(), false), tiff.NewDir(file.Order(), false)
	err = copyDir(first, dirs[0])
	if d, e := dirs[0].Sub(tiff.TagExifIFD); e == nil {
		err = errors.Join(err, copyDir(sub, d))
	}
	if d, e := dirs[0].Sub(tiff.TagGPSIFD); e == nil {
		gps := tiff.NewDir(file.Order(), false)
		err = errors.Join(err, copyDir(gps, d))
		first.Dirs(tiff.TagGPSIFD, gps)
	}
	if err != nil {
		return im.Meta.Exif
	}
	im.facts.addExif(&im.Meta, first, sub)
	return encode(first, sub)
}

func copyDir(dst *tiff.Dir, src *tiff.IFD) error {
	for _, e := range src.Entries {
		if e.Tag == tiff.TagExifIFD || e.Tag == tiff.TagGPSIFD {
			continue
		}
		b, err := src.Data(e)
		if err != nil {
			return err
		}
		dst.Raw(e.Tag, e.Type, int(e.Count), b)
	}
	return nil
}

func encode(first, sub *tiff.Dir) []byte {
	if sub.Len() > 0 {
		if !sub.Has(tagVersion) {
			sub.Raw(tagVersion, tiff.Undefined, 4, []byte("0230"))
		}
		first.Dirs(tiff.TagExifIFD, sub)
	}
	return first.EncodeFile()
}

// addExif adds the tags that are not there.
func (f *facts) addExif(m *mosaic.Meta, first, sub *tiff.Dir) {
	text := func(d *tiff.Dir, tag uint16, s string) {
		if s != "" && !d.Has(tag) {
			d.Text(tag, s)
		}
	}
	number := func(tag uint16, v float64) {
		if v > 0 && v < 1e6 && !sub.Has(tag) {
			sub.URationals(tag, v)
		}
	}
	text(first, tagDescription, f.Description)
	text(first, tagMake, m.Make)
	text(first, tagModel, m.Model)
	text(first, tagSoftware, m.Software)
	text(first, tagArtist, f.Artist)
	text(first, tagDateTime, m.DateTime)
	first.Shorts(tagOrientation, 1)
	number(tagExposureTime, f.Shutter)
	number(tagFNumber, f.Aperture)
	if f.ISO >= 1 && !sub.Has(tagISO) {
		sub.Shorts(tagISO, uint16(min(f.ISO, 65535)))
	}
	text(sub, tagOriginal, m.DateTime)
	number(tagFocalLength, f.FocalLength)
	text(sub, tagLensModel, f.Lens)
}
