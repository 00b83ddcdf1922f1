package defects

import "math"

// roots are the square roots of light by stored sample, at one level of black: a look into a table
// is several times faster than a root.
type roots [1 << 16]float64

// rootsAbove makes the roots of light above a level, 0 below it.
func rootsAbove(black float64) *roots {
	r := &roots{}
	for v := range r {
		r[v] = math.Sqrt(max(float64(v)-black, 0))
	}
	return r
}

// at is the table of row y, column x of the photo.
func (f *finder) at(y, x int) *roots { return f.roots[y&1][x&1] }
