package winograd

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestTransformFilter checks values and layout against exact G w Gᵀ.
func TestTransformFilter(t *testing.T) {
	const k, c = 3, 2
	for name, tr := range allSets(t) {
		if tr.N > 10 && testing.Short() {
			continue
		}
		r, n := tr.R, tr.N
		w := make([]float32, k*c*r*r)
		rng := rand.New(rand.NewPCG(13, 14))
		for i := range w {
			w[i] = float32(rng.IntN(65)-32) / 16
		}
		u, err := tr.TransformFilter(w, k, c)
		if err != nil {
			t.Fatal(err)
		}
		if len(u) != n*n*c*k {
			t.Fatalf("%s: %d numbers, want %d", name, len(u), n*n*c*k)
		}
		g := tr.G.Float64()
		for i, got := range u {
			ik, ic, p := i%k, i/k%c, i/(k*c)
			want := 0.0
			for y := range r {
				for x := range r {
					want += g[p/n][y] * g[p%n][x] * float64(w[((ik*c+ic)*r+y)*r+x])
				}
			}
			if math.Abs(float64(got)-want) > 1e-6*(1+math.Abs(want)) {
				t.Fatalf("%s: U[%d][%d][%d] = %g, want %g", name, p, ic, ik, got, want)
			}
		}
	}
}

func TestTransformFilterRefuses(t *testing.T) {
	tr := F2x3()
	for _, c := range []struct{ n, k, c int }{{9, 1, 0}, {9, 0, 1}, {8, 1, 1}, {10, 1, 1}, {0, 1, 1}, {18, 1, 1}, {9, 1 << 40, 1 << 40}, {9, -1, -1}} {
		if _, err := tr.TransformFilter(make([]float32, c.n), c.k, c.c); err == nil {
			t.Errorf("%d weights as (%d,%d,3,3): no error", c.n, c.k, c.c)
		}
	}
}
