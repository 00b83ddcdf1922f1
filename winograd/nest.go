package winograd

import "fmt"

// Nest builds a transform of outer.R·inner.R taps from two short ones: the taps
// are cut into outer.R blocks of inner.R, the outputs into outer.M blocks of
// inner.M, and outer runs over blocks while inner runs inside them. It needs
// inner.M = inner.R, so that a step by one block of outputs and by one block of
// taps move the input by the same distance:
//
//	y[s·a+b] = Σ_c Σ_k g[s·c+k] · d[s·(a+c) + b+k],   s = inner.M = inner.R
//
// Segment e of the input starts at s·e and has 2s−1 samples, so segments overlap
// and N = outer.N·inner.N exceeds M+R−1: more products than the minimum, but with
// the small errors of short transforms. AT and G are Kronecker products.
func Nest(outer, inner *Transform) (*Transform, error) {
	if inner.M != inner.R {
		return nil, fmt.Errorf("winograd nest %v in %v: the inner transform needs as many outputs as taps", inner, outer)
	}
	if outer.N != outer.T() || inner.N != inner.T() {
		return nil, fmt.Errorf("winograd nest %v in %v: only plain transforms nest", inner, outer)
	}
	s := inner.M
	t := &Transform{
		M: outer.M * s, R: outer.R * s, N: outer.N * inner.N,
		AT: kron(outer.AT, inner.AT),
		G:  kron(outer.G, inner.G),
	}
	segments := newMatrix(outer.N*inner.N, t.T())
	for e := range outer.N {
		for q := range inner.N {
			copy(segments[e*inner.N+q][s*e:], inner.BT[q])
		}
	}
	t.btFactors = []Matrix{segments, kron(outer.BT, identity(inner.N))}
	t.BT = chain(t.btFactors)
	t.atFactors = []Matrix{kron(outer.AT, identity(inner.N)), kron(identity(outer.M), inner.AT)}
	if err := t.Verify(); err != nil {
		return nil, err
	}
	return t, nil
}

// Truncate is t for r < t.R taps: the missing last taps are zero, so the last
// t.R−r inputs are not read, and products whose factor from the taps is always
// zero are left out, which makes N smaller for nested transforms.
func Truncate(t *Transform, r int) (*Transform, error) {
	if r < 1 || r > t.R {
		return nil, fmt.Errorf("winograd truncate %v to %d taps: need 1 to %d", t, r, t.R)
	}
	width := t.M + r - 1
	g := t.G.dropCols(r)
	var keep []int
	for j, row := range g {
		if squaresExact(row) > 0 {
			keep = append(keep, j)
		}
	}
	u := &Transform{
		M: t.M, R: r, N: len(keep),
		AT: t.AT.pickCols(keep), G: g.pickRows(keep), BT: t.BT.dropCols(width).pickRows(keep),
	}
	if n := len(t.btFactors); n > 0 {
		u.btFactors = append([]Matrix(nil), t.btFactors...)
		u.btFactors[0] = u.btFactors[0].dropCols(width)
		u.btFactors[n-1] = u.btFactors[n-1].pickRows(keep)
	}
	if len(t.atFactors) > 0 {
		u.atFactors = append([]Matrix(nil), t.atFactors...)
		u.atFactors[0] = u.atFactors[0].pickCols(keep)
	}
	if err := u.Verify(); err != nil {
		return nil, err
	}
	return u, nil
}
