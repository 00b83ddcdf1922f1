package demosaic

import (
	"math"
	"math/rand/v2"
	"testing"

	"enhance/raw/mosaic"
)

// TestBilinearBayer holds the inside of Bayer mosaics against the textbook's averages.
func TestBilinearBayer(t *testing.T) {
	for _, name := range []string{"RGGB", "BGGR", "GBRG", "GRBG"} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewBilinear(p)
		if err != nil {
			t.Fatal(err)
		}
		const w, h = 9, 7
		rng := rand.New(rand.NewPCG(7, 7))
		s := &Strip{Width: w, Height: h, Samples: make([]float32, w*h)}
		for i := range s.Samples {
			s.Samples[i] = rng.Float32()
		}
		got := make([]float32, 3*w*h)
		if err := b.Rows(s, 0, h, got); err != nil {
			t.Fatal(err)
		}
		for y := 1; y < h-1; y++ {
			for x := 1; x < w-1; x++ {
				at := func(dy, dx int) float64 { return float64(s.Samples[(y+dy)*w+x+dx]) }
				cross, corners := (at(-1, 0)+at(1, 0)+at(0, -1)+at(0, 1))/4, (at(-1, -1)+at(-1, 1)+at(1, -1)+at(1, 1))/4
				var want [3]float64
				switch own := p.At(y, x); {
				case own != mosaic.Green:
					want[own], want[mosaic.Green], want[mosaic.Blue-own] = at(0, 0), cross, corners
				default:
					want[mosaic.Green] = at(0, 0)
					want[p.At(y, x+1)], want[p.At(y+1, x)] = (at(0, -1)+at(0, 1))/2, (at(-1, 0)+at(1, 0))/2
				}
				for c := range want {
					if v := float64(got[3*y*w+c*w+x]); math.Abs(v-want[c]) > 1e-6 {
						t.Fatalf("%s at row %d, column %d, colour %d: %g, want %g", name, y, x, c, v, want[c])
					}
				}
			}
		}
	}
}

// TestBilinear: on every array a flat mosaic stays flat to its corners, and rows do not depend
// on how the mosaic is cut.
func TestBilinear(t *testing.T) {
	for _, name := range []string{"RGGB", "quad-GRBG", "xtrans", "4x4:RRGGRRGGGGBBGGBB", "1x3:RGB"} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		b, err := NewBilinear(p)
		if err != nil {
			t.Fatal(err)
		}
		const w, h = 13, 11
		whole := &Strip{Width: w, Height: h, Samples: make([]float32, w*h)}
		for i := range whole.Samples {
			whole.Samples[i] = 0.25 * float32(1+p.At(i/w, i%w))
		}
		flat := make([]float32, 3*w*h)
		if err := b.Rows(whole, 0, h, flat); err != nil {
			t.Fatal(err)
		}
		inside := b.Reach()
		for y := inside; y < h-inside; y++ {
			for x := inside; x < w-inside; x++ {
				for c := range 3 {
					if v := flat[3*y*w+c*w+x]; math.Abs(float64(v)-0.25*float64(1+c)) > 1e-6 {
						t.Fatalf("%s: colour %d at row %d, column %d is %g", name, c, y, x, v)
					}
				}
			}
		}
		for y := range h {
			first, end := max(0, y-b.Reach()), min(h, y+1+b.Reach())
			row := make([]float32, 3*w)
			if err := b.Rows(&Strip{Width: w, Height: h, First: first, Samples: whole.Samples[first*w : end*w]}, y, y+1, row); err != nil {
				t.Fatal(err)
			}
			for i, v := range row {
				if v != flat[3*y*w+i] {
					t.Fatalf("%s: row %d alone differs", name, y)
				}
			}
		}
	}
	if _, err := NewBilinear(mosaic.Mono); err == nil {
		t.Error("a monochrome mosaic has colours")
	}
}
