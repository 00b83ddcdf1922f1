package model_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"enhance/model"
	"enhance/model/ref"
)

// TestKeepNoise holds the answers of networks that keep noise against their definition: the answer and, in all colours
// of a pixel, a share of what its own sample has more.
func TestKeepNoise(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 2))
	for _, name := range []string{"bayer", "bayer, ensemble", "x-trans", "demosaiced"} {
		t.Run(name, func(t *testing.T) {
			spec := fmt.Sprintf("pynet-m-random:%d", rng.Uint32())
			if name == "x-trans" || name == "demosaiced" {
				spec += ",planes=24"
			}
			m, err := model.Load(spec)
			if err == nil && name == "bayer, ensemble" {
				m, err = m.Ensemble(4)
			}
			if err != nil {
				t.Fatal(err)
			}
			h, w := 8+4*rng.IntN(3), 8+4*rng.IntN(3)
			in, has := quads(rng, m, h, w, name == "demosaiced")
			plain := answer(t, m, in, h, w)
			for _, share := range []float64{0, 0.25, 1} {
				kept, err := m.KeepNoise(share)
				if err != nil {
					t.Fatal(err)
				}
				got := answer(t, kept, in, h, w)
				for y := range 2 * h {
					for x := range 2 * w {
						more, n := 0.0, 0.0
						for c := range 3 {
							if v, ok := has(c, y, x); ok {
								more, n = more+v-plain[(c*2*h+y)*2*w+x], n+1
							}
						}
						for c := range 3 {
							i := (c*2*h+y)*2*w + x
							if want := plain[i] + share*more/n; !(math.Abs(got[i]-want) <= 1e-6*(1+math.Abs(want))) {
								t.Fatalf("share %g, colour %d at %d,%d: %g, want %g", share, c, x, y, got[i], want)
							}
						}
					}
				}
			}
		})
	}
}

// quads are a network's random input, and has says which samples it holds.
func quads(rng *rand.Rand, m *model.Model, h, w int, all bool) (in []float64, has func(c, y, x int) (float64, bool)) {
	planes := m.Convention.Planes()
	in = make([]float64, planes*h*w)
	masked := m.Convention.Samples == model.SamplesMasked
	filter := func(y, x int) int { return y%2 + x%2 } // RGGB
	if masked {
		filter = func(y, x int) int { return (y*y + 2*x + x/2) % 3 } // of no sensor
	}
	at := func(plane, y, x int) *float64 { return &in[(plane*h+y/2)*w+x/2] }
	plane := func(c, y, x int) int {
		if masked {
			return model.MaskedPlane(c, y%2, x%2)
		}
		return y%2*2 + x%2
	}
	for y := range 2 * h {
		for x := range 2 * w {
			for c := range 3 {
				switch {
				case all || filter(y, x) == c:
					*at(plane(c, y, x), y, x) = rng.NormFloat64()
					*at(planes/2+plane(c, y, x), y, x) = rng.Float64() * float64(rng.IntN(2))
				case masked:
					*at(planes/2+plane(c, y, x), y, x) = model.NoNoise
				}
			}
		}
	}
	return in, func(c, y, x int) (float64, bool) {
		return *at(plane(c, y, x), y, x), all || filter(y, x) == c
	}
}

func answer(t *testing.T, m *model.Model, in []float64, h, w int) []float64 {
	out, _, err := ref.Run64(context.Background(), m, in, h, w, ref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestKeepNoiseRefused: what has no noise to keep is said.
func TestKeepNoiseRefused(t *testing.T) {
	for spec, share := range map[string]float64{"fast": 1.5, "best": math.NaN(), "max": -0.1, "pynet-s": 0.5, "pynet-random:1,width=4": 0.5} {
		m, err := model.Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.KeepNoise(share); err == nil || !strings.Contains(err.Error(), "noise") {
			t.Errorf("%s, %g: %v", spec, share, err)
		}
	}
}
