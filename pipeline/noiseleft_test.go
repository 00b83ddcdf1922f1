package pipeline_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"enhance/pipeline"
	"enhance/pipeline/look"
	"enhance/raw/noise"
)

// slope is a smooth surface with shot noise of variance s·v.
func slope(side int, s float64) capture {
	c := capture{w: side, h: side, samples: make([]uint16, side*side)}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range c.samples {
		v := slopeAt(side, i%side, i/side)
		v += math.Sqrt(s*v) * random.NormFloat64()
		c.samples[i] = uint16(min(max(600+(15520-600)*v, 0), 65535) + 0.5)
	}
	return c
}

func slopeAt(side, x, y int) float64 { return 0.12 + (0.25*float64(x)+0.2*float64(y))/float64(side) }

// TestDenoiseShare: --denoise 0 leaves all of the noise's deviation, 0.5 half, 1 little, of weak and of strong
// noise, whatever the network, and the NoiseProfile of a linear DNG file has the variance that is in its samples.
func TestDenoiseShare(t *testing.T) {
	const side, rim = 128, 8
	for _, model := range []string{"fast", "best", "max"} {
		s := session(t, pipeline.Settings{Model: model, Device: pipeline.HostDevice})
		for _, shot := range []float64{3e-4, 4e-3} {
			spec := camera(slope(side, shot))
			spec.Meta.AsShot = &[3]float64{1 / 1.5, 1, 1 / 1.2}
			spec.Meta.NoiseProfile = &[3][2]float64{{shot, 0}, {shot, 0}, {shot, 0}}
			for denoise, want := range map[float64][2]float64{0: {0.95, 1.05}, 0.5: {0.48, 0.56}, 1: {0.01, 0.2}} {
				j := photoOf(t, spec)
				j.Denoise = &denoise
				j.Noise.Mode, j.Noise.Levels = look.NoiseGiven, noise.Levels{{S: shot}, {S: shot}, {S: shot}}
				_, p, rep := toDNG(t, s, j)
				light := make([]float32, 3*side*side)
				if err := p.ReadLinear(0, side, light); err != nil {
					t.Fatal(err)
				}
				var all float64
				for c := range 3 {
					var sum, square, stated, n float64
					for y := rim; y < side-rim; y++ {
						for x := rim; x < side-rim; x++ {
							v := slopeAt(side, x, y)
							d := (float64(light[(3*y+c)*side+x]) - v) / math.Sqrt(shot*v)
							sum, square, n = sum+d, square+d*d, n+1
							profile := p.Meta().NoiseProfile
							stated += (profile[c][0]*v + profile[c][1]) / (shot * v)
						}
					}
					left := math.Sqrt(square/n - sum/n*sum/n)
					stated = math.Sqrt(stated / n)
					all += left / 3
					t.Logf("%s, S %g, denoise %g, colour %d: left %.3f, stated %.3f", model, shot, denoise, c, left, stated)
					if ratio := stated / left; denoise < 1 && !(ratio > 0.85 && ratio < 1.15) || !(ratio > 0.4 && ratio < 1.8) {
						t.Errorf("%s, S %g, denoise %g: the profile states %.3f of the deviation of colour %d, %.3f is left", model, shot, denoise, stated, c, left)
					}
				}
				if reported := *rep.Noise.Left; !(all > want[0] && all < want[1]) || math.Abs(reported-all) > 0.08 {
					t.Errorf("%s, S %g, denoise %g: %.3f of the deviation is left, want %g to %g; %.3f is reported", model, shot, denoise, all, want[0], want[1], reported)
				}
			}
		}
	}
}
