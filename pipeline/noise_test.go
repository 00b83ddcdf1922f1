package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/model"
	"enhance/pipeline/facts"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/noise"
)

// scene is linear light by colour, 0..1, as a sensor of sides w×h would see it.
type scene struct {
	w, h int
	at   func(c raw.Colour, y, x int) float64
}

// painted has slopes, edges and a fine texture over a third of it.
func painted(w, h int) scene {
	return scene{w, h, func(c raw.Colour, y, x int) float64 {
		v := 0.02 + 0.8*float64(x)/float64(w)*float64(y)/float64(h)
		if (x/97+y/61)%2 == 0 {
			v *= 0.4
		}
		if x%300 < 100 {
			v *= 1 + 0.3*math.Sin(float64(3*x))*math.Sin(float64(2*y))
		}
		return v * []float64{0.6, 1, 0.8}[c]
	}}
}

// shoot makes a RAW photo of a scene with noise of the given levels: black 512,
// white 16383 of 14 bits.
func (s scene) shoot(t testing.TB, n noise.Levels, seed uint64) *raw.Photo {
	t.Helper()
	const black, white = 512, 16383
	rng := rand.New(rand.NewPCG(seed, 1))
	cfa, _ := raw.ParsePattern("GRBG")
	var b []byte
	for y := range s.h {
		for x := range s.w {
			c := cfa.At(y, x)
			v := s.at(c, y, x)
			v += rng.NormFloat64() * math.Sqrt(n[c].S*v+n[c].O)
			b = binary.LittleEndian.AppendUint16(b, uint16(math.Round(min(max(black+v*(white-black), 0), white))))
		}
	}
	lo, hi := float64(black), float64(white)
	p, err := raw.OpenReader(bytes.NewReader(b), int64(len(b)), "scene", raw.Options{Width: s.w, Height: s.h, CFA: &cfa, Black: &lo, White: &hi})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func noiseLevels(v ...float64) (n noise.Levels) {
	for c := range n {
		n[c].S, n[c].O = v[2*c%len(v)], v[2*c%len(v)+1]
	}
	return n
}

// TestEstimateNoiseOnSample holds the estimate for the colour chart against the
// quietest windows of 20×18 samples of one place, which lie on its patches, by
// second differences along rows.
func TestEstimateNoiseOnSample(t *testing.T) {
	p, err := raw.Open("../testdata/raw/colorchart.dng", raw.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	e, err := noise.Estimate(context.Background(), p.Meta(), p.ReadRows, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := e.Levels
	m := p.Meta()
	stored, x := make([]uint16, m.Width*m.Height), make([]float32, m.Width*m.Height)
	if err := p.ReadRows(0, m.Height, stored); err != nil {
		t.Fatal(err)
	}
	for y := range m.Height {
		p.Normalise(y, 0, stored[y*m.Width:][:m.Width], x[y*m.Width:][:m.Width])
	}
	type quiet struct{ variance, mean float64 }
	best := map[[2]int]quiet{} // by colour and brightness
	for y := m.Crop.Y0; y+40 < m.Crop.Y1; y += 20 {
		for at := range 4 * ((m.Crop.Width() - 40) / 20) {
			x0 := m.Crop.X0 + 20*(at/4) + at%2
			q, n := quiet{}, 0.0
			for i := range 20 {
				for j := 1; j < 19; j++ {
					r := (y+2*i+at%4/2)*m.Width + x0 + 2*j
					d := float64(x[r-2]) - 2*float64(x[r]) + float64(x[r+2])
					q.variance, q.mean, n = q.variance+d*d/6, q.mean+float64(x[r]), n+1
				}
			}
			q.variance, q.mean = q.variance/n, q.mean/n
			key := [2]int{int(m.CFA.At(y+at%4/2, x0)), int(10 * math.Sqrt(max(q.mean, 0)))}
			if b, ok := best[key]; !ok || q.variance < b.variance {
				best[key] = q
			}
		}
	}
	for key, q := range best {
		if q.mean < 0.002 || q.mean > 0.3 { // the rest is not flat anywhere
			continue
		}
		c := raw.Colour(key[0])
		if ratio := math.Sqrt(got[c].At(q.mean) / q.variance); !(ratio > 0.8 && ratio < 1.3) {
			t.Errorf("%v at %.3f: deviation %.3g, in a patch %.3g", c, q.mean, math.Sqrt(got[c].At(q.mean)), math.Sqrt(q.variance))
		}
	}
	if len(best) < 12 {
		t.Errorf("only %d patches were measured", len(best))
	}
}

// TestChooseNoise: of a file's profile and an estimate that contradict each other the
// smaller is used, with a note; what is asked for is not.
func TestChooseNoise(t *testing.T) {
	truth := noiseLevels(8e-4, 1.5e-5)
	p := painted(900, 600).shoot(t, truth, 7)
	e, err := noise.Estimate(context.Background(), p.Meta(), p.ReadRows, nil)
	if err != nil {
		t.Fatal(err)
	}
	profile := func(times float64) *[3][2]float64 {
		pair := [2]float64{8e-4 * times, 1.5e-5 * times}
		return &[3][2]float64{pair, pair, pair}
	}
	for name, c := range map[string]struct {
		estimate *noise.Estimation
		profile  *[3][2]float64
		mode     look.NoiseMode
		source   string
		notes    int
	}{
		"agree":           {e, profile(1), look.NoiseDefault, noiseFile, 0},
		"a little more":   {e, profile(1.6), look.NoiseDefault, noiseFile, 0},
		"a little less":   {e, profile(0.7), look.NoiseDefault, noiseFile, 0},
		"file has more":   {e, profile(4), look.NoiseDefault, noiseEstimated, 1},
		"file has less":   {e, profile(0.25), look.NoiseDefault, noiseFile, 1},
		"file has none":   {e, profile(0), look.NoiseDefault, noiseFile, 1},
		"estimate wanted": {e, profile(0.25), look.NoiseEstimate, noiseEstimated, 0},
		"no profile":      {e, nil, look.NoiseDefault, noiseEstimated, 0},
		"no estimate":     {nil, profile(4), look.NoiseDefault, noiseFile, 0},
		"neither":         {nil, nil, look.NoiseDefault, noiseNone, 1},
	} {
		f, notes := &facts.Noise{}, 0
		chooseNoise(f, c.estimate, c.profile, c.mode, func(string, ...any) { notes++ })
		want := e.Levels
		switch {
		case c.source == noiseNone:
			want = noise.Levels{}
		case c.source == noiseFile:
			want = noiseLevels(c.profile[0][0], c.profile[0][1])
		}
		if f.Source != c.source || notes != c.notes || f.Levels != want {
			t.Errorf("%s: %+v and %d notes, want %s and %d", name, f, notes, c.source, c.notes)
		}
	}
}

// TestNoiseBound: no level is above what is believed, and one that is not is left as it is.
func TestNoiseBound(t *testing.T) {
	for _, c := range []struct{ given, want noise.Levels }{
		{noiseLevels(0.05, 0.01), noiseLevels(0.05, 0.01)},
		{noiseLevels(0, 0), noiseLevels(0, 0)},
		{noiseLevels(1, 0.5), noiseLevels(0.05, 0.01)},
		{noiseLevels(1e-3, 1e-5, 1e-3, 1, 0.06, 1e-5), noiseLevels(1e-3, 1e-5, 1e-3, 0.01, 0.05, 1e-5)},
	} {
		got := c.given
		if changed := got.Bound(); got != c.want || changed != (c.given != c.want) {
			t.Errorf("%v becomes %v, changed %v: want %v", c.given, got, changed, c.want)
		}
	}
}

// TestNoisePlanes follows samples of a photo with levels, gains and phase of its
// own to the planes and holds them against docs/pynet-m.md, written out here.
func TestNoisePlanes(t *testing.T) {
	n := noiseLevels(2e-3, 4e-5, 1e-3, 1e-5, 3e-3, 9e-5)
	p := painted(40, 24).shoot(t, n, 3)
	m := p.Meta()
	conv := model.Convention{Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, SubtractBlack: true, Curve: model.CurveSRGB,
		Clip: model.ClipHigh, NoisePlanes: 4, Gamma: 1, Divisor: 1, Multiple: 4, MinSide: 8, ScaleNum: 2, ScaleDen: 1}
	gains := [3]float64{2, 1, 1.5}
	told := &facts.Noise{Levels: n}
	g := layout(m, &conv)
	stored := make([]uint16, m.Width*m.Height)
	if err := p.ReadRows(0, m.Height, stored); err != nil {
		t.Fatal(err)
	}
	a := newReadAhead(context.Background(), p, g.region, 0, nil, nil)
	defer a.close()
	src := newSource(a, g, &conv, newLevels(m, &conv, gains, told, nil))
	planes := make([][]float32, 8)
	for k := range planes {
		planes[k] = make([]float32, g.w)
	}
	rows, err := src.Rows(3, 4)
	if err != nil {
		t.Fatal(err)
	}
	rows.Row(3, planes)
	if err := rows.End(); err != nil {
		t.Fatal(err)
	}
	for k := range 4 {
		for px := range 19 {
			y, x := 6+k/2-g.top, 2*px+k%2-g.left
			if x < 0 {
				continue // reflected
			}
			c := m.CFA.At(y, x)
			v := (float64(stored[y*m.Width+x]) - 512) / (16383 - 512) * gains[c]
			light, slope := 12.92*v, 12.92
			if v > 0.0031308 {
				light, slope = 1.055*math.Pow(v, 1/2.4)-0.055, 1.055/2.4*math.Pow(v, 1/2.4-1)
			}
			noise := 8 * slope * math.Sqrt(gains[c]*n[c].S*max(v, 0)+gains[c]*gains[c]*n[c].O)
			if math.Abs(float64(planes[k][px])-light) > 1e-5 || math.Abs(float64(planes[4+k][px])-noise) > 1e-5 {
				t.Errorf("plane %d column %d: %g and %g, want %g and %g", k, px, planes[k][px], planes[4+k][px], light, noise)
			}
		}
	}
}

// TestShadedNoise holds rows whose samples gain maps have brightened against the noise
// levels that follow from the factor.
func TestShadedNoise(t *testing.T) {
	n := noiseLevels(2e-3, 4e-5, 1e-3, 1e-5, 3e-3, 9e-5)
	p := painted(40, 24).shoot(t, n, 3)
	m := p.Meta()
	conv := model.Convention{Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, SubtractBlack: true, Curve: model.CurveSRGB,
		Clip: model.ClipHigh, NoisePlanes: 4, Gamma: 1, Divisor: 1, Multiple: 4, MinSide: 8, ScaleNum: 2, ScaleDen: 1}
	gains := [3]float64{2, 1, 1.5}
	stored := make([]uint16, m.Width*m.Height)
	if err := p.ReadRows(0, m.Height, stored); err != nil {
		t.Fatal(err)
	}
	got, want := [2][]float32{make([]float32, 30), make([]float32, 30)}, [2][]float32{make([]float32, 30), make([]float32, 30)}
	for _, f := range []float64{1, 1.5, 4} {
		shaded := newLevels(m, &conv, gains, &facts.Noise{Levels: n}, nil)
		shaded.shading = func(_, _ int, dst []float32) {
			for i := range dst {
				dst[i] = float32(f)
			}
		}
		var stronger noise.Levels
		for c := range n {
			stronger[c].S, stronger[c].O = n[c].S*f, n[c].O*f*f
		}
		plain := newLevels(m, &conv, gains, &facts.Noise{Levels: stronger}, nil)
		for y := range m.Height {
			shaded.row(y, 7, stored[y*m.Width+7:][:30], got[0], got[1])
			plain.row(y, 7, stored[y*m.Width+7:][:30], want[0], want[1])
			for k := range got {
				for i := range got[k] {
					if got[k][i] != want[k][i] {
						t.Fatalf("factor %g, row %d, sample %d: %g, want %g", f, y, i, got[k][i], want[k][i])
					}
				}
			}
		}
	}
}
