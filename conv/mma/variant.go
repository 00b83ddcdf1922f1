package mma

import "enhance/conv"

// variant is how a work-group divides its tile (see mma.cl).
type variant struct {
	nt    int  // n-tiles of 8 outputs per warp
	wn    int  // warps along the outputs
	wm    int  // warps along the rows
	rp    int  // pairs of rows per warp
	ahead bool // fetch the next stage's patch during this stage
}

func (v variant) group() int   { return 32 * v.wm * v.wn }
func (v variant) tileH() int   { return 2 * v.rp * v.wm }
func (v variant) outputs() int { return 8 * v.nt * v.wn }

// patch is the sides of a stage's patch for kernel side k: its rows, its
// columns and the words of a row, as mma.cl defines them.
func (v variant) patch(k int) (rows, columns, words int) {
	left := (k/2 + 1) / 2 * 2
	columns = (31 + left - k/2 + k + 3) / 4 * 4
	return v.tileH() + k - 1, columns, 4 * (columns/4 | 1) * 8
}

func (v variant) localBytes(k int) int64 {
	rows, _, words := v.patch(k)
	return int64(rows)*int64(words)*4 + 4*int64(rows)*8
}

// units is how many units of the patch a work-item brings in, at most.
func (v variant) units(k int) int {
	rows, columns, _ := v.patch(k)
	return ceilDiv(rows*columns, v.group())
}

// choose gives the variant for a shape. Warps are as wide as 32 outputs, beyond
// which sums leave too few registers for enough warps; a few more outputs than
// that are better in one than in two.
func choose(p Precision, s conv.Shape) variant {
	tiles := ceilDiv(s.OutC, 8)
	v := variant{nt: tiles, wn: 1, wm: 4, rp: 1}
	if tiles > 5 {
		v.nt, v.wn = 4, min(ceilDiv(tiles, 4), 4)
		if tiles == 6 {
			v.nt, v.wn = 3, 2
		}
	}
	v.ahead = v.units(s.K) <= 3
	return v
}
