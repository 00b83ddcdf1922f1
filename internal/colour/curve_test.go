package colour

import (
	"fmt"
	"math"
	"testing"
)

// curves are exposures and white levels that photos have.
func curves(f func(name string, ev, white float64, c Curve)) {
	for _, ev := range []float64{-3, -1, -0.3, 0, 0.5, 2, 6, 12} {
		for _, white := range []float64{1, 1.3, 2, 4} {
			f(fmt.Sprintf("%+g EV to %g", ev, white), ev, white, NewCurve(ev, white))
		}
	}
}

func TestToneCurve(t *testing.T) {
	curves(func(name string, ev, white float64, c Curve) {
		if c.At(0) != 0 || c.At(-1) != 0 || c.At(math.NaN()) != 0 || c.At(white) != 1 || c.At(2*white) != 1 {
			t.Errorf("%s: ends %g, %g", name, c.At(0), c.At(white))
		}
		if grey := MiddleGrey * math.Exp2(-ev); ev >= 0 {
			if got := c.At(grey); math.Abs(got-MiddleGrey) > 1e-9 {
				t.Errorf("%s: middle grey gives %g", name, got)
			}
		} else if got := c.At(MiddleGrey); !(got < MiddleGrey) {
			t.Errorf("%s: a darker exposure gives %g", name, got)
		}
		last := 0.0
		for i := 1; i <= 1000; i++ {
			x := white * float64(i) / 1000
			y := c.At(x)
			if back := c.Inverse(y); y < 0.999 && math.Abs(back-x) > 1e-6*white {
				t.Fatalf("%s: %g gives %g, which comes from %g", name, x, y, back)
			}
			if !(y > last) && y < 1 {
				t.Fatalf("%s: %g after %g at %d", name, y, last, i)
			}
			last = y
		}
	})
}

// TestToneCurveTable holds the table against its definition, in codes of 16 bits, and
// its order.
func TestToneCurveTable(t *testing.T) {
	curves(func(name string, ev, white float64, c Curve) {
		table, worst, last := c.table(), 0.0, float32(0)
		for x := float32(1e-9); float64(x) < 1.1*white; x *= 1.0007 {
			y := table.at(x)
			worst = max(worst, 65535*math.Abs(SRGBEncode(float64(y))-SRGBEncode(c.At(float64(x)))))
			if y < last-1e-7 {
				t.Fatalf("%s: %g after %g at %g", name, y, last, x)
			}
			last = y
		}
		if worst > 1.5 || last != 1 {
			t.Errorf("%s: %g of 65535 off, ends with %g", name, worst, last)
		}
	})
}

// hue is the place of the middle component between the others, by which it is.
func hue(v [3]float64) (order [3]int, place float64) {
	order = [3]int{0, 1, 2}
	for i := range 2 {
		for k := range 2 - i {
			if v[order[k]] < v[order[k+1]] {
				order[k], order[k+1] = order[k+1], order[k]
			}
		}
	}
	return order, (v[order[1]] - v[order[2]]) / (v[order[0]] - v[order[2]])
}

// TestToneKeepsHue: in the wide space no colour's hue moves, greys stay grey, and colours
// grow paler towards white.
func TestToneKeepsHue(t *testing.T) {
	tone := NewTone(NewCurve(1, 2), Identity(), Rec2020, Rec2020)
	for _, colour := range [][3]float64{{1, 0.4, 0.2}, {0.2, 1, 0.7}, {0.3, 0.25, 1}, {1, 0.9, 0.3}, {1, 0.3, 0.9}} {
		before, want := hue(colour)
		paleness := 0.0
		for _, level := range []float64{0.01, 0.1, 0.3, 0.8, 1.5, 1.9} {
			v := [3]float64{}
			var row [3][]float32
			for c := range row {
				row[c] = []float32{float32(colour[c] * level)}
			}
			tone.Row(row[0], row[1], row[2])
			for c := range v {
				v[c] = float64(row[c][0])
			}
			after, got := hue(v)
			if after != before || math.Abs(got-want) > 1e-3 {
				t.Errorf("%v at %g: hue %v %.4f, want %v %.4f", colour, level, after, got, before, want)
			}
			if p := v[after[2]] / v[after[0]]; p < paleness {
				t.Errorf("%v at %g: paleness %g after %g", colour, level, p, paleness)
			} else {
				paleness = p
			}
		}
	}
}

// TestToneStaysInside: colours outside of the output space come inside without a change
// of luminance, and white is white.
func TestToneStaysInside(t *testing.T) {
	curve := NewCurve(0, 1)
	tone := NewTone(curve, Identity(), Rec2020, SRGB)
	y := SRGB.Luminance()
	for _, v := range [][3]float32{{0.9, 0.01, 0.01}, {0, 0.8, 0}, {0, 0, 1}, {0.5, 0.5, 0.5}, {1, 1, 1}, {-0.1, 0.5, 0.4}, {3, 3, 3}, {0, 0, 0}} {
		r, g, b := []float32{v[0]}, []float32{v[1]}, []float32{v[2]}
		tone.Row(r, g, b)
		if min(r[0], g[0], b[0]) < 0 || max(r[0], g[0], b[0]) > 1 {
			t.Errorf("%v gives %g, %g, %g", v, r[0], g[0], b[0])
		}
		if v[0] == v[1] && v[1] == v[2] {
			if want := curve.At(float64(v[0])); math.Abs(float64(r[0])-want) > 1e-4 || math.Abs(float64(r[0]-b[0])) > 1e-6 || math.Abs(float64(r[0]-g[0])) > 1e-6 {
				t.Errorf("grey %v gives %g, %g, %g, want %g", v, r[0], g[0], b[0], want)
			}
		}
		if lum := y[0]*float64(r[0]) + y[1]*float64(g[0]) + y[2]*float64(b[0]); lum < 0 || lum > 1 {
			t.Errorf("%v has luminance %g", v, lum)
		}
	}
}

func TestNaturalExposure(t *testing.T) {
	level := func(v float64, n int) (l []float64) {
		for range n {
			l = append(l, v)
		}
		return l
	}
	tests := []struct {
		name   string
		levels []float64
		lo, hi float64
	}{
		{"nothing", nil, 0, 0},
		{"grey", level(0.14, 100), -0.01, 0.01},
		{"two stops under", level(0.035, 100), 1, 1.5},
		{"black", level(0, 100), 2.5, 2.5},
		{"night with lamps", append(level(0.005, 900), level(1, 100)...), 0, 0.7},
		{"snow", level(0.7, 100), -0.3, -0.3},
	}
	for _, tt := range tests {
		if got := NaturalExposure(NewBrightness(tt.levels)); !(got >= tt.lo && got <= tt.hi) {
			t.Errorf("%s: %+.2f EV, want %+.2f to %+.2f", tt.name, got, tt.lo, tt.hi)
		}
	}
}

func BenchmarkTone(b *testing.B) {
	tone := NewTone(NewCurve(1, 2), Matrix{{1.5, -0.25, -0.25}, {-0.5, 1.25, 0.25}, {0.0625, -0.75, 1.6875}}, Rec2020, SRGB)
	src := make([]float32, 4096)
	for i := range src {
		src[i] = float32(i%1021) / 1000
	}
	var r, g, bl [4096]float32
	for b.Loop() {
		copy(r[:], src)
		copy(g[:], src[100:])
		copy(bl[:], src[200:])
		tone.Row(r[:], g[:], bl[:])
	}
	b.ReportMetric(float64(b.N)*4096/1e6/b.Elapsed().Seconds(), "MP/s")
}
