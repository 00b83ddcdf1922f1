package tiff

import (
	"bytes"
	"fmt"
	"math"
	"strings"

	"enhance/raw/rawerr"
)

// Tags of the container itself.
const (
	TagSubIFDs = 330
	TagExifIFD = 34665
	TagGPSIFD  = 34853
)

// Type is the type of a tag's values (TIFF 6.0 section 2; BigTIFF adds 16-18).
type Type uint16

// The value types.
const (
	Byte      Type = 1
	ASCII     Type = 2
	Short     Type = 3
	Long      Type = 4
	Rational  Type = 5
	SByte     Type = 6
	Undefined Type = 7
	SShort    Type = 8
	SLong     Type = 9
	SRational Type = 10
	Float     Type = 11
	Double    Type = 12
	IFDOffset Type = 13
	Long8     Type = 16
	SLong8    Type = 17
	IFD8      Type = 18
)

// Size is the size of one value in bytes, 0 for an unknown type.
func (t Type) Size() int64 {
	switch t {
	case Byte, ASCII, SByte, Undefined:
		return 1
	case Short, SShort:
		return 2
	case Long, SLong, Float, IFDOffset:
		return 4
	case Rational, SRational, Double, Long8, SLong8, IFD8:
		return 8
	}
	return 0
}

// Entry is one tagged value array of a directory.
type Entry struct {
	Tag   uint16
	Type  Type
	Count int64
	off   int64 // of the values, in the file; inside the entry if they fit there
}

// IFD is one directory of a file.
type IFD struct {
	Entries []Entry // in file order
	f       *File
	off     int64
	next    int64
}

// ReadIFD reads the directory at offset off. The values stay in the file.
func (f *File) ReadIFD(off int64) (*IFD, error) {
	countSize, entrySize, ptrSize := int64(2), int64(12), int64(4)
	if f.big {
		countSize, entrySize, ptrSize = 8, 20, 8
	}
	head, err := f.Read(off, countSize)
	if err != nil {
		return nil, err
	}
	n := f.uint(head)
	if n > maxEntries {
		return nil, rawerr.Formatf("tiff", "the directory at offset %d claims %d entries, more than %d", off, n, maxEntries)
	}
	body, err := f.Read(off+countSize, int64(n)*entrySize+ptrSize)
	if err != nil {
		return nil, err
	}
	d := &IFD{f: f, off: off, Entries: make([]Entry, 0, n)}
	for i := range int64(n) {
		b := body[i*entrySize:][:entrySize]
		e, ok := f.entry(b, off+countSize+i*entrySize)
		if ok {
			d.Entries = append(d.Entries, e)
		}
	}
	d.next, err = f.offset(f.uint(body[int64(len(body))-ptrSize:]))
	return d, err
}

// entry decodes the directory entry b, which lies at offset at. Values of
// unknown type are skipped, as TIFF asks; values outside the file get an
// offset that fails when they are asked for.
func (f *File) entry(b []byte, at int64) (Entry, bool) {
	e := Entry{Tag: f.order.Uint16(b), Type: Type(f.order.Uint16(b[2:]))}
	word := (int64(len(b)) - 4) / 2 // 4 bytes, 8 in BigTIFF
	count := f.uint(b[4 : 4+word])
	size := e.Type.Size()
	if size == 0 {
		return e, false
	}
	e.off = -1
	if count > math.MaxInt64/16 {
		count = math.MaxInt64 / 16
	}
	e.Count = int64(count)
	if e.Count*size <= word {
		e.off = at + 4 + word
	} else if p := f.uint(b[4+word:]); p <= uint64(f.size) {
		e.off = int64(p)
	}
	return e, true
}

// uint decodes an unsigned integer of len(b) bytes: 2, 4 or 8.
func (f *File) uint(b []byte) uint64 {
	switch len(b) {
	case 2:
		return uint64(f.order.Uint16(b))
	case 4:
		return uint64(f.order.Uint32(b))
	}
	return f.order.Uint64(b)
}

// Order is the byte order of the directory's file.
func (d *IFD) Order() Order { return d.f.order }

// Find returns the entry of a tag; the first if the directory repeats it.
func (d *IFD) Find(tag uint16) (Entry, bool) {
	for _, e := range d.Entries {
		if e.Tag == tag {
			return e, true
		}
	}
	return Entry{}, false
}

// Has reports whether the directory has the tag.
func (d *IFD) Has(tag uint16) bool {
	_, ok := d.Find(tag)
	return ok
}

func (d *IFD) where(tag uint16) string { return fmt.Sprintf("tiff: tag %d", tag) }

// Data returns the bytes of an entry's values in the file's byte order.
func (d *IFD) Data(e Entry) ([]byte, error) {
	n := e.Count * e.Type.Size()
	if !d.f.Contains(e.off, n) {
		return nil, rawerr.Formatf(d.where(e.Tag), "%d values lie outside the file of %d bytes: it is cut short or damaged", e.Count, d.f.size)
	}
	return d.f.Read(e.off, n)
}

// find is Find for a tag that must be there with 1 to limit values.
func (d *IFD) find(tag uint16, limit int64) (Entry, []byte, error) {
	e, ok := d.Find(tag)
	if !ok {
		return e, nil, rawerr.Formatf(d.where(tag), "missing")
	}
	if e.Count < 1 || e.Count > limit {
		return e, nil, rawerr.Formatf(d.where(tag), "has %d values, want 1 to %d", e.Count, limit)
	}
	b, err := d.Data(e)
	return e, b, err
}

// Uints returns the values of an unsigned integer tag that must be there with
// at least 1 and at most limit values.
func (d *IFD) Uints(tag uint16, limit int64) ([]uint64, error) {
	e, b, err := d.find(tag, limit)
	if err != nil {
		return nil, err
	}
	size := e.Type.Size()
	out := make([]uint64, e.Count)
	for i := range out {
		v := b[int64(i)*size:][:size]
		switch e.Type {
		case Byte, Undefined:
			out[i] = uint64(v[0])
		case Short, Long, IFDOffset, Long8, IFD8:
			out[i] = d.f.uint(v)
		default:
			return nil, rawerr.Formatf(d.where(tag), "has values of type %d, want unsigned integers", e.Type)
		}
	}
	return out, nil
}

// Uint returns the first value of an unsigned integer tag, or def if the
// directory does not have the tag.
func (d *IFD) Uint(tag uint16, def uint64) (uint64, error) {
	if !d.Has(tag) {
		return def, nil
	}
	v, err := d.Uints(tag, 1<<16)
	if err != nil {
		return 0, err
	}
	return v[0], nil
}

// Floats returns the values of a numeric tag of any type, at least 1 and at
// most limit of them. Rationals with denominator 0 become infinite or NaN.
func (d *IFD) Floats(tag uint16, limit int64) ([]float64, error) {
	e, b, err := d.find(tag, limit)
	if err != nil {
		return nil, err
	}
	size := e.Type.Size()
	out := make([]float64, e.Count)
	for i := range out {
		if out[i], err = d.f.float(e.Type, b[int64(i)*size:][:size]); err != nil {
			return nil, rawerr.Formatf(d.where(tag), "%v", err)
		}
	}
	return out, nil
}

func (f *File) float(t Type, v []byte) (float64, error) {
	o := f.order
	switch t {
	case Byte, Undefined:
		return float64(v[0]), nil
	case SByte:
		return float64(int8(v[0])), nil
	case Short:
		return float64(o.Uint16(v)), nil
	case SShort:
		return float64(int16(o.Uint16(v))), nil
	case Long, IFDOffset:
		return float64(o.Uint32(v)), nil
	case SLong:
		return float64(int32(o.Uint32(v))), nil
	case Rational:
		return float64(o.Uint32(v)) / float64(o.Uint32(v[4:])), nil
	case SRational:
		return float64(int32(o.Uint32(v))) / float64(int32(o.Uint32(v[4:]))), nil
	case Float:
		return float64(math.Float32frombits(o.Uint32(v))), nil
	case Double:
		return math.Float64frombits(o.Uint64(v)), nil
	case Long8, IFD8:
		return float64(o.Uint64(v)), nil
	case SLong8:
		return float64(int64(o.Uint64(v))), nil
	}
	return 0, fmt.Errorf("has values of type %d, want numbers", t)
}

// Text returns the text of an ASCII tag, trimmed and cut at its first NUL; ""
// if the directory does not have the tag. At most 4 KiB are read.
func (d *IFD) Text(tag uint16) (string, error) {
	e, ok := d.Find(tag)
	if !ok || (e.Type != ASCII && e.Type != Byte) {
		return "", nil
	}
	e.Count = min(e.Count, 4096)
	b, err := d.Data(e)
	if err != nil {
		return "", err
	}
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(b), "\uFFFD")), nil
}

// Sub reads the directory that a tag of d points to, for example TagExifIFD.
func (d *IFD) Sub(tag uint16) (*IFD, error) {
	v, err := d.Uints(tag, 1)
	if err != nil {
		return nil, err
	}
	off, err := d.f.offset(v[0])
	if err != nil {
		return nil, err
	}
	return d.f.ReadIFD(off)
}
