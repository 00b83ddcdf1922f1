package imgio

import (
	"encoding/binary"
	"fmt"
	"slices"

	"enhance/raw/tiff"
)

// exifBlock is a checked copy of a Header.Exif.
type exifBlock struct {
	order  tiff.Order
	blob   []byte
	fields []field // of the main directory
}

// field is one entry of a directory in an EXIF block.
type field struct {
	tag   uint16
	kind  tiff.Type
	count uint32
	value []byte // the entry's own four bytes: values, or their offset in the block
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
			if _, _, err := e.directory(e.order.Uint32(f.value)); err != nil {
				return nil, err
			}
		case tagOrientation:
			// Entries follow the directory's two-byte count, twelve bytes each.
			entry := e.blob[int(at)+2+12*i:][:12]
			e.order.PutUint16(entry[2:], uint16(tiff.Short))
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
		f := field{tag: e.order.Uint16(b), kind: tiff.Type(e.order.Uint16(b[2:])), count: e.order.Uint32(b[4:]), value: slices.Clone(b[8:12])}
		if n := f.kind.Size() * int64(f.count); n > 4 && int64(e.order.Uint32(f.value))+n > size {
			return nil, 0, fmt.Errorf("%w: values of tag %d pass the end", ErrExif, f.tag)
		}
		fields = append(fields, f)
	}
	return fields, int(stop), nil
}
