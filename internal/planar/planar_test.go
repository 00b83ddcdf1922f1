package planar_test

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// TestHalfAll widens and narrows every binary16.
func TestHalfAll(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := planar.Float(h)
		sign, exp, man := 1.0, int(h>>10&31), float64(h&1023)
		if h>>15 == 1 {
			sign = -1
		}
		want := sign * man * 0x1p-24
		switch {
		case exp == 31 && man != 0:
			want = math.NaN()
		case exp == 31:
			want = sign * math.Inf(1)
		case exp > 0:
			want = sign * (1024 + man) * math.Ldexp(1, exp-25)
		}
		if math.IsNaN(want) {
			if back := planar.Half(f); f == f || back&0x7c00 != 0x7c00 || back&0x3ff == 0 {
				t.Errorf("%#04x: widened to %v, back to %#04x, want NaN", h, f, back)
			}
			continue
		}
		if float64(f) != want || math.Signbit(float64(f)) != (h>>15 == 1) {
			t.Errorf("Float(%#04x) = %v, want %v", h, f, want)
		}
		if back := planar.Half(f); back != h {
			t.Errorf("Half(Float(%#04x)) = %#04x", h, back)
		}
	}
}

// half rounds by the definition: to the nearest multiple of the unit in the last
// place of its binade, ties to even, to infinity from 65520 on.
func half(v float32) float64 {
	x := math.Abs(float64(v))
	if x >= 65520 {
		return math.Copysign(math.Inf(1), float64(v))
	}
	_, exp := math.Frexp(x)
	unit := math.Ldexp(1, max(exp-1, -14)-10)
	return math.Copysign(math.RoundToEven(x/unit)*unit, float64(v))
}

func TestHalfRounds(t *testing.T) {
	check := func(v float32) {
		if got, want := float64(planar.Float(planar.Half(v))), half(v); got != want || math.Signbit(got) != math.Signbit(want) {
			t.Errorf("%v (%#08x) is stored as %v, want %v", v, math.Float32bits(v), got, want)
		}
	}
	for i := range 0x7bff { // halfway between neighbours, and just beside
		a, b := planar.Float(uint16(i)), planar.Float(uint16(i+1))
		mid := (a + b) / 2
		for _, v := range []float32{mid, math.Nextafter32(mid, a), math.Nextafter32(mid, b)} {
			check(v)
			check(-v)
		}
	}
	for _, v := range []float32{65504, 65519.996, 65520, 65536, 1e30, 0x1p-25, 0x1.000002p-25, 0x1p-26, 0x1p-149, float32(math.Inf(1))} {
		check(v)
		check(-v)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 100000 {
		if v := math.Float32frombits(rng.Uint32()); v == v {
			check(v)
		}
	}
}

// TestRows writes rows and reads them back, sample by sample where the layout
// says they are, with rims.
func TestRows(t *testing.T) {
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		for w := 1; w < 70; w++ {
			r := planar.Rows{C: 3, W: w, Precision: p}
			if n := planar.RowBytes(fuse.Tensor{Shape: model.Shape{C: 3, H: 2, W: w}}, p); r.Bytes(2) != 2*n || n != 3*int64(planar.Pitch(w))*p.Bytes() {
				t.Fatalf("width %d: two rows have %d bytes, a row has %d", w, r.Bytes(2), n)
			}
			if planar.Pitch(w)%16 != 0 || planar.Pitch(w) < planar.Pad+w+planar.Rim {
				t.Fatalf("pitch %d of width %d", planar.Pitch(w), w)
			}
			raw := make([]byte, r.Bytes(1))
			lines := make([][]float32, 3)
			for c := range lines {
				lines[c] = make([]float32, w)
				for x := range lines[c] {
					lines[c][x] = float32(100*c + x) // exact in binary16
				}
				r.Put(raw, c, lines[c])
			}
			got := make([]float32, w)
			for c := range lines {
				r.Get(raw, c, got)
				for x := -planar.Rim; x < w+planar.Rim; x++ {
					want := lines[c][fuse.Reflect(x, w)]
					at := c*planar.Pitch(w) + planar.Pad + x
					var v float32
					if p == planar.FP16 {
						v = planar.Float(binary.LittleEndian.Uint16(raw[2*at:]))
					} else {
						v = math.Float32frombits(binary.LittleEndian.Uint32(raw[4*at:]))
					}
					if v != want || x >= 0 && x < w && got[x] != want {
						t.Errorf("%s, width %d, channel %d, column %d: %v, want %v", p, w, c, x, v, want)
					}
				}
			}
		}
	}
}

// TestBFloat rounds random numbers, and halves between neighbours, by the definition.
func TestBFloat(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200000 {
		b := rng.Uint32()
		if rng.IntN(3) == 0 {
			b = b&0xffff0000 | 0x8000
		}
		v := math.Float32frombits(b)
		got := planar.OfBFloat(planar.BFloat(v))
		down, up := math.Float32frombits(b&0xffff0000), math.Float32frombits(b&0xffff0000+0x10000)
		below, above := math.Abs(float64(v)-float64(down)), math.Abs(float64(up)-float64(v))
		want := down
		if b&0xffff > 0x8000 || b&0xffff == 0x8000 && b&0x10000 != 0 {
			want = up
		}
		switch {
		case v != v:
			if got == got {
				t.Fatalf("NaN %#x became %v", b, got)
			}
		case got != want || !math.IsInf(float64(up), 0) && math.Abs(float64(got)-float64(v)) > min(below, above):
			t.Fatalf("%v (%#x) became %v, want %v", v, b, got, want)
		}
	}
}
