package winograd

import (
	"fmt"
	"math"
)

// TransformFilter turns weights w, row-major (k, c, R, R), into U = G w Gᵀ of
// every filter, laid out [N·N][c][k]: for each of the N·N products (row-major:
// vertical index times N plus horizontal) one c×k matrix, so that the sum over
// channels is N·N products of matrices (tiles×c)·(c×k). Computed in float64,
// rounded once to float32.
func (t *Transform) TransformFilter(w []float32, k, c int) ([]float32, error) {
	if err := checkFilter(len(w), k, c, t.R); err != nil {
		return nil, err
	}
	if int64(k)*int64(c) > math.MaxInt/int64(t.N*t.N) {
		return nil, fmt.Errorf("winograd %v: %dx%d filters are too many", t, k, c)
	}
	g := t.G.Float64()
	u := make([]float32, t.N*t.N*c*k)
	half := make([]float64, t.N*t.R) // G·w
	for ik := range k {
		for ic := range c {
			taps := w[(ik*c+ic)*t.R*t.R:][:t.R*t.R]
			for a := range t.N {
				for x := range t.R {
					sum := 0.0
					for y := range t.R {
						sum += g[a][y] * float64(taps[y*t.R+x])
					}
					half[a*t.R+x] = sum
				}
			}
			for a := range t.N {
				for b := range t.N {
					sum := 0.0
					for x := range t.R {
						sum += half[a*t.R+x] * g[b][x]
					}
					u[((a*t.N+b)*c+ic)*k+ik] = float32(sum)
				}
			}
		}
	}
	return u, nil
}

// checkFilter checks that n numbers are k×c filters of side×side taps, without
// overflow.
func checkFilter(n, k, c, side int) error {
	if k < 1 || c < 1 {
		return fmt.Errorf("winograd filter: %d output and %d input channels, need at least 1", k, c)
	}
	if n/(side*side)/k != c || n != k*c*side*side {
		return fmt.Errorf("winograd filter: %d weights given, (%d,%d,%d,%d) has k·c·r·r", n, k, c, side, side)
	}
	return nil
}
