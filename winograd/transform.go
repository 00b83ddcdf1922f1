package winograd

import (
	"fmt"
	"math"
	"slices"
)

// MaxProducts bounds N of a transform made by New. Errors grow exponentially in
// it, so larger ones are of no use in float32, let alone fp16.
const MaxProducts = 16

// Point is a place of the projective line at which the polynomials are
// evaluated: a number of Q(√2), or infinity.
type Point struct {
	X   Surd // ignored if Inf
	Inf bool
}

// Infinity is the point that picks the leading coefficient.
func Infinity() Point { return Point{Inf: true} }

// At is the finite point x.
func At(x Surd) Point { return Point{X: x} }

func (p Point) String() string {
	if p.Inf {
		return "∞"
	}
	return p.X.String()
}

// Transform is one minimal filtering algorithm F(M,R): M outputs of an R-tap
// correlation from T() inputs by N multiplications. It is immutable.
type Transform struct {
	M, R, N int
	Points  []Point // as given to New; nil for nested transforms

	AT Matrix // M×N, from products to outputs
	G  Matrix // N×R, from taps to factors
	BT Matrix // N×T, from inputs to factors

	// Factors whose product, first applied first, is BT or AT; nil if the matrix
	// is not known as a product. They cost less than the product.
	btFactors, atFactors []Matrix
}

// T is the number of inputs of one tile, M+R-1. It equals N except for nested
// transforms, whose N is larger.
func (t *Transform) T() int { return t.M + t.R - 1 }

func (t *Transform) String() string { return fmt.Sprintf("F(%d,%d)", t.M, t.R) }

// Reduction is the factor by which the two-dimensional transform reduces
// multiplications: (M·R/N)².
func (t *Transform) Reduction() float64 {
	f := float64(t.M*t.R) / float64(t.N)
	return f * f
}

// New builds F(m,r) from m+r-1 different points, at most one of them infinity,
// and proves the result by Verify.
//
// Toom–Cook: the product s of the polynomials g (degree r-1) and h (degree m-1)
// is found from its values at the points by Lagrange interpolation. Column j of
// AT holds the powers of point j, row j of G the powers divided by
// N_j = Π_(l≠j) (p_j−p_l), and row j of BT the coefficients of Π_(l≠j) (x−p_l)
// over finite l; transposing this bilinear form turns the product into
// correlation. Infinity contributes the leading coefficients, and its row of BT
// is Π (x−p_l) over all finite points.
//
// The three factors of a product may be scaled freely if the scales multiply to
// one. G is applied once, on the host, in float64, so it takes all scaling: AT
// keeps powers that begin with 1, and each row of BT is scaled by the rule of
// rowScale. Powers of two would change ranges but no rounding error.
func New(m, r int, points []Point) (*Transform, error) {
	if m < 1 || r < 1 {
		return nil, fmt.Errorf("winograd F(%d,%d): outputs and taps must be at least 1", m, r)
	}
	// Each alone is checked first so that the sum cannot overflow.
	if m > MaxProducts || r > MaxProducts || m+r-1 > MaxProducts {
		return nil, fmt.Errorf("winograd F(%d,%d): more than %d products; decompose or nest the kernel", m, r, MaxProducts)
	}
	if err := checkPoints(m, r, points); err != nil {
		return nil, err
	}
	n := m + r - 1
	t := &Transform{
		M: m, R: r, N: n,
		Points: append([]Point(nil), points...),
		AT:     newMatrix(m, n), G: newMatrix(n, r), BT: newMatrix(n, n),
	}
	for j, p := range points {
		gScale := Int(1)
		if !p.Inf {
			gScale = lagrangeDenominator(points, j).Inv()
		}
		row := vanishing(points, j, n)
		gNorm := math.Sqrt(squaresExact(powers(p, r))) * math.Abs(gScale.Float64())
		s := rowScale(row, gNorm)
		for i := range row {
			t.BT[j][i] = row[i].Mul(s)
		}
		gScale = gScale.Quo(s)
		for i, x := range powers(p, m) {
			t.AT[i][j] = x
		}
		for k, x := range powers(p, r) {
			t.G[j][k] = x.Mul(gScale)
		}
	}
	if err := t.Verify(); err != nil {
		return nil, err
	}
	return t, nil
}

func checkPoints(m, r int, points []Point) error {
	if len(points) != m+r-1 {
		return fmt.Errorf("winograd F(%d,%d): %d points given, need m+r-1 = %d", m, r, len(points), m+r-1)
	}
	seen := make(map[string]bool, len(points))
	for _, p := range points {
		if seen[p.String()] {
			return fmt.Errorf("winograd F(%d,%d): point %v given twice", m, r, p)
		}
		seen[p.String()] = true
	}
	return nil
}

// powers is 1, p, p², ... (n of them); for infinity 0, ..., 0, 1.
func powers(p Point, n int) []Surd {
	v := make([]Surd, n)
	if p.Inf {
		v[n-1] = Int(1)
		return v
	}
	x := Int(1)
	for i := range v {
		v[i] = x
		x = x.Mul(p.X)
	}
	return v
}

// vanishing is the coefficients, lowest first, of the polynomial that is zero at
// all finite points but number skip; n coefficients.
func vanishing(points []Point, skip, n int) []Surd {
	c := make([]Surd, n)
	c[0] = Int(1)
	for l, p := range points {
		if l == skip || p.Inf {
			continue
		}
		for i := n - 1; i >= 0; i-- { // c ← c·(x − p)
			v := c[i].Mul(p.X).Neg()
			if i > 0 {
				v = v.Add(c[i-1])
			}
			c[i] = v
		}
	}
	return c
}

// lagrangeDenominator is Π (p_j−p_l) over the other finite points.
func lagrangeDenominator(points []Point, j int) Surd {
	d := Int(1)
	for l, p := range points {
		if l != j && !p.Inf {
			d = d.Mul(points[j].X.Sub(p.X))
		}
	}
	return d
}

// rangeOctaves is how far, in factors of two from 1, the norms of a row of BT and
// of G may lie before range counts more than multiplications. In two dimensions
// the norms multiply, so V and U then stay within 2^±6 of their input, which
// leaves fp16 storage of ordinary activations and weights far from its ends.
const rangeOctaves = 3

// rowScale is the factor for a row of BT; the row of G, whose norm is gNorm, is
// divided by it. Candidates make one entry 1, or are the power of two that brings
// both norms together. The best has, in this order: the fewest octaves outside
// the range of rangeOctaves, the fewest entries other than 0 and ±1
// (multiplications), the fewest that float32 must round (not dyadic), the norm
// nearest to 1. Rows of opposite points get the same scale up to sign, which lets
// their even and odd halves be shared.
func rowScale(row []Surd, gNorm float64) Surd {
	norm := math.Sqrt(squaresExact(row))
	k := int(math.Round(math.Log2(gNorm/norm) / 2))
	candidates := []Surd{powerOfTwo(k)}
	for _, x := range row {
		if !x.IsZero() {
			candidates = append(candidates, x.Abs().Inv())
		}
	}
	return cheapest(row, candidates, func(s float64) int {
		return octavesOutside(norm*s) + octavesOutside(gNorm/s)
	})
}

func octavesOutside(norm float64) int {
	return int(math.Ceil(max(0, math.Abs(math.Log2(norm))-rangeOctaves)))
}

// unitScale is the factor that leaves the fewest multiplications in a row.
func unitScale(row []Surd) Surd {
	var candidates []Surd
	for _, x := range row {
		if !x.IsZero() {
			candidates = append(candidates, x.Abs().Inv())
		}
	}
	return cheapest(row, candidates, func(float64) int { return 0 })
}

// cheapest is the candidate s for which the row times s has the smallest cost,
// compared as rowScale says; the first of equals.
func cheapest(row, candidates []Surd, outside func(s float64) int) Surd {
	best := 0
	var bestCost [4]float64
	for i, s := range candidates {
		cost := [4]float64{float64(outside(s.Float64()))}
		scaled := make([]Surd, len(row))
		for j, x := range row {
			y := x.Mul(s)
			scaled[j] = y
			if !y.IsZero() && y.unit() == 0 {
				cost[1]++
			}
			if !y.dyadic() {
				cost[2]++
			}
		}
		// Rounded so that equal norms compare equal whatever their last bits.
		cost[3] = math.Round(math.Abs(math.Log2(squaresExact(scaled))) * 1e6)
		if i == 0 || slices.Compare(cost[:], bestCost[:]) < 0 {
			best, bestCost = i, cost
		}
	}
	return candidates[best]
}

// squaresExact is the sum of the squares of exact numbers, in float64.
func squaresExact(row []Surd) float64 {
	sum := 0.0
	for _, x := range row {
		f := x.Float64()
		sum += f * f
	}
	return sum
}

func powerOfTwo(k int) Surd {
	if k < 0 {
		return Frac(1, 1<<min(-k, 62))
	}
	return Int(1 << min(k, 62))
}

// Verify proves y = AT[(Gg)⊙(BTd)] for all g and d: both sides are bilinear, so
// it is enough that every pair of unit vectors e_k, e_l gives output i the value
// 1 if l = i+k and 0 otherwise, exactly. It also checks the sizes and that the
// factored forms used for code multiply to AT and BT.
func (t *Transform) Verify() error {
	if len(t.AT) != t.M || t.AT.Cols() != t.N || len(t.G) != t.N || t.G.Cols() != t.R ||
		len(t.BT) != t.N || t.BT.Cols() != t.T() {
		return fmt.Errorf("winograd %v: matrix sizes do not match M=%d R=%d N=%d", t, t.M, t.R, t.N)
	}
	for i := range t.M {
		for k := range t.R {
			for l := range t.T() {
				var sum Surd
				for j := range t.N {
					if t.AT[i][j].IsZero() || t.G[j][k].IsZero() || t.BT[j][l].IsZero() {
						continue
					}
					sum = sum.Add(t.AT[i][j].Mul(t.G[j][k]).Mul(t.BT[j][l]))
				}
				want := Surd{}
				if l == i+k {
					want = Int(1)
				}
				if !sum.Equal(want) {
					return fmt.Errorf("winograd %v: output %d has weight %v for tap %d and input %d, want %v", t, i, sum, k, l, want)
				}
			}
		}
	}
	for _, f := range []struct {
		name    string
		factors []Matrix
		want    Matrix
	}{{"BT", t.btFactors, t.BT}, {"AT", t.atFactors, t.AT}} {
		if f.factors != nil && !chain(f.factors).Equal(f.want) {
			return fmt.Errorf("winograd %v: the factors of %s do not multiply to it", t, f.name)
		}
	}
	return nil
}

// chain is the product of factors, the first applied first.
func chain(factors []Matrix) Matrix {
	p := factors[0]
	for _, f := range factors[1:] {
		p = f.Mul(p)
	}
	return p
}
