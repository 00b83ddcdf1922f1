package tiff

import (
	"encoding/binary"
	"math"
	"slices"
)

// Dir is a directory to be written. Values are added in any order; Encode
// sorts them by tag as TIFF asks. Adding a tag again replaces it.
type Dir struct {
	order   Order
	big     bool
	entries []dirEntry
}

type dirEntry struct {
	tag   uint16
	typ   Type
	count int
	data  []byte
	subs  []*Dir // the values are offsets of these directories
	at    int    // where Encode last put the values in the file
}

// NewDir returns an empty directory for a file of the given byte order; big
// selects BigTIFF.
func NewDir(order Order, big bool) *Dir { return &Dir{order: order, big: big} }

// Raw sets a tag to count values of type t whose bytes, in the directory's
// byte order, are data. If data is no longer than an entry's own value field, it is
// copied to that field as it is: it may thus also be the offset of values that stand
// elsewhere in the file.
func (d *Dir) Raw(tag uint16, t Type, count int, data []byte) {
	d.set(dirEntry{tag: tag, typ: t, count: count, data: data})
}

func (d *Dir) set(e dirEntry) {
	for i := range d.entries {
		if d.entries[i].tag == e.tag {
			d.entries[i] = e
			return
		}
	}
	d.entries = append(d.entries, e)
}

// Has reports whether a tag was added.
func (d *Dir) Has(tag uint16) bool {
	return slices.ContainsFunc(d.entries, func(e dirEntry) bool { return e.tag == tag })
}

// Value is a tag with its values, as bytes in the byte order of a directory.
type Value struct {
	Tag   uint16
	Type  Type
	Count int
	Data  []byte
}

// Values are those added so far, but for other directories.
func (d *Dir) Values() []Value {
	var all []Value
	for _, e := range d.entries {
		if e.subs == nil {
			all = append(all, Value{e.tag, e.typ, e.count, e.data})
		}
	}
	return all
}

// Add sets a tag to a value of a directory of the same byte order.
func (d *Dir) Add(v Value) { d.Raw(v.Tag, v.Type, v.Count, v.Data) }

// Len is the number of tags added.
func (d *Dir) Len() int { return len(d.entries) }

// Offset is the offset in the file at which the last Encode put the values of a tag
// that was added.
func (d *Dir) Offset(tag uint16) int {
	return d.entries[slices.IndexFunc(d.entries, func(e dirEntry) bool { return e.tag == tag })].at
}

// Text sets a tag to an ASCII string.
func (d *Dir) Text(tag uint16, s string) {
	d.Raw(tag, ASCII, len(s)+1, append([]byte(s), 0))
}

// Bytes sets a tag to BYTE values.
func (d *Dir) Bytes(tag uint16, v ...byte) { d.Raw(tag, Byte, len(v), v) }

// Shorts sets a tag to SHORT values.
func (d *Dir) Shorts(tag uint16, v ...uint16) {
	var b []byte
	for _, x := range v {
		b = d.order.AppendUint16(b, x)
	}
	d.Raw(tag, Short, len(v), b)
}

// Longs sets a tag to LONG values.
func (d *Dir) Longs(tag uint16, v ...uint32) {
	var b []byte
	for _, x := range v {
		b = d.order.AppendUint32(b, x)
	}
	d.Raw(tag, Long, len(v), b)
}

// Long8s sets a tag to LONG8 values, which only BigTIFF has.
func (d *Dir) Long8s(tag uint16, v ...uint64) {
	var b []byte
	for _, x := range v {
		b = d.order.AppendUint64(b, x)
	}
	d.Raw(tag, Long8, len(v), b)
}

// Rationals sets a tag to SRATIONAL values with denominator 1,000,000, or 1
// where a value is too large for that.
func (d *Dir) Rationals(tag uint16, v ...float64) { d.rationals(tag, SRational, math.MaxInt32, v) }

// URationals is Rationals with the unsigned type.
func (d *Dir) URationals(tag uint16, v ...float64) { d.rationals(tag, Rational, math.MaxUint32, v) }

func (d *Dir) rationals(tag uint16, t Type, limit float64, v []float64) {
	var b []byte
	for _, x := range v {
		den := 1e6
		if math.Abs(x)*den > limit || x == math.Trunc(x) {
			den = 1
		}
		b = d.order.AppendUint32(b, uint32(int64(math.Round(x*den))))
		b = d.order.AppendUint32(b, uint32(den))
	}
	d.Raw(tag, t, len(v), b)
}

// Doubles sets a tag to DOUBLE values.
func (d *Dir) Doubles(tag uint16, v ...float64) {
	var b []byte
	for _, x := range v {
		b = d.order.AppendUint64(b, math.Float64bits(x))
	}
	d.Raw(tag, Double, len(v), b)
}

// Dirs sets a tag to the offsets of other directories, which are written with
// this one.
func (d *Dir) Dirs(tag uint16, subs ...*Dir) {
	d.set(dirEntry{tag: tag, typ: Long, count: len(subs), subs: subs,
		data: make([]byte, 4*len(subs))})
}

// HeaderSize is the size of the header that EncodeFile writes.
func (d *Dir) HeaderSize() int {
	if d.big {
		return 16
	}
	return 8
}

// EncodeFile returns a whole TIFF file: the header and the directory d with
// all values and directories it refers to.
func (d *Dir) EncodeFile() []byte {
	first := d.HeaderSize()
	head := make([]byte, first)
	copy(head, "II")
	if d.order == Order(binary.BigEndian) {
		copy(head, "MM")
	}
	if d.big {
		d.order.PutUint16(head[2:], 43)
		d.order.PutUint16(head[4:], 8)
		d.order.PutUint64(head[8:], uint64(first))
	} else {
		d.order.PutUint16(head[2:], 42)
		d.order.PutUint32(head[4:], uint32(first))
	}
	return append(head, d.Encode(first)...)
}

// Encode lays the directory out for offset base of the file: its entries, then
// the values that do not fit into them, then the directories it refers to.
func (d *Dir) Encode(base int) []byte {
	slices.SortStableFunc(d.entries, func(a, b dirEntry) int { return int(a.tag) - int(b.tag) })
	countSize, entrySize, word := 2, 12, 4
	if d.big {
		countSize, entrySize, word = 8, 20, 8
	}
	out := make([]byte, countSize+len(d.entries)*entrySize+word)
	d.put(out[:countSize], len(d.entries))
	for i, e := range d.entries {
		for k, sub := range e.subs {
			out = append(out, make([]byte, len(out)&1)...)
			d.order.PutUint32(e.data[4*k:], uint32(base+len(out)))
			out = append(out, sub.Encode(base+len(out))...)
		}
		entry := countSize + i*entrySize
		d.order.PutUint16(out[entry:], e.tag)
		d.order.PutUint16(out[entry+2:], uint16(e.typ))
		d.put(out[entry+4:][:word], e.count)
		value := entry + 4 + word
		if len(e.data) <= word {
			copy(out[value:], e.data)
			d.entries[i].at = base + value
			continue
		}
		out = append(out, make([]byte, len(out)&1)...)
		d.entries[i].at = base + len(out)
		d.put(out[value:][:word], base+len(out))
		out = append(out, e.data...)
	}
	return out
}

// put writes v as an unsigned integer of len(b) bytes.
func (d *Dir) put(b []byte, v int) {
	switch len(b) {
	case 2:
		d.order.PutUint16(b, uint16(v))
	case 4:
		d.order.PutUint32(b, uint32(v))
	default:
		d.order.PutUint64(b, uint64(v))
	}
}
