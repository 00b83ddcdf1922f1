package pipeline

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"testing"

	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/raw"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// maskedConvention is that of networks for any filter array.
var maskedConvention = model.Convention{Samples: model.SamplesMasked, Sensors: model.AnySensor, SubtractBlack: true, Curve: model.CurveSRGB,
	Clip: model.ClipHigh, NoisePlanes: 12, Gamma: 1, Divisor: 1, Multiple: 8, MinSide: 16, ScaleNum: 2, ScaleDen: 1}

// light is what a sample of the test's photo has: negative here and there.
func light(y, x, c int) float64 { return float64((31*y+17*x+57*c)%97)/90 - 0.05 }

// opened is a DNG of light behind a filter array, or of all colours if there is none.
func opened(t testing.TB, p mosaic.Pattern, w, h int, crop mosaic.Rect) *raw.Photo {
	t.Helper()
	s := dng.Spec{Width: w, Height: h, Bits: 16}
	s.Meta.CFA, s.Meta.Crop = p, crop
	s.Meta.SetBlack(4000)
	s.Meta.SetWhite(61000)
	code := func(y, x, c int) uint16 { return uint16(4000 + 57000*light(y, x, c)) }
	if s.Linear = !p.Valid(); s.Linear {
		s.Meta.CFA = mosaic.RGGB
	}
	for i := range w * h {
		for c := range 3 {
			if s.Linear || p.At(i/w, i%w) == raw.Colour(c) {
				s.Samples = append(s.Samples, code(i/w, i%w, c))
			}
		}
	}
	var b bytes.Buffer
	if err := dng.Write(&b, s); err != nil {
		t.Fatal(err)
	}
	photo, err := raw.OpenReader(bytes.NewReader(b.Bytes()), int64(b.Len()), "any.dng", raw.Options{Linear: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { photo.Close() })
	return photo
}

// TestMaskedPlanes holds all planes of mosaics of every kind and of a demosaiced photo, in
// odd sizes and from odd corners, against docs/pynet-m.md, written out here.
func TestMaskedPlanes(t *testing.T) {
	n := noiseLevels(2e-3, 4e-5, 1e-3, 1e-5, 3e-3, 9e-5)
	gains := [3]float64{2, 1, 1.5}
	told := &facts.Noise{Levels: n}
	quad, err := mosaic.ParsePattern("quad-GRBG")
	if err != nil {
		t.Fatal(err)
	}
	other, err := mosaic.ParsePattern("3x5:RGBGRGBRGBBRGBG")
	if err != nil {
		t.Fatal(err)
	}
	conv := &maskedConvention
	for _, p := range []mosaic.Pattern{mosaic.XTrans, mosaic.XTrans.Shift(5, 2), quad, quad.Shift(1, 3), mosaic.GBRG, other, {}} {
		for _, c := range []struct {
			w, h int
			crop mosaic.Rect
		}{{3, 1, mosaic.Rect{}}, {37, 23, mosaic.Rect{}}, {121, 40, mosaic.Rect{X0: 43, Y0: 3, X1: 60, Y1: 38}}, {40, 301, mosaic.Rect{X0: 1, Y0: 35, X1: 40, Y1: 300}}} {
			photo := opened(t, p, c.w, c.h, c.crop)
			m := photo.Meta()
			g := layout(m, conv)
			if g.top != 0 || g.left != 0 || g.out.Width() != m.Crop.Width() || g.out.Height() != m.Crop.Height() {
				t.Fatalf("%v %+v: %+v", p, c, g)
			}
			var src photoSource
			if m.Linear {
				src = newLinearSource(photo, g, &levels{meta: m, conv: conv, gains: gains, noise: told})
			} else {
				a := newReadAhead(context.Background(), photo, g.region, 0, nil, nil)
				defer a.close()
				src = newSource(a, g, conv, newLevels(m, conv, gains, told, nil))
			}
			for y0 := 0; y0 < g.h; y0 += 7 {
				rows, err := src.Rows(y0, min(y0+7, g.h))
				if err != nil {
					t.Fatal(err)
				}
				for y := y0; y < min(y0+7, g.h); y++ {
					planes := make([][]float32, 24)
					for k := range planes {
						planes[k] = poisoned(g.w)
					}
					rows.Row(y, planes)
					if text := wrongRow(planes, y, m, &g, p, gains, told); text != "" {
						t.Fatalf("%v, %dx%d, packed row %d: %s", p, c.w, c.h, y, text)
					}
				}
				if err := rows.End(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// poisoned is a poisoned line.
func poisoned(n int) []float32 {
	line := make([]float32, n)
	for i := range line {
		line[i] = float32(math.NaN())
	}
	return line
}

// wrongRow says what is wrong with a packed row of masked planes, "" for nothing.
func wrongRow(planes [][]float32, y int, m *raw.Meta, g *geometry, p mosaic.Pattern, gains [3]float64, f *facts.Noise) string {
	mirror := func(i, n int) int { // one step after the other
		for i < 0 || i >= n {
			if i = max(i, -i); i >= n {
				i = 2*(n-1) - i
			}
			if n == 1 {
				i = 0
			}
		}
		return i
	}
	for k := range 12 {
		c := k / 4
		for x := range g.w {
			sy := g.region.Y0 + mirror(2*y+k/2%2, g.region.Height())
			sx := g.region.X0 + mirror(2*x+k%2, g.region.Width())
			want, noise := 0.0, -1.0
			if m.Linear || p.At(sy, sx) == raw.Colour(c) {
				v := (math.Floor(4000+57000*light(sy, sx, c)) - 4000) / 57000 * gains[c]
				v = min(v, 1)
				slope := 12.92
				if want = 12.92 * v; v > 0.0031308 {
					want, slope = 1.055*math.Pow(v, 1/2.4)-0.055, 1.055/2.4*math.Pow(v, 1/2.4-1)
				}
				level := f.Levels[c]
				noise = 8 * slope * math.Sqrt(gains[c]*level.S*max(v, 0)+gains[c]*gains[c]*level.O)
			}
			if !(math.Abs(float64(planes[k][x])-want) < 2e-5) || !(math.Abs(float64(planes[12+k][x])-noise) < 1e-4) {
				return fmt.Sprintf("plane %d, column %d is %g with noise %g, want %g and %g", k, x, planes[k][x], planes[12+k][x], want, noise)
			}
		}
	}
	return ""
}
