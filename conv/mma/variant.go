package mma

import "enhance/conv"

// variant is how a work-group divides its tile (see mma.cl).
type variant struct {
	nt      int // n-tiles of 8 outputs per warp
	wn      int // warps along the outputs
	wm      int // warps along the rows
	rp      int // pairs of rows per warp
	piece   int // taps whose weights pass through local memory together
	patches int // stages in local memory: with two, one is fetched while the other is in use
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

// localBytes is the size of the patches, the ring of weights and the table of
// rows.
func (v variant) localBytes(p Precision, k int) int64 {
	rows, _, words := v.patch(k)
	return int64(v.patches)*int64(rows)*int64(words)*4 + int64(2*v.piece*v.wn*v.tapWords(p))*4 + 4*int64(rows)*8
}

// tapWords is how many words of weights a warp reads for a tap of a stage.
func (v variant) tapWords(p Precision) int { return v.nt * 64 * p.parts() }

// choose gives the variant for a shape. Warps are as wide as 32 outputs, beyond
// which sums leave too few registers for enough warps; a few more outputs than
// that are better in one than in two. Two patches and long pieces of weights are
// given up, in this order, where local memory is short.
func choose(p Precision, s conv.Shape, localMem int64) variant {
	tiles := ceilDiv(s.OutC, 8)
	v := variant{nt: tiles, wn: 1, wm: 4, rp: 1, piece: pieceOf(s.K), patches: 2}
	if tiles > 5 {
		v.nt, v.wn = 4, 2
		if tiles == 6 {
			v.nt = 3
		}
	}
	if s.K >= 7 || v.localBytes(p, s.K) > localMem {
		v.patches = 1
	}
	for v.piece > 1 && v.localBytes(p, s.K) > localMem {
		v.piece--
	}
	return v
}

// pieceOf divides a kernel row into pieces of much the same length, of three or
// four taps.
func pieceOf(k int) int {
	if k == 7 {
		return 4
	}
	return min(k, 3)
}
