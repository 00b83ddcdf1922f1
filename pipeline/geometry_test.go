package pipeline

import (
	"math"
	"testing"

	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/raw"
)

var normalised = model.Convention{Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, SubtractBlack: true,
	Gamma: 2.2, Divisor: 1, Multiple: 8, MinSide: 16, ScaleNum: 2, ScaleDen: 1}

// TestQuadsStartWithRed checks, for all phases and many sizes and crops, that the
// packed planes hold the right colours everywhere and that the crop comes back.
func TestQuadsStartWithRed(t *testing.T) {
	want := [2][2]raw.Colour{{raw.Red, raw.Green}, {raw.Green, raw.Blue}}
	rggb, _ := raw.ParsePattern("RGGB")
	for p := range 4 {
		for _, m := range []raw.Meta{
			{Width: 2, Height: 2, Crop: raw.Rect{X1: 2, Y1: 2}},
			{Width: 3, Height: 5, Crop: raw.Rect{X1: 3, Y1: 5}},
			{Width: 64, Height: 33, Crop: raw.Rect{X1: 64, Y1: 33}},
			{Width: 200, Height: 160, Crop: raw.Rect{X0: 50, Y0: 41, X1: 151, Y1: 122}},
			{Width: 200, Height: 160, Crop: raw.Rect{X0: 1, Y0: 31, X1: 200, Y1: 159}},
			{Width: 101, Height: 90, Crop: raw.Rect{X0: 33, Y0: 32, X1: 101, Y1: 89}},
		} {
			m.CFA = rggb.Shift(p/2, p%2)
			g := layout(&m, &normalised)
			if g.h%8 != 0 || g.w%8 != 0 || g.h < 16 || g.w < 16 || 2*g.h < g.region.Height()+g.top || 2*g.w < g.region.Width()+g.left {
				t.Fatalf("%v %+v: padded to %dx%d", m.CFA, m.Crop, g.h, g.w)
			}
			for r := range 2 {
				for c := range 2 {
					cols := g.sampleColumns(c)
					for y := range g.h {
						for x := range g.w {
							yy, xx := g.sampleRow(y, r)+g.region.Y0, int(cols[x])+g.region.X0
							if got := m.CFA.At(yy, xx); got != want[r][c] {
								t.Fatalf("%v %+v: plane (%d,%d) at (%d,%d) is %v", m.CFA, m.Crop, r, c, y, x, got)
							}
						}
					}
				}
			}
			if g.out.Width() != m.Crop.Width() || g.out.Height() != m.Crop.Height() {
				t.Errorf("%v %+v: picture of %+v", m.CFA, m.Crop, g.out)
			}
			// Output pixel (y,x) shows sample (y,x) of the quads: the crop's corner.
			y, x := g.out.Y0, g.out.X0
			if got := g.sampleRow(y/2, y%2) + g.region.Y0; got != m.Crop.Y0 {
				t.Errorf("%v %+v: the first row shown is %d", m.CFA, m.Crop, got)
			}
			if got := int(g.sampleColumns(x % 2)[x/2]) + g.region.X0; got != m.Crop.X0 {
				t.Errorf("%v %+v: the first column shown is %d", m.CFA, m.Crop, got)
			}
		}
	}
}

// TestContext: around the crop true samples come before reflected ones.
func TestContext(t *testing.T) {
	grbg, _ := raw.ParsePattern("GRBG")
	m := raw.Meta{Width: 300, Height: 200, Crop: raw.Rect{X0: 100, Y0: 20, X1: 250, Y1: 190}, CFA: grbg}
	g := layout(&m, &normalised)
	// Red is in odd columns: one more column is taken on the left, none reflected.
	if want := (raw.Rect{X0: 67, Y0: 0, X1: 282, Y1: 200}); g.region != want || g.left != 0 || g.top != 0 {
		t.Errorf("region %+v, top %d, left %d; want %+v", g.region, g.top, g.left, want)
	}
	m.Crop = raw.Rect{X1: 300, Y1: 200}
	if g := layout(&m, &normalised); g.left != 1 || g.top != 0 || g.out.X0 != 1 {
		t.Errorf("nothing to take: left %d, top %d, out %+v", g.left, g.top, g.out)
	}
}

// TestLowerLevels: a network whose output is smaller shows the same crop smaller.
func TestLowerLevels(t *testing.T) {
	rggb, _ := raw.ParsePattern("RGGB")
	m := raw.Meta{Width: 100, Height: 70, Crop: raw.Rect{X1: 100, Y1: 70}, CFA: rggb}
	for level, want := range [][2]int{{100, 70}, {50, 35}, {25, 18}, {13, 9}} {
		c := model.Convention{Multiple: 16, MinSide: 32, ScaleNum: 2, ScaleDen: 1 << level}
		if g := layout(&m, &c); g.out.Width() != want[0] || g.out.Height() != want[1] {
			t.Errorf("level %d: %+v, want %v", level, g.out, want)
		}
	}
}

// TestLevels holds tables and the general way against the definition.
func TestLevels(t *testing.T) {
	grbg, _ := raw.ParsePattern("GRBG")
	m := raw.Meta{Width: 9, Height: 4, CFA: grbg, BitDepth: 14, White: [3]float32{15000, 16000, 14000},
		BlackRows: 2, BlackCols: 3, Black: []float32{100, 200, 300, 400, 500, 600}}
	delta := m
	delta.BlackDeltaV = make([]float32, 4)
	gains := [3]float64{2, 1, 1.5}
	pynet := model.Convention{Gamma: 1, Divisor: 1020}
	noisy := model.Convention{SubtractBlack: true, Curve: model.CurveSRGB, Clip: model.ClipHigh, NoisePlanes: 4, Gamma: 1}
	levels := &facts.Noise{}
	for c := range levels.Levels {
		levels.Levels[c].S, levels.Levels[c].O = 1e-3*float64(c+1), 1e-6
	}
	for _, c := range []*model.Convention{&normalised, &pynet, &noisy} {
		var noise *facts.Noise
		if c.NoisePlanes > 0 {
			noise = levels
		}
		byTable, direct := newLevels(&m, c, gains, noise, nil), newLevels(&delta, c, gains, noise, nil)
		if byTable.tables == nil || direct.tables != nil {
			t.Fatal("the ways are not those meant")
		}
		stored := []uint16{0, 250, 1000, 5000, 9000, 14500, 16383, 65535}
		a, b := make([]float32, 8), make([]float32, 8)
		var an, bn []float32
		if noise != nil {
			an, bn = make([]float32, 8), make([]float32, 8)
		}
		for y := range 4 {
			byTable.row(y, 1, stored, a, an)
			direct.row(y, 1, stored, b, bn)
			for i, v := range stored {
				want, strength := byTable.sample(float32(v), m.BlackAt(y, 1+i), m.CFA.At(y, 1+i))
				if a[i] != want || b[i] != want {
					t.Errorf("row %d sample %d: table %g, direct %g, want %g", y, i, a[i], b[i], want)
				}
				if noise != nil && (an[i] != strength || bn[i] != strength || !(strength > 0)) {
					t.Errorf("row %d sample %d: noise by table %g, direct %g, want %g", y, i, an[i], bn[i], strength)
				}
			}
		}
	}
	for _, c := range []*model.Convention{&normalised, &noisy} {
		l := newLevels(&m, c, gains, nil, nil)
		if v, _ := l.sample(99, 100, raw.Red); (v < 0) != (c.Clip == model.ClipHigh) {
			t.Errorf("below black, clip %v: %g", c.Clip, v)
		}
		for col := raw.Red; col <= raw.Blue; col++ {
			if v, _ := l.sample(m.White[col], 100, col); math.Abs(float64(v)-1) > 1e-7 {
				t.Errorf("%v at saturation: %g, want 1 so that highlights are neutral", col, v)
			}
		}
	}
	// PyNET: 1023 for the largest number of the sensor's bits, whatever holds it.
	for _, tt := range []struct {
		depth int
		white float32
		full  float64
	}{{14, 15520, 16383}, {16, 1023, 1023}, {16, 65535, 65535}, {10, 1000, 1023}, {16, 16384, 32767}} {
		m := raw.Meta{BitDepth: tt.depth, White: [3]float32{tt.white, tt.white, tt.white}}
		if got := fullScale(&m); got != tt.full {
			t.Errorf("%d bits, white %g: full scale %g, want %g", tt.depth, tt.white, got, tt.full)
		}
	}
}
