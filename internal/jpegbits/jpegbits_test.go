package jpegbits

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// TestWriter compares with bits written one by one.
func TestWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var w Writer
		var want []byte
		bits := ""
		for range r.IntN(40) {
			n := 1 + r.IntN(32)
			v := r.Uint64() & (1<<n - 1)
			if r.IntN(3) == 0 {
				v = 1<<n - 1
			}
			w.Put(v, n)
			for k := n - 1; k >= 0; k-- {
				bits += string('0' + byte(v>>k&1))
			}
		}
		w.Flush()
		for len(bits)%8 != 0 {
			bits += "1"
		}
		for ; bits != ""; bits = bits[8:] {
			b := byte(0)
			for _, c := range bits[:8] {
				b = b<<1 | byte(c-'0')
			}
			if want = append(want, b); b == 0xff {
				want = append(want, 0)
			}
		}
		if !bytes.Equal(w.Out, want) {
			t.Fatalf("%x, want %x", w.Out, want)
		}
	}
}

func TestCategories(t *testing.T) {
	for _, tt := range []struct {
		d    int32
		s    int
		rest uint64
	}{{0, 0, 0}, {1, 1, 1}, {-1, 1, 0}, {2, 2, 2}, {-2, 2, 1}, {-3, 2, 0}, {7, 3, 7}, {-4, 3, 3}, {-7, 3, 0}, {32767, 15, 32767}, {-32767, 15, 0}, {32768, 16, 32768}} {
		if s := Category(tt.d); s != tt.s || Rest(tt.d, s) != tt.rest {
			t.Errorf("%d: category %d, rest %d", tt.d, s, Rest(tt.d, s))
		}
	}
	want := []int{0, 1, 8, 16, 9, 2, 3, 10, 17, 24, 32, 25}
	for k, place := range want {
		if Zigzag[k] != place {
			t.Errorf("coefficient %d is at %d, want %d", k, Zigzag[k], place)
		}
	}
	if Zigzag[63] != 63 || Zigzag[62] != 62 || Zigzag[61] != 55 {
		t.Errorf("the last are at %v", Zigzag[61:])
	}
}
