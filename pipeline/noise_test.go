package pipeline

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/model"
	"enhance/raw"
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

// picture is a photo's light, darker by stops.
func picture(im *imgio.RGB16, stops float64) scene {
	scale := math.Exp2(-stops)
	return scene{im.Width, im.Height, func(c raw.Colour, y, x int) float64 {
		return scale * colour.SRGBDecode(float64(im.Row(y)[3*x+int(c)])/65535)
	}}
}

// shoot makes a RAW photo of a scene with noise of the given levels: black 512,
// white 16383 of 14 bits.
func (s scene) shoot(t testing.TB, n NoiseLevels, seed uint64) *raw.Photo {
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

func noiseLevels(v ...float64) (n NoiseLevels) {
	for c := range n {
		n[c].S, n[c].O = v[2*c%len(v)], v[2*c%len(v)+1]
	}
	return n
}

// sigma is the standard deviation of a sample of value v.
func (n *NoiseLevels) sigma(c raw.Colour, v float64) float64 {
	return math.Sqrt(n[c].S*v + n[c].O)
}

// knownLevels are low and high ISO of real sensors' order, and colours that differ.
var knownLevels = []NoiseLevels{
	noiseLevels(1e-4, 1e-6),
	noiseLevels(8e-4, 1.5e-5),
	noiseLevels(4e-3, 2e-4),
	noiseLevels(2e-3, 4e-5, 1e-3, 1e-5, 3e-3, 9e-5),
}

// EstimateNoise estimates the noise levels of a whole photo.
func EstimateNoise(ctx context.Context, p *raw.Photo) (NoiseLevels, int64, error) {
	a := newAhead(ctx, p, p.Meta().Crop, 0, nil, nil)
	defer a.close()
	return estimateNoise(a)
}

// TestEstimateNoise holds the estimate's standard deviation against the known one
// at dark, middle and bright samples.
func TestEstimateNoise(t *testing.T) {
	for i, want := range knownLevels {
		got, blocks, err := EstimateNoise(context.Background(), painted(900, 600).shoot(t, want, uint64(i)))
		if err != nil {
			t.Fatal(err)
		}
		for c := raw.Red; c <= raw.Blue; c++ {
			for _, v := range []float64{0.01, 0.1, 0.4} {
				ratio := got.sigma(c, v) / want.sigma(c, v)
				if !(ratio > 0.85 && ratio < 1.15) {
					t.Errorf("case %d, %v at %g: %.3f of the true deviation (S %.3g, O %.3g for %.3g, %.3g; %d blocks)",
						i, c, v, ratio, got[c].S, got[c].O, want[c].S, want[c].O, blocks)
				}
			}
		}
	}
}

// TestEstimateNoiseOnPhotos is the same on small photos, half as wide and high as
// a camera's, whose detail and film grain are measured too: what is held against
// the estimate is the known noise together with what the photo shows without it.
func TestEstimateNoiseOnPhotos(t *testing.T) {
	const dir = "../../shared/data/kodak/"
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("NO PHOTOS to estimate noise on: %v", err)
	}
	sum, n := 0.0, 0
	worst := [2]float64{1, 1}
	for k := 1; k <= 24; k += 3 {
		im, err := imgio.ReadRGB16(fmt.Sprintf("%skodim%02d.png", dir, k))
		if err != nil {
			t.Fatal(err)
		}
		estimate := func(l NoiseLevels, seed int) NoiseLevels {
			got, _, err := EstimateNoise(context.Background(), picture(im, 1).shoot(t, l, uint64(seed)))
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		own := estimate(NoiseLevels{}, 0)
		for i, want := range knownLevels[1:] {
			got := estimate(want, i)
			for c := raw.Red; c <= raw.Blue; c++ {
				for _, v := range []float64{0.02, 0.2} {
					if own.sigma(c, v) > want.sigma(c, v) {
						continue // little of the noise can be seen
					}
					ratio := got.sigma(c, v) / math.Hypot(want.sigma(c, v), own.sigma(c, v))
					t.Logf("kodim%02d case %d, %v at %g: %.3f (alone %.2g, known %.2g)", k, i+1, c, v, ratio, own.sigma(c, v), want.sigma(c, v))
					worst[0], worst[1] = min(worst[0], ratio), max(worst[1], ratio)
					sum += math.Abs(math.Log(ratio))
					n++
				}
			}
		}
	}
	t.Logf("deviation estimated within %.3f..%.3f, by %.1f %% on average", worst[0], worst[1], 100*sum/float64(n))
	if !(worst[0] > 0.75 && worst[1] < 1.4 && sum/float64(n) < 0.1) {
		t.Errorf("deviation estimated within %.3f..%.3f, by %.1f %% on average: want 0.75..1.4, 10 %%", worst[0], worst[1], 100*sum/float64(n))
	}
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
	got, _, err := EstimateNoise(context.Background(), p)
	if err != nil {
		t.Fatal(err)
	}
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
		if ratio := got.sigma(c, q.mean) / math.Sqrt(q.variance); !(ratio > 0.8 && ratio < 1.3) {
			t.Errorf("%v at %.3f: deviation %.3g, in a patch %.3g", c, q.mean, got.sigma(c, q.mean), math.Sqrt(q.variance))
		}
	}
	if len(best) < 12 {
		t.Errorf("only %d patches were measured", len(best))
	}
}

// TestEstimateNoiseless: neither detail nor rounding is taken for much noise.
func TestEstimateNoiseless(t *testing.T) {
	got, _, err := EstimateNoise(context.Background(), painted(900, 600).shoot(t, NoiseLevels{}, 1))
	if err != nil {
		t.Fatal(err)
	}
	step := 1.0 / (16383 - 512)
	for c := raw.Red; c <= raw.Blue; c++ {
		if s := got.sigma(c, 0.2); s > 2*step {
			t.Errorf("%v: deviation %.3g at 0.2, a step is %.3g", c, s, step)
		}
	}
}

func TestEstimateNoiseTooLittle(t *testing.T) {
	bright := scene{200, 200, func(raw.Colour, int, int) float64 { return 2 }}
	for name, s := range map[string]scene{"small": painted(60, 40), "tiny": painted(2, 2), "saturated": bright} {
		if _, _, err := EstimateNoise(context.Background(), s.shoot(t, knownLevels[0], 1)); !errors.Is(err, errNoFlatBlocks) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := EstimateNoise(ctx, painted(200, 200).shoot(t, knownLevels[0], 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
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
	facts := &NoiseFacts{Levels: n, Denoise: 0.5}
	g := layout(m, &conv)
	stored := make([]uint16, m.Width*m.Height)
	if err := p.ReadRows(0, m.Height, stored); err != nil {
		t.Fatal(err)
	}
	a := newAhead(context.Background(), p, g.region, 0, nil, nil)
	defer a.close()
	src := newSource(a, g, &conv, newLevels(m, &conv, gains, facts))
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
			noise := 8 * 0.5 * slope * math.Sqrt(gains[c]*n[c].S*max(v, 0)+gains[c]*gains[c]*n[c].O)
			if math.Abs(float64(planes[k][px])-light) > 1e-5 || math.Abs(float64(planes[4+k][px])-noise) > 1e-5 {
				t.Errorf("plane %d column %d: %g and %g, want %g and %g", k, px, planes[k][px], planes[4+k][px], light, noise)
			}
		}
	}
}

func TestParseNoise(t *testing.T) {
	for s, want := range map[string]Noise{
		"estimate":            {Mode: NoiseEstimate},
		"1e-3,2e-6":           {Mode: NoiseGiven, Levels: noiseLevels(1e-3, 2e-6)},
		".1, .2,.3,.4,.5, .6": {Mode: NoiseGiven, Levels: noiseLevels(.1, .2, .3, .4, .5, .6)},
	} {
		if got, err := parseNoise(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "file", "1e-3", "1,2", "-1,0", "1e-3,NaN", "0,0,0", "0,0,0,0", "0,0,0,0,0,0,0,0"} {
		if _, err := parseNoise(s); Classify(err) != ClassOption {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

func BenchmarkEstimateNoise(b *testing.B) {
	p := painted(1800, 1200).shoot(b, knownLevels[1], 1)
	for b.Loop() {
		if _, _, err := EstimateNoise(context.Background(), p); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1800*1200*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msample/s")
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
		shaded := newLevels(m, &conv, gains, &NoiseFacts{Levels: n, Denoise: 0.5})
		shaded.shading = func(_, _ int, dst []float32) {
			for i := range dst {
				dst[i] = float32(f)
			}
		}
		var stronger NoiseLevels
		for c := range n {
			stronger[c].S, stronger[c].O = n[c].S*f, n[c].O*f*f
		}
		plain := newLevels(m, &conv, gains, &NoiseFacts{Levels: stronger, Denoise: 0.5})
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
