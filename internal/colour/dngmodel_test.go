package colour

import (
	"math"
	"math/rand/v2"
	"testing"
)

// krystekTemperature is the correlated colour temperature of x, y by the definition: the
// nearest point of the Planckian locus in the CIE 1960 diagram. The locus is that of
// M. Krystek, "An algorithm to calculate correlated colour temperature", Color Research and
// Application 10(1), 1985: another way than Robertson's table.
func krystekTemperature(x, y float64) float64 {
	d := -2*x + 12*y + 3
	u, v := 4*x/d, 6*y/d
	distance := func(t float64) float64 {
		pu := (0.860117757 + 1.54118254e-4*t + 1.28641212e-7*t*t) / (1 + 8.42420235e-4*t + 7.08145163e-7*t*t)
		pv := (0.317398726 + 4.22806245e-5*t + 4.20481691e-8*t*t) / (1 - 2.89741816e-5*t + 1.61456053e-7*t*t)
		return math.Hypot(pu-u, pv-v)
	}
	best := 2000.0
	for step := 1000.0; step > 0.01; step /= 2 {
		for _, t := range []float64{best - step, best + step} {
			for t > 1500 && t < 15000 && distance(t) < distance(best) {
				best, t = t, t+(t-best)
			}
		}
	}
	return best
}

// solve returns m⁻¹·v by elimination with pivots.
func solve(m [3][3]float64, v [3]float64) [3]float64 {
	for c := range 3 {
		p := c
		for r := c; r < 3; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[p][c]) {
				p = r
			}
		}
		m[c], m[p], v[c], v[p] = m[p], m[c], v[p], v[c]
		for r := range 3 {
			if r == c {
				continue
			}
			f := m[r][c] / m[c][c]
			for k := range 3 {
				m[r][k] -= f * m[c][k]
			}
			v[r] -= f * v[c]
		}
	}
	return [3]float64{v[0] / m[0][0], v[1] / m[1][1], v[2] / m[2][2]}
}

// dngModel is the DNG specification's way from camera RGB to XYZ under D50 (1.6.0.0, chapter
// 6), for two calibrations of which every member is there, with forward matrices or without.
type dngModel struct {
	cm, cc, fm [2][3][3]float64
	ab         [3]float64
	forward    bool
	t          [2]float64 // of the illuminants
}

func times(a [3][3]float64, v [3]float64) (out [3]float64) {
	for i := range out {
		for j := range v {
			out[i] += a[i][j] * v[j]
		}
	}
	return out
}

func product(a, b [3][3]float64) (out [3][3]float64) {
	for j := range 3 {
		column := times(a, [3]float64{b[0][j], b[1][j], b[2][j]})
		for i := range 3 {
			out[i][j] = column[i]
		}
	}
	return out
}

// at interpolates between two matrices for a temperature.
func (d *dngModel) at(m [2][3][3]float64, kelvin float64) (out [3][3]float64) {
	k := min(max(kelvin, min(d.t[0], d.t[1])), max(d.t[0], d.t[1]))
	g := (1/k - 1/d.t[1]) / (1/d.t[0] - 1/d.t[1])
	for i := range 3 {
		for j := range 3 {
			out[i][j] = g*m[0][i][j] + (1-g)*m[1][i][j]
		}
	}
	return out
}

// toD50 maps a camera's RGB to XYZ under D50, a neutral surface's being given.
func (d *dngModel) toD50(rgb, neutral [3]float64) [3]float64 {
	ab := [3][3]float64{{d.ab[0], 0, 0}, {0, d.ab[1], 0}, {0, 0, d.ab[2]}}
	kelvin, white := 5000.0, [3]float64{}
	for range 60 {
		white = solve(product(ab, product(d.at(d.cc, kelvin), d.at(d.cm, kelvin))), neutral)
		sum := white[0] + white[1] + white[2]
		kelvin = krystekTemperature(white[0]/sum, white[1]/sum)
	}
	abcc := product(ab, d.at(d.cc, kelvin))
	if d.forward {
		reference, balanced := solve(abcc, neutral), solve(abcc, rgb)
		for i := range balanced {
			balanced[i] /= reference[i]
		}
		return times(d.at(d.fm, kelvin), balanced)
	}
	xyz := solve(product(abcc, d.at(d.cm, kelvin)), rgb)
	// Bradford's cones, scaled from the scene's white to D50's.
	cones := [3][3]float64{{0.8951, 0.2664, -0.1614}, {-0.7502, 1.7135, 0.0367}, {0.0389, -0.0685, 1.0296}}
	from, to, seen := times(cones, white), times(cones, [3]float64{0.9642, 1, 0.8249}), times(cones, xyz)
	for i := range seen {
		seen[i] *= to[i] / from[i] * white[1] // white is of any luminance
	}
	return solve(cones, seen)
}

// TestAgainstSpecification holds CameraTo against the specification, followed a second time
// with other arithmetic, for random cameras and lights.
func TestAgainstSpecification(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 4))
	jitter := func(m Matrix, by float64) Matrix {
		for i := range m {
			for j := range m[i] {
				m[i][j] += by * (2*rng.Float64() - 1)
			}
		}
		return m
	}
	worst := 0.0
	for n := range 300 {
		d := &dngModel{forward: n%2 == 0, t: [2]float64{2856, 6500}, ab: [3]float64{1 + rng.Float64(), 1, 1 + rng.Float64()}}
		f := Facts{Illuminant1: 17, Illuminant2: 21, AnalogBalance: d.ab}
		if n%3 == 0 { // in the other order
			d.t, f.Illuminant1, f.Illuminant2 = [2]float64{6500, 2856}, 21, 17
		}
		for k, m := range []Matrix{canon550DTungsten, canon550D} {
			if n%3 == 0 {
				k = 1 - k
			}
			d.cm[k] = jitter(m, 0.03)
			d.cc[k] = jitter(Identity(), 0.05)
			fm, err := Inverse(jitter(Identity(), 0.2))
			if err != nil {
				t.Fatal(err)
			}
			d.fm[k] = Mul(SRGBToXYZD50(), fm)
			white, d50 := Apply(d.fm[k], [3]float64{1, 1, 1}), D50.XYZ()
			for i := range white { // a forward matrix takes white to D50
				for j := range white {
					d.fm[k][i][j] *= d50[i] / white[i]
				}
			}
		}
		f.ColorMatrix1, f.ColorMatrix2 = &d.cm[0], &d.cm[1]
		f.CameraCalibration1, f.CameraCalibration2 = &d.cc[0], &d.cc[1]
		if d.forward {
			f.ForwardMatrix1, f.ForwardMatrix2 = &d.fm[0], &d.fm[1]
		}
		// What the camera sees of a light near the Planckian locus.
		light := WithTemperature(2300+6000*rng.Float64(), 20*(2*rng.Float64()-1))
		kelvin := krystekTemperature(light.X, light.Y)
		neutral := times(product(d.at(d.cc, kelvin), d.at(d.cm, kelvin)), light.XYZ())
		for i := range neutral {
			neutral[i] *= d.ab[i]
		}
		f.Neutral = neutral
		m, info, err := CameraTo(SRGB, f, [3]float64{})
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(1e6/info.Temperature-1e6/kelvin) > 2 {
			t.Errorf("case %d: %.0f K, want %.0f", n, info.Temperature, kelvin)
		}
		for range 10 {
			balanced := [3]float64{rng.Float64(), rng.Float64(), rng.Float64()}
			var rgb [3]float64
			for i := range rgb {
				rgb[i] = balanced[i] * neutral[i]
			}
			want, white := d.toD50(rgb, neutral), d.toD50(neutral, neutral)
			got := Apply(Mul(SRGBToXYZD50(), m), balanced)
			for i := range got {
				worst = math.Max(worst, math.Abs(got[i]-want[i]/white[1]))
			}
		}
	}
	// Robertson's temperatures and Krystek's differ by 1 to 2 mired.
	if t.Logf("largest difference %.5f", worst); worst > 4e-3 {
		t.Errorf("XYZ differs by %.5f from the specification's", worst)
	}
}
