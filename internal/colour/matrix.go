package colour

import (
	"errors"
	"math"
)

// Matrix is a 3×3 matrix in rows: m[i][j] multiplies component j into component i.
type Matrix = [3][3]float64

// ErrSingular is reported for a matrix that has no usable inverse.
var ErrSingular = errors.New("matrix is singular")

// Identity is the matrix that changes nothing.
func Identity() Matrix { return Diagonal([3]float64{1, 1, 1}) }

// Diagonal is the matrix that scales component i by d[i].
func Diagonal(d [3]float64) Matrix {
	return Matrix{{d[0], 0, 0}, {0, d[1], 0}, {0, 0, d[2]}}
}

// Mul returns a·b, the matrix that applies b first.
func Mul(a, b Matrix) Matrix {
	var m Matrix
	for i := range m {
		for j := range m[i] {
			m[i][j] = a[i][0]*b[0][j] + a[i][1]*b[1][j] + a[i][2]*b[2][j]
		}
	}
	return m
}

// Apply returns m·v.
func Apply(m Matrix, v [3]float64) [3]float64 {
	var r [3]float64
	for i := range r {
		r[i] = m[i][0]*v[0] + m[i][1]*v[1] + m[i][2]*v[2]
	}
	return r
}

// Inverse returns m⁻¹, or ErrSingular if m has none, is too nearly singular for
// double precision, or holds NaN or infinity.
func Inverse(m Matrix) (Matrix, error) {
	var adj Matrix // transposed cofactors
	scale := 0.0
	for i := range 3 {
		for j := range 3 {
			a, b := (i+1)%3, (i+2)%3
			c, d := (j+1)%3, (j+2)%3
			adj[j][i] = m[a][c]*m[b][d] - m[a][d]*m[b][c]
			scale = math.Max(scale, math.Abs(m[i][j]))
		}
	}
	det := m[0][0]*adj[0][0] + m[0][1]*adj[1][0] + m[0][2]*adj[2][0]
	// Relative to the size of its elements a determinant below this is rounding.
	if !(math.Abs(det) > 1e-12*scale*scale*scale) || math.IsInf(det, 0) {
		return Matrix{}, ErrSingular
	}
	for i := range adj {
		for j := range adj[i] {
			adj[i][j] /= det
		}
	}
	return adj, nil
}

// Chromaticity is a CIE 1931 (x, y) pair.
type Chromaticity struct{ X, Y float64 }

// White points: D65 as IEC 61966-2-1 gives it, D50 as the ICC profile connection
// space does (its XYZ rounded to four places), so that profiles agree with it.
var (
	D65 = Chromaticity{0.3127, 0.3290}
	D50 = chromaticityOf([3]float64{0.9642, 1, 0.8249})
)

// XYZ returns the tristimulus values of c with Y = 1. A y of zero gives zeros.
func (c Chromaticity) XYZ() [3]float64 {
	if c.Y == 0 {
		return [3]float64{}
	}
	return [3]float64{c.X / c.Y, 1, (1 - c.X - c.Y) / c.Y}
}

func chromaticityOf(xyz [3]float64) Chromaticity {
	sum := xyz[0] + xyz[1] + xyz[2]
	return Chromaticity{xyz[0] / sum, xyz[1] / sum}
}

// bradford is the cone response matrix of the linear Bradford transform (Lam
// 1985; the DNG specification and ICC.1 annex E give it to these four places).
var bradford = Matrix{
	{0.8951, 0.2664, -0.1614},
	{-0.7502, 1.7135, 0.0367},
	{0.0389, -0.0685, 1.0296},
}

// Adapt returns the XYZ to XYZ matrix of linear Bradford chromatic adaptation
// from one white to another. Each cone's ratio is kept within 1/10..10, so that
// an absurd white gives an absurd but finite colour.
func Adapt(from, to Chromaticity) Matrix {
	a, b := Apply(bradford, from.XYZ()), Apply(bradford, to.XYZ())
	var ratio [3]float64
	for i := range ratio {
		ratio[i] = 10
		if a[i] > 0 {
			ratio[i] = math.Min(math.Max(b[i]/a[i], 0.1), 10)
		}
	}
	inv, err := Inverse(bradford)
	if err != nil {
		panic("colour: the Bradford matrix is constant and invertible")
	}
	return Mul(inv, Mul(Diagonal(ratio), bradford))
}

// Primaries returns the matrix from linear RGB with the given primaries and
// white to XYZ (RGB 1,1,1 gives the white with Y = 1). SMPTE RP 177 derives it.
func Primaries(r, g, b, white Chromaticity) (Matrix, error) {
	cols := [3][3]float64{r.XYZ(), g.XYZ(), b.XYZ()}
	var p Matrix
	for i := range p {
		for j := range p[i] {
			p[i][j] = cols[j][i]
		}
	}
	inv, err := Inverse(p)
	if err != nil {
		return Matrix{}, err
	}
	return Mul(p, Diagonal(Apply(inv, white.XYZ()))), nil
}
