package colour

import (
	"math"
	"math/rand/v2"
	"testing"
)

// hsv is the hexcone model by its definition: hue in degrees.
func hsv(c [3]float64) (h, s, v float64) {
	v = max(c[0], c[1], c[2])
	d := v - min(c[0], c[1], c[2])
	if d == 0 {
		return 0, 0, v
	}
	switch v {
	case c[0]:
		h = math.Mod(60*(c[1]-c[2])/d+360, 360)
	case c[1]:
		h = 60*(c[2]-c[0])/d + 120
	default:
		h = 60*(c[0]-c[1])/d + 240
	}
	return h, d / v, v
}

// fromHSV is its inverse by chroma: R, G and B are trapezoids of the hue.
func fromHSV(h, s, v float64) (c [3]float64) {
	for i, n := range []float64{5, 3, 1} {
		k := math.Mod(n+h/60+12, 6)
		c[i] = v - v*s*max(0, min(k, 4-k, 1))
	}
	return c
}

// mapped is a table's definition in double precision.
func mapped(t *HueSatTable, c [3]float64, gain float64) [3]float64 {
	for i := range c {
		c[i] = max(c[i], 0)
	}
	h, s, v := hsv(c)
	index := min(v*gain, 1)
	if t.SRGBValues {
		index = SRGBEncode(index)
	}
	// The sum over all entries of what a tent around each gives them.
	var d [3]float64
	for iv := range t.Values {
		for ih := range t.Hues {
			for is := range t.Saturations {
				tent := func(at, n float64, i int) float64 { return max(0, 1-math.Abs(at*n-float64(i))) }
				w := tent(s, float64(t.Saturations-1), is)
				if t.Values > 1 {
					w *= tent(index, float64(t.Values-1), iv)
				}
				at := h / 360 * float64(t.Hues)
				around := math.Abs(at - float64(ih))
				if t.Hues > 1 {
					w *= max(0, 1-min(around, float64(t.Hues)-around))
				}
				for k := range d {
					d[k] += w * float64(t.Deltas[(iv*t.Hues+ih)*t.Saturations+is][k])
				}
			}
		}
	}
	h, s = math.Mod(h+d[0]+720, 360), min(s*d[1], 1)
	if t.SRGBValues {
		inside := min(v*gain, 1)
		if inside > 0 {
			v *= SRGBDecode(index*d[2]) / inside
		}
	} else {
		v *= d[2]
	}
	return fromHSV(h, s, v)
}

// randomTable has changes of any size that a profile may have.
func randomTable(rng *rand.Rand, hues, saturations, values int) *HueSatTable {
	t := &HueSatTable{Hues: hues, Saturations: saturations, Values: values, SRGBValues: rng.IntN(2) == 0}
	for range hues * saturations * values {
		t.Deltas = append(t.Deltas, [3]float32{60*rng.Float32() - 30, 0.5 + rng.Float32(), 0.5 + rng.Float32()})
		if len(t.Deltas)%saturations == 1 { // greys keep their value
			t.Deltas[len(t.Deltas)-1][2] = 1
		}
	}
	return t
}

// TestHueSatMap holds the map against its definition, for tables of all shapes.
func TestHueSatMap(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 9))
	worst := 0.0
	for _, size := range [][3]int{{1, 2, 1}, {2, 2, 1}, {6, 3, 1}, {90, 30, 1}, {7, 5, 3}, {36, 8, 16}, {1, 2, 2}} {
		table := randomTable(rng, size[0], size[1], size[2])
		m := NewHueSatMap(table, nil, 1)
		for range 2000 {
			var c [3]float64
			for i := range c {
				c[i] = float64(float32(1.6*rng.Float64() - 0.1))
			}
			if rng.IntN(8) == 0 {
				c[1] = c[0]
			}
			gain := []float64{1, 2, 0.5}[rng.IntN(3)]
			want := mapped(table, c, gain)
			r, g, b := []float32{float32(c[0])}, []float32{float32(c[1])}, []float32{float32(c[2])}
			m.Row(r, g, b, float32(gain))
			for i, got := range []float32{r[0], g[0], b[0]} {
				worst = math.Max(worst, math.Abs(float64(got)-want[i]))
			}
		}
		if worst > 1e-4 {
			t.Fatalf("%v: a component differs by %.2g from the definition", size, worst)
		}
	}
	t.Logf("largest difference %.2g", worst)
}

// TestHueSatWeights: the map between two tables is that of their weighted mean.
func TestHueSatWeights(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	a, b := randomTable(rng, 6, 3, 2), randomTable(rng, 6, 3, 2)
	b.SRGBValues = a.SRGBValues
	mean := *a
	mean.Deltas = nil
	for i := range a.Deltas {
		var d [3]float32
		for k := range d {
			d[k] = 0.25*a.Deltas[i][k] + 0.75*b.Deltas[i][k]
		}
		mean.Deltas = append(mean.Deltas, d)
	}
	got, want := NewHueSatMap(a, b, 0.25), NewHueSatMap(&mean, nil, 1)
	for i := range got.deltas {
		for k := range 3 {
			if math.Abs(float64(got.deltas[i][k]-want.deltas[i][k])) > 1e-6 {
				t.Fatalf("entry %d: %v, want %v", i, got.deltas[i], want.deltas[i])
			}
		}
	}
}

// TestHueSatNothing: a table that changes nothing leaves colours where they are, and no table
// makes a number that is none.
func TestHueSatNothing(t *testing.T) {
	for _, srgb := range []bool{false, true} {
		table := &HueSatTable{Hues: 5, Saturations: 4, Values: 3, SRGBValues: srgb}
		for range 60 {
			table.Deltas = append(table.Deltas, [3]float32{0, 1, 1})
		}
		m := NewHueSatMap(table, nil, 1)
		for _, c := range [][3]float32{{0, 0, 0}, {1, 1, 1}, {4, 4, 4}, {1e-30, 2e-30, 0}, {0.5, 0.25, 0.125}, {0, 3, 1}, {1e-9, 1, 1}} {
			r, g, b := []float32{c[0]}, []float32{c[1]}, []float32{c[2]}
			m.Row(r, g, b, 1)
			for i, v := range []float32{r[0], g[0], b[0]} {
				if !(math.Abs(float64(v-c[i])) <= 2e-5*float64(max(c[0], c[1], c[2]))) {
					t.Errorf("sRGB values %v: %v becomes %v, %v, %v", srgb, c, r[0], g[0], b[0])
				}
			}
		}
	}
}

// TestHueSatContinuous: steps of light become steps of their size, around all hues.
func TestHueSatContinuous(t *testing.T) {
	m := NewHueSatMap(randomTable(rand.New(rand.NewPCG(8, 1)), 12, 4, 4), nil, 1)
	const n = 300000
	var last [3]float32
	for i := range n {
		h := 720 * float64(i) / n
		c := fromHSV(math.Mod(h, 360), 0.5+0.5*math.Sin(h/40), 0.6+0.59*math.Sin(h/90))
		r, g, b := []float32{float32(c[0])}, []float32{float32(c[1])}, []float32{float32(c[2])}
		m.Row(r, g, b, 1)
		now := [3]float32{r[0], g[0], b[0]}
		for k := range now {
			if i > 0 && math.Abs(float64(now[k]-last[k])) > 1e-3 {
				t.Fatalf("a step of %g at hue %.3f", now[k]-last[k], h)
			}
		}
		last = now
	}
}

// TestSpline: a spline goes through its points, and is the one whose second derivative is 0
// at the ends and continuous within.
func TestSpline(t *testing.T) {
	points := [][2]float64{{0, 0}, {0.1, 0.05}, {0.3, 0.4}, {0.7, 0.85}, {1, 1}}
	s := newSpline(points)
	for _, p := range points {
		if math.Abs(s.at(p[0])-p[1]) > 1e-12 {
			t.Errorf("%v: %g", p, s.at(p[0]))
		}
	}
	const h = 1e-4
	second := func(x float64) float64 { return (s.at(x+h) - 2*s.at(x) + s.at(x-h)) / (h * h) }
	for i, p := range points {
		switch {
		case i == 0:
			if v := second(2 * h); math.Abs(v) > 0.2 {
				t.Errorf("at the start the second derivative is %.3f", v)
			}
		case i == len(points)-1:
			if v := second(1 - 2*h); math.Abs(v) > 0.2 {
				t.Errorf("at the end the second derivative is %.3f", v)
			}
		default:
			left, right := second(p[0]-2*h), second(p[0]+2*h)
			if math.Abs(left-right) > 0.2 {
				t.Errorf("at %g the second derivative goes from %.3f to %.3f", p[0], left, right)
			}
		}
	}
	line := newSpline([][2]float64{{0, 0}, {1, 1}})
	if v := line.at(0.37); math.Abs(v-0.37) > 1e-15 {
		t.Errorf("the line gives %g", v)
	}
}

func BenchmarkHueSatMap(b *testing.B) {
	m := NewHueSatMap(randomTable(rand.New(rand.NewPCG(1, 1)), 36, 8, 16), nil, 1)
	const n = 4096
	var c [3][]float32
	for k := range c {
		c[k] = make([]float32, n)
	}
	for b.Loop() {
		for k := range c {
			for x := range c[k] {
				c[k][x] = float32((x*(k+3))%101) / 100
			}
		}
		m.Row(c[0], c[1], c[2], 1)
	}
	b.ReportMetric(float64(b.N)*n/1e6/b.Elapsed().Seconds(), "MP/s")
}
