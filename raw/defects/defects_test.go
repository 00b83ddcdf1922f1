package defects

import (
	"math"
	"math/rand/v2"
	"testing"

	"enhance/raw/mosaic"
)

// stars is light of stars of many sizes, colours and places in the sky, and where they are.
type star struct {
	y, x, sigma float64
	peak        [3]float64
}

func sky(n, side int, seed uint64) (stars []star, light func(y, x int, c mosaic.Colour) float64) {
	rng := rand.New(rand.NewPCG(seed, 3))
	const apart = 24
	var grid [][]float64
	for range 3 {
		g := make([]float64, side*side)
		for i := range g {
			g[i] = 0.004
		}
		grid = append(grid, g)
	}
	for y := apart; y+apart < side && len(stars) < n; y += apart {
		for x := apart; x+apart < side; x += apart {
			s := star{float64(y) + 4*rng.Float64(), float64(x) + 4*rng.Float64(), 1 + 0.5*rng.Float64(), [3]float64{}}
			peak := 0.02 * math.Pow(45, rng.Float64())
			for c := range s.peak {
				s.peak[c] = peak / wb[c] * math.Pow(1.5, 2*rng.Float64()-1)
			}
			stars = append(stars, s)
			for dy := -7; dy <= 12; dy++ {
				for dx := -7; dx <= 12; dx++ {
					a, b := float64(y+dy)-s.y, float64(x+dx)-s.x
					for c, g := range grid {
						g[(y+dy)*side+x+dx] += s.peak[c] * math.Exp(-(a*a+b*b)/(2*s.sigma*s.sigma))
					}
				}
			}
		}
	}
	return stars, func(y, x int, c mosaic.Colour) float64 { return grid[c][y*side+x] }
}

// TestStars: of stars no brighter pixel is changed.
func TestStars(t *testing.T) {
	const side = 1000
	for i, noise := range []float64{2e-5, 4e-4} {
		stars, light := sky(1600, side, uint64(i))
		s := expose(side, side, light, noise, noise/1000, uint64(i))
		out, found := s.repaired(t, nil)
		worst, lost := 0.0, 0
		for _, st := range stars {
			var before, after float64
			for y := int(st.y) - 1; y <= int(st.y)+2; y++ {
				for x := int(st.x) - 1; x <= int(st.x)+2; x++ {
					before, after = max(before, s.light(y, x)), max(after, out.light(y, x))
				}
			}
			d := math.Abs(after/before - 1)
			worst = max(worst, d)
			if d > 0.05 {
				lost++
			}
		}
		t.Logf("noise %g: %d stars, %d lost, peak changed by %.3f at most; %d repaired", noise, len(stars), lost, worst, found.Count(0, side))
		if lost > 0 {
			t.Errorf("noise %g: %d of %d stars changed by more than 5 %%", noise, lost, len(stars))
		}
	}
}
