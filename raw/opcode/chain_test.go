package opcode

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// apply runs operations on an image held in memory, in blocks of three rows, and
// checks that one block of all rows gives the same.
func apply(t *testing.T, stage Stage, w, h, planes int, in []float32, list ...Operation) []float32 {
	t.Helper()
	c := NewChain(w, h, planes, func(y0, n int, dst []float32) error {
		copy(dst, in[y0*planes*w:(y0+n)*planes*w])
		return nil
	})
	if err := c.Add(list, stage); err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(in))
	for y := 0; y < h; y += 3 {
		n := min(3, h-y)
		if err := c.Rows(y, n, out[y*planes*w:][:n*planes*w]); err != nil {
			t.Fatal(err)
		}
	}
	whole := make([]float32, len(in))
	if err := c.Rows(0, h, whole); err != nil {
		t.Fatal(err)
	}
	for i, v := range out {
		if math.Float32bits(v) != math.Float32bits(whole[i]) {
			t.Fatalf("sample %d is %g in blocks, %g at once", i, v, whole[i])
		}
	}
	return out
}

func noise(n int) []float32 {
	r := rand.New(rand.NewPCG(rand.Uint64(), 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = r.Float32()*0.9 - 0.05
	}
	return out
}

// TestPointwise holds every pointwise operation against its formula, in float64,
// sample by sample.
func TestPointwise(t *testing.T) {
	const w, h, planes = 23, 17, 3
	area := Area{Top: 2, Left: 3, Bottom: 15, Right: 22, Plane: 1, Planes: 2, RowPitch: 3, ColPitch: 2}
	belongs := func(y, x, p int) bool {
		return p >= 1 && y >= 2 && y < 15 && x >= 3 && x < 22 && (y-2)%3 == 0 && (x-3)%2 == 0
	}
	rows, columns := noise(5), noise(10)
	table := []uint16{100, 40000, 30000, 65535}
	for name, c := range map[string]struct {
		op   any
		want func(v float64, y, x, p int) float64
	}{
		"polynomial": {&MapPolynomial{area, []float64{0.01, 0.5, 0.75, -0.25}}, func(v float64, y, x, p int) float64 {
			if v < 0 {
				return 0.01 + 0.5*v
			}
			return 0.01 + 0.5*v + 0.75*v*v - 0.25*v*v*v
		}},
		"table": {&MapTable{area, table}, func(v float64, y, x, p int) float64 {
			at := math.Max(v, 0) * 65535
			k := math.Floor(at)
			a, b := table[int(math.Min(k, 3))], table[int(math.Min(k+1, 3))]
			return (float64(a)+(float64(b)-float64(a))*(at-k))/65535 + math.Min(v, 0)
		}},
		"delta per row": {&PerLine{area, false, false, rows}, func(v float64, y, x, p int) float64 { return v + float64(rows[(y-2)/3]) }},
		"scale per column": {&PerLine{area, true, true, columns}, func(v float64, y, x, p int) float64 {
			return v * float64(columns[(x-3)/2])
		}},
	} {
		in := noise(w * h * planes)
		out := apply(t, Developed, w, h, planes, in, Operation{Params: c.op})
		for y := range h {
			for p := range planes {
				for x := range w {
					i := (y*planes+p)*w + x
					want := float64(in[i])
					if belongs(y, x, p) {
						want = math.Min(c.want(want, y, x, p), 1)
					}
					if math.Abs(float64(out[i])-want) > 2e-6 {
						t.Fatalf("%s: row %d, column %d, plane %d: %g becomes %g, want %g", name, y, x, p, in[i], out[i], want)
					}
				}
			}
		}
	}
}

// TestGainMap holds the interpolation against its definition and limits.
func TestGainMap(t *testing.T) {
	const w, h = 40, 30
	g := &GainMap{Area: Area{Top: 1, Bottom: h, Right: w, Planes: 3, RowPitch: 2, ColPitch: 1},
		PointsV: 3, PointsH: 4, SpacingV: 0.5, SpacingH: 0.25, OriginH: 0.125, Planes: 2, Gains: make([]float32, 24)}
	for i := range g.Gains {
		g.Gains[i] = 0.5 + float32(i*7%11)/8
	}
	gain := func(v, u float64, plane int) float64 { // grid coordinates
		v, u = min(max(v, 0), 2), min(max(u, 0), 3)
		i, j := int(min(v, 1)), int(min(u, 2))
		at := func(i, j int) float64 { return float64(g.Gains[(i*4+j)*2+min(plane, 1)]) }
		dv, du := v-float64(i), u-float64(j)
		return (at(i, j)*(1-du)+at(i, j+1)*du)*(1-dv) + (at(i+1, j)*(1-du)+at(i+1, j+1)*du)*dv
	}
	in := noise(w * h * 3)
	out := apply(t, Developed, w, h, 3, in, Operation{Params: g})
	for y := range h {
		for p := range 3 {
			for x := range w {
				i := (y*3+p)*w + x
				want := float64(in[i])
				if y%2 == 1 {
					want *= gain((float64(y)+0.5)/h/0.5, ((float64(x)+0.5)/w-0.125)/0.25, p)
				}
				if math.Abs(float64(out[i])-math.Min(want, 1)) > 1e-6 {
					t.Fatalf("row %d, column %d, plane %d: %g becomes %g, want %g", y, x, p, in[i], out[i], want)
				}
			}
		}
	}
}

func TestVignetteRadial(t *testing.T) {
	const w, h = 31, 21
	v := &VignetteRadial{K: [5]float64{0.5, -0.25, 0.125, 0.3, -0.1}, CX: 0.4, CY: 0.75}
	in := make([]float32, w*h)
	for i := range in {
		in[i] = 0.25
	}
	out := apply(t, Mosaic, w, h, 1, in, Operation{Params: v})
	far := math.Hypot(0.6*(w-1), 0.75*(h-1))
	for y := range h {
		for x := range w {
			r := math.Hypot(float64(x)-0.4*(w-1), float64(y)-0.75*(h-1)) / far
			want := 0.25 * (1 + 0.5*math.Pow(r, 2) - 0.25*math.Pow(r, 4) + 0.125*math.Pow(r, 6) + 0.3*math.Pow(r, 8) - 0.1*math.Pow(r, 10))
			if math.Abs(float64(out[y*w+x])-want) > 1e-6 {
				t.Fatalf("row %d, column %d: %g, want %g", y, x, out[y*w+x], want)
			}
		}
	}
}

// TestAbsurdParameters holds that no sample becomes infinite or no number: changing
// every byte of a file once made such.
func TestAbsurdParameters(t *testing.T) {
	huge := &VignetteRadial{K: [5]float64{1e308, -1e308, 1e308}, CX: 0.5, CY: 0.5}
	area := all(4, 6)
	in := []float32{-1, 0, 1, 0.5, -0.5, 0.25, -1, 0, 1, 0.5, -0.5, 0.25, -1, 0, 1, 0.5, -0.5, 0.25, -1, 0, 1, 0.5, -0.5, 0.25}
	out := apply(t, Mosaic, 6, 4, 1, in, Operation{Params: huge},
		Operation{Params: &PerLine{Area: area, Scale: true, Values: []float32{1e38, 1e38, 1e38, 1e38}}},
		Operation{Params: &MapTable{Area: area, Table: []uint16{0, 65535}}})
	for i, v := range out {
		if v-v != 0 {
			t.Errorf("sample %d is %g", i, v)
		}
	}
}

// TestTrimBounds lets an operation follow a trim: it counts from the new corner.
func TestTrimBounds(t *testing.T) {
	const w, h = 12, 10
	in := make([]float32, w*h)
	for i := range in {
		in[i] = 0.5
	}
	area := Area{Top: 1, Left: 0, Bottom: 2, Right: 2, Planes: 1, RowPitch: 1, ColPitch: 1}
	out := apply(t, Mosaic, w, h, 1, in, Operation{Params: &TrimBounds{2, 3, 9, 11}},
		Operation{Params: &PerLine{Area: area, Scale: true, Values: []float32{2}}},
		Operation{Params: &BadList{Phase: 0, Points: []Point{{0, 0}}}})
	for i, v := range out {
		want := float32(0.5)
		if y, x := i/w, i%w; y == 3 && (x == 3 || x == 4) {
			want = 1
		}
		if v != want {
			t.Fatalf("row %d, column %d: %g, want %g", i/w, i%w, v, want)
		}
	}
	for _, optional := range []bool{false, true} {
		ops := []Operation{{ID: TrimBoundsID, Optional: optional, Params: &TrimBounds{0, 0, 99, 5}}}
		err := NewChain(w, h, 1, nil).Add(ops, Mosaic)
		var ue *rawerr.UnsupportedError
		if optional && (err != nil || ops[0].Problem == "") || !optional && !errors.As(err, &ue) {
			t.Errorf("optional %v: %v, %+v", optional, err, ops[0])
		}
	}
}

// TestBadSamples repairs damage in a mosaic whose colours are smooth fields: what
// comes out is near the truth, and good samples are untouched.
func TestBadSamples(t *testing.T) {
	const w, h = 32, 40
	for phase := range uint32(4) {
		truth := make([]float32, w*h)
		for y := range h {
			for x := range w {
				v := 0.2 + 0.004*float32(x) + 0.003*float32(y)
				if !greenAt(phase, y, x) { // red and blue are darker
					v *= 0.5
					if y%2 == 0 {
						v *= 0.7
					}
				}
				truth[y*w+x] = float32(math.Round(float64(v)*65535)) / 65535
			}
		}
		list := &BadList{Phase: phase, Points: []Point{{0, 0}, {1, 1000}, {5, 5}, {5, 6}, {20, 7}, {h - 1, w - 1}, {1000, 1}},
			Rects: []TrimBounds{{12, 10, 15, 13}, {0, 20, h, 21}, {30, 0, 31, w}, {8, 8, 8, 9}, {38, 30, 99, 99}}}
		bad := make([]bool, w*h)
		list.mark(0, h, w, nil, bad)
		in := append([]float32(nil), truth...)
		constant := float32(1234) / 65535
		for i, b := range bad {
			if b {
				in[i] = constant
			}
		}
		for name, out := range map[string][]float32{
			"list":     apply(t, Stored, w, h, 1, in, Operation{Params: list}),
			"constant": apply(t, Stored, w, h, 1, in, Operation{Params: &BadConstant{Constant: 1234, Phase: phase}}),
		} {
			for i, v := range out {
				switch {
				case !bad[i] && v != truth[i]:
					t.Fatalf("%s, phase %d: good sample at row %d, column %d changed", name, phase, i/w, i%w)
				case math.Abs(float64(v-truth[i])) > 0.02:
					t.Fatalf("%s, phase %d: row %d, column %d: %g, want %g", name, phase, i/w, i%w, v, truth[i])
				}
			}
		}
	}
}

// TestRepairAlongEdges: behind other arrays a sample on an edge is interpolated along it,
// and blocks and lines of bad samples get what is around them.
func TestRepairAlongEdges(t *testing.T) {
	const w, h = 60, 60
	for _, name := range []string{"xtrans", "quad-GRBG", "mono"} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		for edge, light := range map[string]func(y, x int) float32{
			"vertical":   func(_, x int) float32 { return 0.2 + 0.5*float32(x/30) },
			"horizontal": func(y, _ int) float32 { return 0.2 + 0.5*float32(y/30) },
			"diagonal":   func(y, x int) float32 { return 0.2 + 0.5*float32((x+y)/60) },
		} {
			truth := make([]float32, w*h)
			for i := range truth {
				truth[i] = light(i/w, i%w) * (1 - 0.3*float32(p.At(i/w, i%w)))
			}
			list := &BadList{Points: []Point{{0, 0}, {12, 12}, {12, 13}, {20, 29}, {29, 20}, {29, 30}, {30, 29}, {30, 30}, {50, 29}, {59, 59}}, Rects: []TrimBounds{{40, 40, 43, 43}}}
			bad := make([]bool, w*h)
			list.mark(0, h, w, nil, bad)
			in := append([]float32(nil), truth...)
			for i, b := range bad {
				if b {
					in[i] = 1
				}
			}
			c := NewChain(w, h, 1, func(y0, n int, dst []float32) error {
				copy(dst, in[y0*w:(y0+n)*w])
				return nil
			})
			c.ArrayOf(p)
			if err := c.Add([]Operation{{Params: list}}, Mosaic); err != nil {
				t.Fatal(err)
			}
			out := make([]float32, w*h)
			for y := 0; y < h; y += 7 {
				if err := c.Rows(y, min(7, h-y), out[y*w:]); err != nil {
					t.Fatal(err)
				}
			}
			wrong := 0
			for i, v := range out {
				if v != truth[i] && !bad[i] {
					t.Fatalf("%s, %s: good sample %d changed", name, edge, i)
				}
				if d := v - truth[i]; d > 0.01 || d < -0.01 {
					wrong++
					t.Logf("%s, %s edge: row %d, column %d is %g, want %g", name, edge, i/w, i%w, v, truth[i])
				}
			}
			if wrong > 0 {
				t.Errorf("%s, %s edge: %d samples are wrong", name, edge, wrong)
			}
		}
	}
}

// TestStageOfOperations tries operations where they cannot be done.
func TestStageOfOperations(t *testing.T) {
	for _, c := range []struct {
		stage  Stage
		planes int
		params any
		ok     bool
	}{
		{Stored, 1, &Fisheye{}, false},
		{Mosaic, 1, &Rectilinear{}, false},
		{Developed, 3, &Rectilinear{}, true},
		{Developed, 3, &BadList{}, false},
		{Mosaic, 1, &BadList{}, true},
		{Mosaic, 1, &BadConstant{}, false},
		{Stored, 1, &BadConstant{}, true},
	} {
		ops := []Operation{{Params: c.params}, {Params: c.params, Optional: true}}
		err := NewChain(4, 4, c.planes, nil).Add(ops[1:], c.stage)
		if err != nil || (ops[1].Problem == "") != c.ok {
			t.Errorf("%T at stage %d: %v, %q", c.params, c.stage, err, ops[1].Problem)
		}
		if err := NewChain(4, 4, c.planes, nil).Add(ops[:1], c.stage); (err == nil) != c.ok {
			t.Errorf("%T at stage %d, required: %v", c.params, c.stage, err)
		}
	}
}

func BenchmarkGainMap(b *testing.B) {
	const w, h = 4000, 64
	g := &GainMap{Area: all(3000, w), PointsV: 13, PointsH: 17, SpacingV: 1.0 / 12, SpacingH: 1.0 / 16, Planes: 1, Gains: make([]float32, 13*17)}
	c := NewChain(w, 3000, 1, func(_, _ int, _ []float32) error { return nil })
	c.AddPointwise(g)
	rows := make([]float32, w*h)
	for b.Loop() {
		if err := c.Rows(512, h, rows); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(w*h*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msample/s")
}
