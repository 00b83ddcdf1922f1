package libraw

import (
	"encoding/binary"

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
	text := func(d *tiff.Dir, tag uint16, s string) {
		if s != "" {
			d.Text(tag, s)
		}
	}
	number := func(tag uint16, v float64) {
		if v > 0 && v < 1e6 {
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
	if f.ISO >= 1 {
		sub.Shorts(tagISO, uint16(min(f.ISO, 65535)))
	}
	text(sub, tagOriginal, m.DateTime)
	number(tagFocalLength, f.FocalLength)
	text(sub, tagLensModel, f.Lens)
	if sub.Len() > 0 {
		sub.Raw(tagVersion, tiff.Undefined, 4, []byte("0230"))
		first.Dirs(tiff.TagExifIFD, sub)
	}
	return first.EncodeFile()
}
