package winograd

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestDecomposeCoversEveryTapOnce(t *testing.T) {
	for k := 1; k <= 11; k++ {
		for r := 1; r <= k; r++ {
			kernels, err := Decompose(k, r)
			if err != nil {
				t.Fatal(err)
			}
			seen := make([]int, k*k)
			for _, p := range kernels {
				if p.R != r || p.Rows > r || p.Cols > r {
					t.Fatalf("kernel %d by %d: sub-kernel %+v", k, r, p)
				}
				for a := range p.Rows {
					for b := range p.Cols {
						seen[(p.Row+a)*k+p.Col+b]++
					}
				}
			}
			for i, n := range seen {
				if n != 1 {
					t.Fatalf("kernel %d by %d: tap %d is in %d sub-kernels", k, r, i, n)
				}
			}
			if n := (k + r - 1) / r; len(kernels) != n*n {
				t.Fatalf("kernel %d by %d: %d sub-kernels, want %d", k, r, len(kernels), n*n)
			}
		}
	}
}

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

// TestDecomposedConvolutionIsExact computes one tile of a k×k convolution as the
// sum of its sub-kernels, all in exact numbers, and compares with the definition.
func TestDecomposedConvolutionIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, c := range []struct {
		k  int
		tr *Transform
	}{{3, F4x3()}, {5, F4x3()}, {5, F2x5()}, {7, F4x3()}, {7, F3x3()}, {7, F6x7()}, {9, F4x3()}, {9, F4x5()}, {9, F6x9()}} {
		t.Run(fmt.Sprintf("%d by %v", c.k, c.tr), func(t *testing.T) {
			k, m, side := c.k, c.tr.M, c.tr.T()
			kernels, err := Decompose(k, c.tr.R)
			if err != nil {
				t.Fatal(err)
			}
			reach := m + (k+c.tr.R-1)/c.tr.R*c.tr.R - 1 // inputs that padded sub-kernels read
			taps, d := randomInts(rng, k*k), randomInts(rng, reach*reach)
			sum := make([]Surd, m*m)
			for _, p := range kernels {
				g := make([]Surd, p.R*p.R)
				for a := range p.Rows {
					for b := range p.Cols {
						g[a*p.R+b] = taps[(p.Row+a)*k+p.Col+b]
					}
				}
				tile := make([]Surd, 0, side*side)
				for y := range side {
					tile = append(tile, d[(p.Row+y)*reach+p.Col:][:side]...)
				}
				for i, y := range winograd2D(c.tr, g, tile) {
					sum[i] = sum[i].Add(y)
				}
			}
			for i := range sum {
				var want Surd
				for j := range taps {
					want = want.Add(taps[j].Mul(d[(i/m+j/k)*reach+i%m+j%k]))
				}
				if !sum[i].Equal(want) {
					t.Fatalf("output %d is %v, want %v", i, sum[i], want)
				}
			}
		})
	}
}

func TestSubKernelTaps(t *testing.T) {
	const k, c, side = 2, 3, 7
	w := make([]float32, k*c*side*side)
	for i := range w {
		w[i] = float32(i + 1)
	}
	kernels, err := Decompose(side, 3)
	if err != nil {
		t.Fatal(err)
	}
	total, sum := 0.0, 0.0
	for _, x := range w {
		total += float64(x)
	}
	for _, p := range kernels {
		g, err := p.Taps(w, k, c, side)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range g {
			sum += float64(got)
			f, a, b := i/9, i/3%3, i%3
			want := float32(0)
			if a < p.Rows && b < p.Cols {
				want = w[(f*side+p.Row+a)*side+p.Col+b]
			}
			if got != want {
				t.Fatalf("sub-kernel %+v filter %d tap (%d,%d) is %g, want %g", p, f, a, b, got, want)
			}
		}
	}
	if sum != total {
		t.Errorf("sub-kernels sum to %g, the weights to %g", sum, total)
	}
}

func TestDecomposeRefuses(t *testing.T) {
	for _, c := range [][2]int{{0, 1}, {3, 0}, {3, 4}, {-1, -1}, {1 << 40, 1}} {
		if _, err := Decompose(c[0], c[1]); err == nil {
			t.Errorf("Decompose(%d, %d): no error", c[0], c[1])
		}
	}
	for _, p := range []SubKernel{{}, {Row: 2, Rows: 2, Cols: 1, R: 2}, {Row: -1, Rows: 1, Cols: 1, R: 1}, {Rows: 3, Cols: 1, R: 2}} {
		if _, err := p.Taps(make([]float32, 9), 1, 1, 3); err == nil {
			t.Errorf("sub-kernel %+v: no error", p)
		}
	}
	if _, err := (SubKernel{Rows: 1, Cols: 1, R: 1}).Taps(make([]float32, 8), 1, 1, 3); err == nil {
		t.Error("too few weights: no error")
	}
	if _, err := F4x3().SubKernelTiling(9, SubKernel{R: 5}); err == nil {
		t.Error("sub-kernel of another size: no error")
	}
}

func TestMultiplications(t *testing.T) {
	kernels, err := Decompose(9, 3)
	if err != nil {
		t.Fatal(err)
	}
	if got := Multiplications(kernels, F4x3()); got != 20.25 {
		t.Errorf("9×9 by F(4,3): %g multiplications per output, want 20.25", got)
	}
}
