package winograd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// winograd2D is the algorithm on exact numbers, row-major squares.
func winograd2D(t *Transform, g, d []Surd) []Surd {
	u, v := both(t.G, g), both(t.BT, d)
	for i := range u {
		u[i] = u[i].Mul(v[i])
	}
	return both(t.AT, u)
}

// both is m·x·mᵀ for a square x.
func both(m Matrix, x []Surd) []Surd {
	n := m.Cols()
	sq := newMatrix(n, n)
	for i := range x {
		sq[i/n][i%n] = x[i]
	}
	mid := m.Mul(sq)
	var y []Surd
	for _, row := range mid {
		y = append(y, m.MulVec(row)...)
	}
	return y
}

func randomInts(rng *rand.Rand, n int) []Surd {
	x := make([]Surd, n)
	for i := range x {
		x[i] = Int(rng.Int64N(19) - 9)
	}
	return x
}

// TestTileIsExact computes a tile of a convolution in exact numbers and compares it with the
// definition.
func TestTileIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, tr := range []*Transform{F2x3(), F3x3(), F4x3(), F2x5(), F4x5(), F6x5(), F6x7(), F9x7(), F6x9(), F9x9()} {
		t.Run(fmt.Sprint(tr), func(t *testing.T) {
			k, m, side := tr.R, tr.M, tr.T()
			taps, d := randomInts(rng, k*k), randomInts(rng, side*side)
			for i, got := range winograd2D(tr, taps, d) {
				var want Surd
				for j := range taps {
					want = want.Add(taps[j].Mul(d[(i/m+j/k)*side+i%m+j%k]))
				}
				if !got.Equal(want) {
					t.Fatalf("output %d is %v, want %v", i, got, want)
				}
			}
		})
	}
}
