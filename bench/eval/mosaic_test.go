package eval

import (
	"math"
	"slices"
	"testing"

	"enhance/internal/colour"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// TestMosaic: without noise the samples are the photo's of the filters' colours,
// as codes and as stored light.
func TestMosaic(t *testing.T) {
	im := smooth(12, 7)
	sensor := &Sensor{Gains: [3]float64{2, 1, 1.5}}
	for _, p := range phases {
		codes := checked(t, Mosaic{CFA: p}).take("a", im)
		light := checked(t, Mosaic{CFA: p, Sensor: sensor}).take("a", im)
		for y := range 7 {
			for x := range 12 {
				c := p.At(y, x)
				code := float64(im.Row(y)[3*x+int(c)]) / 65535
				if got := codes.samples[12*y+x]; math.Abs(float64(got)-code) > 1e-6 {
					t.Errorf("%v: code at %d,%d is %g, want %g", p, y, x, got, code)
				}
				want := sensorBlack + colour.SRGBDecode(code)/sensor.Gains[c]*(sensorWhite-sensorBlack)
				if got := light.samples[12*y+x]; math.Abs(float64(got)-want) > 0.51 {
					t.Errorf("%v: light at %d,%d is %g, want %g", p, y, x, got, want)
				}
			}
		}
	}
}

// TestMosaicNoise measures the noise, and that it hangs on seed and name alone.
func TestMosaicNoise(t *testing.T) {
	im := flat(300, 300)
	deviation := func(s *shot, c raw.Colour) float64 {
		var sum, sq, n float64
		for i, v := range s.samples {
			if s.mosaic.CFA.At(i/300, i%300) == c {
				sum, sq, n = sum+float64(v), sq+float64(v)*float64(v), n+1
			}
		}
		return math.Sqrt(sq/n - sum/n*sum/n)
	}
	m := checked(t, Mosaic{Sigma: 10, Seed: 1})
	if got := deviation(m.take("a", im), mosaic.Green) * 255; math.Abs(got-10) > 0.2 {
		t.Errorf("sigma 10 is %.2f", got)
	}
	s := checked(t, Mosaic{Sensor: &Sensor{S: 1e-3, O: 1e-5, Gains: [3]float64{2, 1, 1.5}}, Seed: 1})
	for c, code := range []float64{200, 90, 40} {
		v := colour.SRGBDecode(code/255) / s.Sensor.Gains[c]
		want := math.Sqrt(1e-3*v + 1e-5)
		if got := deviation(s.take("a", im), raw.Colour(c)) / (sensorWhite - sensorBlack); math.Abs(got/want-1) > 0.03 {
			t.Errorf("%v: deviation %g, want %g", raw.Colour(c), got, want)
		}
	}
	if !slices.Equal(m.take("a", im).samples, m.take("a", im).samples) {
		t.Error("the same photo gets other noise")
	}
	other := checked(t, Mosaic{Sigma: 10, Seed: 2})
	if slices.Equal(m.take("a", im).samples, m.take("b", im).samples) || slices.Equal(m.take("a", im).samples, other.take("a", im).samples) {
		t.Error("another name or seed gets the same noise")
	}
}
