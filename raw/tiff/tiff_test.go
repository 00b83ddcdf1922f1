package tiff

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"enhance/internal/boundtest"
	"enhance/raw/rawerr"
)

func parse(t *testing.T, b []byte) *File {
	t.Helper()
	f, err := Parse(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// filled is a directory with a tag of every kind and two directories below it.
func filled(order Order, big bool) *Dir {
	d := NewDir(order, big)
	d.Text(271, "Maker")
	d.Shorts(258, 12)
	d.Shorts(301, 1, 2, 3, 65535)
	d.Longs(256, 70000)
	d.Bytes(33422, 0, 1, 1, 2)
	d.Rationals(50721, -0.5, 3, 1e9)
	d.URationals(33434, 0.008)
	d.Doubles(51041, 1e-7, 2)
	sub := NewDir(order, big)
	sub.Longs(256, 5)
	exif := NewDir(order, big)
	exif.Shorts(34855, 400)
	d.Dirs(TagSubIFDs, sub, NewDir(order, big))
	d.Dirs(TagExifIFD, exif)
	return d
}

func TestRoundTrip(t *testing.T) {
	for _, order := range []Order{binary.LittleEndian, binary.BigEndian} {
		for _, big := range []bool{false, true} {
			f := parse(t, filled(order, big).EncodeFile())
			if f.Order() != order || f.Big() != big {
				t.Errorf("read as %v, big %v", f.Order(), f.Big())
			}
			dirs, err := f.Walk()
			if err != nil {
				t.Fatal(err)
			}
			if len(dirs) != 3 {
				t.Fatalf("%d directories, want 3", len(dirs))
			}
			d := dirs[0]
			if s, err := d.Text(271); err != nil || s != "Maker" {
				t.Errorf("text %q, %v", s, err)
			}
			for tag, want := range map[uint16][]uint64{258: {12}, 301: {1, 2, 3, 65535}, 256: {70000}, 33422: {0, 1, 1, 2}} {
				if v, err := d.Uints(tag, 4); err != nil || !slices.Equal(v, want) {
					t.Errorf("tag %d: %v, %v, want %v", tag, v, err, want)
				}
			}
			for tag, want := range map[uint16][]float64{50721: {-0.5, 3, 1e9}, 33434: {0.008}, 51041: {1e-7, 2}, 258: {12}} {
				if v, err := d.Floats(tag, 4); err != nil || !slices.Equal(v, want) {
					t.Errorf("tag %d: %v, %v, want %v", tag, v, err, want)
				}
			}
			if v, err := dirs[1].Uint(256, 0); err != nil || v != 5 {
				t.Errorf("SubIFD: %d, %v", v, err)
			}
			sub, err := d.Sub(TagExifIFD)
			if err != nil {
				t.Fatal(err)
			}
			if v, err := sub.Uint(34855, 0); err != nil || v != 400 {
				t.Errorf("Exif: %d, %v", v, err)
			}
			if v, err := d.Uint(999, 7); err != nil || v != 7 {
				t.Errorf("default: %d, %v", v, err)
			}
		}
	}
}

func wantFormatError(t *testing.T, err error, text string) {
	t.Helper()
	var fe *rawerr.FormatError
	if !errors.As(err, &fe) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want a FormatError with %q", err, text)
	}
}

func TestLimits(t *testing.T) {
	d := parse(t, filled(binary.LittleEndian, false).EncodeFile())
	first, err := d.ReadIFD(8)
	if err != nil {
		t.Fatal(err)
	}
	_, err = first.Uints(301, 3)
	wantFormatError(t, err, "4 values, want 1 to 3")
	_, err = first.Uints(999, 3)
	wantFormatError(t, err, "missing")
	_, err = first.Uints(50721, 3)
	wantFormatError(t, err, "want unsigned integers")
	_, err = first.Floats(271, 10)
	wantFormatError(t, err, "want numbers")
}

// TestHostile has headers written by hand, little-endian.
func TestHostile(t *testing.T) {
	le := binary.LittleEndian
	chain := func(next uint32, n int) []byte { // n empty directories at 8, 14, 20, ...
		b := []byte("II*\x00\x08\x00\x00\x00")
		for i := range n {
			b = le.AppendUint16(b, 0)
			if i == n-1 {
				b = le.AppendUint32(b, next)
			} else {
				b = le.AppendUint32(b, uint32(8+6*(i+1)))
			}
		}
		return b
	}
	entry := func(typ uint16, count, value uint32) []byte {
		b := []byte("II*\x00\x08\x00\x00\x00\x01\x00")
		b = le.AppendUint16(b, 256)
		b = le.AppendUint16(b, typ)
		b = le.AppendUint32(b, count)
		b = le.AppendUint32(b, value)
		return le.AppendUint32(b, 0)
	}
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty", nil, "cut short"},
		{"other", []byte("hello, world"), "no TIFF header"},
		{"BigTIFF offset size", []byte("II+\x00\x04\x00\x00\x00........"), "offsets of 4 bytes"},
		{"BigTIFF cut", []byte("II+\x00\x08\x00\x00\x00...."), "cut short"},
		{"first outside", []byte("II*\x00\xff\xff\x00\x00"), "outside"},
		{"many entries", append([]byte("II*\x00\x08\x00\x00\x00\xff\xff"), make([]byte, 1<<20)...), "65535 entries"},
		{"self loop", chain(8, 1), "loop"},
		{"long loop", chain(8, 5), "loop"},
		{"long chain", chain(0, 70), "more than 64"},
		{"next outside", chain(1<<30, 1), "outside"},
		{"values outside", entry(3, 1000, 8), "outside"},
		{"values beyond 2^32", entry(4, math.MaxUint32, 8), "outside"},
		{"offset outside", entry(4, 2, math.MaxUint32), "outside"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f, err := Parse(bytes.NewReader(c.b), int64(len(c.b)))
			if err == nil {
				var dirs []*IFD
				if dirs, err = f.Walk(); err == nil {
					_, err = dirs[0].Uints(256, math.MaxInt64)
				}
			}
			wantFormatError(t, err, c.want)
		})
	}
	// An unknown type is skipped, as TIFF asks.
	b := entry(99, 1, 8)
	if d, err := parse(t, b).ReadIFD(8); err != nil || d.Has(256) {
		t.Errorf("unknown type: %v", err)
	}
}

func TestDamagedRationalsAreNotNumbers(t *testing.T) {
	d := NewDir(binary.BigEndian, false)
	d.Raw(1, Rational, 2, []byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0})
	first, err := parse(t, d.EncodeFile()).ReadIFD(8)
	if err != nil {
		t.Fatal(err)
	}
	v, err := first.Floats(1, 2)
	if err != nil || !math.IsNaN(v[0]) || !math.IsInf(v[1], 1) {
		t.Errorf("%v, %v, want NaN and infinity", v, err)
	}
}

func FuzzWalk(f *testing.F) {
	for _, order := range []Order{binary.LittleEndian, binary.BigEndian} {
		f.Add(filled(order, false).EncodeFile())
		f.Add(filled(order, true).EncodeFile())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var dirs []*IFD
		boundtest.Run(t, len(b), 4<<20, 100, func() {
			if file, err := Parse(bytes.NewReader(b), int64(len(b))); err == nil {
				dirs, _ = file.Walk()
			}
		})
		if len(dirs) > maxIFDs {
			t.Fatalf("%d directories", len(dirs))
		}
		for _, d := range dirs {
			for _, e := range d.Entries[:min(len(d.Entries), 1000/len(dirs))] { // values of entries may overlap
				data, err := d.Data(e)
				if err == nil && len(data) > len(b) {
					t.Fatalf("%d bytes of values from %d", len(data), len(b))
				}
				_, _ = d.Floats(e.Tag, math.MaxInt64)
				_, _ = d.Uints(e.Tag, math.MaxInt64)
				_, _ = d.Text(e.Tag)
			}
		}
	})
}
