package imgio

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// ExifTags is the camera data worth keeping. Empty strings and rationals with a
// zero denominator and zero numbers are left out.
type ExifTags struct {
	Make, Model, LensModel                   string
	Software, Description, Artist, Copyright string
	DateTimeOriginal                         string    // "2006:01:02 15:04:05"
	ExposureTime                             [2]uint32 // seconds, numerator and denominator
	FNumber                                  [2]uint32
	FocalLength                              [2]uint32 // millimetres
	ISO                                      int       // 1..65535
	Width, Height                            int       // pixels of the upright picture
}

// Encode returns the EXIF block for Header.Exif: upright, sRGB.
func (t ExifTags) Encode() []byte {
	order := binary.LittleEndian
	main, sub := directory{order: order}, directory{order: order}
	main.ascii(tagDescription, t.Description)
	main.ascii(tagMake, t.Make)
	main.ascii(tagModel, t.Model)
	main.short(tagOrientation, 1)
	main.rational(tagXResolution, [2]uint32{72, 1}) // required by EXIF, as is the next
	main.rational(tagYResolution, [2]uint32{72, 1})
	main.short(tagResolutionUnit, 2)
	main.short(tagYCbCrPositioning, 1) // chroma between the pixels, as image/jpeg averages it
	main.ascii(tagSoftware, t.Software)
	main.ascii(tagArtist, t.Artist)
	main.ascii(tagCopyright, t.Copyright)

	sub.rational(tagExposureTime, t.ExposureTime)
	sub.rational(tagFNumber, t.FNumber)
	if t.ISO > 0 && t.ISO <= 65535 {
		sub.short(tagISO, uint16(t.ISO))
	}
	sub.add(tagExifVersion, typeUndefined, 4, []byte("0232"))
	sub.ascii(tagDateTimeOriginal, t.DateTimeOriginal)
	sub.add(tagComponents, typeUndefined, 4, []byte{1, 2, 3, 0}) // Y Cb Cr, required by EXIF
	sub.add(tagFlashpixVersion, typeUndefined, 4, []byte("0100"))
	sub.rational(tagFocalLength, t.FocalLength)
	sub.short(tagColorSpace, 1)
	if t.Width > 0 && t.Height > 0 && t.Width <= maxSide && t.Height <= maxSide {
		sub.long(tagPixelXDimension, uint32(t.Width))
		sub.long(tagPixelYDimension, uint32(t.Height))
	}
	sub.ascii(tagLensModel, t.LensModel)

	main.long(tagExifIFD, 0)
	const base = 8
	first, _ := main.encode(base) // only its length is of interest
	subBase := uint32(base + len(first))
	last := slices.IndexFunc(main.fields, func(f field) bool { return f.tag == tagExifIFD })
	main.fields[last].values = order.AppendUint32(nil, subBase)

	b := order.AppendUint32([]byte("II*\x00"), base)
	first, _ = main.encode(base)
	second, _ := sub.encode(subBase)
	return append(append(b, first...), second...)
}

// exifBlock is a checked copy of a Header.Exif.
type exifBlock struct {
	order  byteOrder
	blob   []byte
	fields []field // of the main directory, values as placed in the blob
}

func (e *exifBlock) bytes() []byte {
	if e == nil {
		return nil
	}
	return e.blob
}

// cleanExif checks an EXIF block and returns a copy of it that says upright and
// has no thumbnail directory. Nil for an empty one.
func cleanExif(blob []byte) (*exifBlock, error) {
	if len(blob) == 0 {
		return nil, nil
	}
	e := &exifBlock{blob: slices.Clone(blob)}
	switch {
	case len(blob) >= 8 && string(blob[:4]) == "II*\x00":
		e.order = binary.LittleEndian
	case len(blob) >= 8 && string(blob[:4]) == "MM\x00*":
		e.order = binary.BigEndian
	default:
		return nil, fmt.Errorf("%w: it must begin with a TIFF header, II*0 or MM0*", ErrExif)
	}
	at := e.order.Uint32(blob[4:])
	fields, end, err := e.directory(at)
	if err != nil {
		return nil, err
	}
	for i, f := range fields {
		switch f.tag {
		case tagExifIFD, tagGPSIFD:
			if _, _, err := e.directory(e.order.Uint32(f.values)); err != nil {
				return nil, err
			}
		case tagOrientation:
			// Entries follow the directory's two-byte count, twelve bytes each.
			entry := e.blob[int(at)+2+12*i:][:12]
			e.order.PutUint16(entry[2:], typeShort)
			e.order.PutUint32(entry[4:], 1)
			e.order.PutUint32(entry[8:], 0)
			e.order.PutUint16(entry[8:], 1)
		}
	}
	e.order.PutUint32(e.blob[end:], 0)
	e.fields = fields
	return e, nil
}

// directory reads the entries at offset at, checking that they and their values
// lie within the block, and returns the offset of the link that follows them.
func (e *exifBlock) directory(at uint32) (fields []field, end int, err error) {
	size := int64(len(e.blob))
	if at < 8 || int64(at)+2 > size {
		return nil, 0, fmt.Errorf("%w: directory at %d of %d bytes", ErrExif, at, size)
	}
	n := int64(e.order.Uint16(e.blob[at:]))
	stop := int64(at) + 2 + 12*n
	if stop+4 > size {
		return nil, 0, fmt.Errorf("%w: directory of %d entries at %d passes the end", ErrExif, n, at)
	}
	for b := e.blob[at+2 : stop]; len(b) > 0; b = b[12:] {
		f := field{tag: e.order.Uint16(b), kind: e.order.Uint16(b[2:]), count: e.order.Uint32(b[4:]), values: slices.Clone(b[8:12]), placed: true}
		var each int64
		if int(f.kind) < len(typeSize) {
			each = typeSize[f.kind]
		}
		if n := each * int64(f.count); n > 4 && int64(e.order.Uint32(f.values))+n > size {
			return nil, 0, fmt.Errorf("%w: values of tag %d pass the end", ErrExif, f.tag)
		}
		fields = append(fields, f)
	}
	return fields, int(stop), nil
}
