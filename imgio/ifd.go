package imgio

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// TIFF field types (TIFF 6.0, section 2).
const (
	typeASCII     = 2
	typeShort     = 3
	typeLong      = 4
	typeRational  = 5
	typeUndefined = 7
)

// typeSize is the size of one value of each field type, 0 for types unknown.
var typeSize = [...]int64{0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4}

// Tags of TIFF 6.0 and EXIF 2.32 used in this package.
const (
	tagWidth            = 256
	tagHeight           = 257
	tagBitsPerSample    = 258
	tagCompression      = 259
	tagPhotometric      = 262
	tagDescription      = 270
	tagMake             = 271
	tagModel            = 272
	tagStripOffsets     = 273
	tagOrientation      = 274
	tagSamplesPerPixel  = 277
	tagRowsPerStrip     = 278
	tagStripByteCounts  = 279
	tagXResolution      = 282
	tagYResolution      = 283
	tagPlanar           = 284
	tagResolutionUnit   = 296
	tagSoftware         = 305
	tagDateTime         = 306
	tagArtist           = 315
	tagPredictor        = 317
	tagYCbCrPositioning = 531
	tagCopyright        = 33432
	tagExifIFD          = 34665
	tagICCProfile       = 34675
	tagGPSIFD           = 34853

	tagExposureTime     = 33434
	tagFNumber          = 33437
	tagISO              = 34855
	tagExifVersion      = 36864
	tagDateTimeOriginal = 36867
	tagComponents       = 37121
	tagFocalLength      = 37386
	tagFlashpixVersion  = 40960
	tagColorSpace       = 40961
	tagPixelXDimension  = 40962
	tagPixelYDimension  = 40963
	tagLensModel        = 42036
)

// byteOrder is what binary.LittleEndian and binary.BigEndian are.
type byteOrder interface {
	binary.ByteOrder
	binary.AppendByteOrder
}

// field is one entry of an image file directory with its values encoded.
type field struct {
	tag, kind uint16
	count     uint32
	values    []byte
	// placed says that values is the entry's own four bytes, taken as they are:
	// the values themselves lie elsewhere in the file already.
	placed bool
}

// directory builds an image file directory.
type directory struct {
	order  byteOrder
	fields []field
}

func (d *directory) add(tag, kind uint16, count int, values []byte) {
	d.fields = append(d.fields, field{tag: tag, kind: kind, count: uint32(count), values: values})
}

// ascii adds a string, cut at its first NUL; an empty one is left out.
func (d *directory) ascii(tag uint16, s string) {
	b, _, _ := bytes.Cut([]byte(s), []byte{0})
	if len(b) > 0 {
		d.add(tag, typeASCII, len(b)+1, append(b, 0))
	}
}

func (d *directory) short(tag uint16, v ...uint16) {
	var b []byte
	for _, x := range v {
		b = d.order.AppendUint16(b, x)
	}
	d.add(tag, typeShort, len(v), b)
}

func (d *directory) long(tag uint16, v ...uint32) {
	var b []byte
	for _, x := range v {
		b = d.order.AppendUint32(b, x)
	}
	d.add(tag, typeLong, len(v), b)
}

// rational adds num/den; one with a zero denominator is left out.
func (d *directory) rational(tag uint16, v [2]uint32) {
	if v[1] != 0 {
		d.add(tag, typeRational, 1, d.order.AppendUint32(d.order.AppendUint32(nil, v[0]), v[1]))
	}
}

// encode returns the directory as it stands at file offset base, followed by the
// values that do not fit into their entries, and the file offset of every tag's
// values. The length is even and does not depend on the values themselves.
func (d *directory) encode(base uint32) (b []byte, at map[uint16]uint32) {
	slices.SortFunc(d.fields, func(a, b field) int { return int(a.tag) - int(b.tag) })
	at = make(map[uint16]uint32)
	b = d.order.AppendUint16(nil, uint16(len(d.fields)))
	next := base + 2 + 12*uint32(len(d.fields)) + 4
	var tail []byte
	for _, f := range d.fields {
		b = d.order.AppendUint16(b, f.tag)
		b = d.order.AppendUint16(b, f.kind)
		b = d.order.AppendUint32(b, f.count)
		if f.placed || len(f.values) <= 4 {
			at[f.tag] = base + uint32(len(b))
			b = append(b, append(slices.Clone(f.values), 0, 0, 0, 0)[:4]...)
			continue
		}
		at[f.tag] = next + uint32(len(tail))
		b = d.order.AppendUint32(b, at[f.tag])
		tail = append(tail, f.values...)
		if len(tail)%2 != 0 { // values begin on a word boundary
			tail = append(tail, 0)
		}
	}
	b = d.order.AppendUint32(b, 0) // no further directory
	return append(b, tail...), at
}
