package mma

import "enhance/conv"

// variant is how a work-group divides its tile (see mma.cl).
type variant struct {
	mt    int // m-tiles of 16 outputs per warp
	wo    int // warps along the outputs
	wr    int // warps along the rows
	rows  int // rows per warp
	piece int // taps whose weights pass through local memory together
	slots int // such pieces in local memory
	// ahead is 1 if the lines of a patch are copied to local memory a stage ahead. Then
	// a piece is all taps of a stage, and there are two.
	ahead int
}

func (v variant) group() int   { return 32 * v.wo * v.wr }
func (v variant) tileH() int   { return v.rows * v.wr }
func (v variant) outputs() int { return 16 * v.mt * v.wo }

// patch is the sides of a stage's patch for kernel side k: its rows, its
// columns and the words of a row, as mma.cl defines them.
func (v variant) patch(k int) (rows, columns, words int) {
	left := min(k/2, 1) * 4
	columns = (31 + left - k/2 + k + 3) / 4 * 4
	return v.tileH() + k - 1, columns, columns / 4 * 32
}

// localBytes is the size of the patch, the lines, the weights and the table of
// rows.
func (v variant) localBytes(p Precision, k int) int64 {
	rows, _, words := v.patch(k)
	n := int64(rows)*int64(words)*4 + int64(v.slots*v.piece*v.wo*v.tapWords(p))*4 + 4*int64(rows)*8
	if v.ahead == 1 {
		n += v.lines(p, k)
	}
	return n
}

// lines is the size of a stage's lines as mma.cl keeps them.
func (v variant) lines(p Precision, k int) int64 {
	rows, columns, _ := v.patch(k)
	left, side := min(k/2, 1)*4, 16/int(p.Storage().Bytes())
	units := ceilDiv(ceilDiv(left, side)*side-left+columns, side)
	return 2 * 16 * int64(rows*p.chunk()*units+4)
}

// most is how much local memory a variant may use, of a device that says it has
// localMem. What is copied ahead lies in an array that inline assembly declares, which
// may be larger than OpenCL's 48 KiB; Probe has tried it.
func most(v variant, localMem int64) int64 {
	if v.ahead == 1 && localMem >= 48<<10 {
		return max(localMem, probedLocal)
	}
	return localMem
}

// takeAhead makes v copy ahead, for kernel side k.
func (v *variant) takeAhead(k int) { v.ahead, v.piece, v.slots = 1, k*k, 2 }

// tapWords is how many words of weights a warp reads for a tap of a stage.
func (v variant) tapWords(p Precision) int { return v.mt * 128 * p.parts() }

// choose gives the variant for a shape: 4 warps of 32 columns × 2 rows and 32
// outputs, whose sums leave registers for 16 warps on a compute unit of 64 Ki
// registers. docs/mma.md has figures for others. Small kernels do little with a patch:
// groups share it among more outputs, and copy the next one meanwhile; not for three
// products, where that takes 178 registers.
func choose(p Precision, s conv.Shape, localMem int64) variant {
	v := variant{mt: min(ceilDiv(s.OutC, 16), 2), wo: 1, wr: 4, rows: 2, piece: pieceOf(s.K), slots: 3}
	switch tiles := ceilDiv(s.OutC, 16); {
	case tiles == 3:
		v.mt = 3
	case s.K <= 3 && tiles > 2 && p != FP32:
		v.wo, v.wr = 2, 2
		if tiles == 5 || tiles == 6 {
			v.wo = 3
		}
	}
	if w := v; s.K <= 3 && p != FP32 {
		if w.takeAhead(s.K); w.localBytes(p, s.K) <= most(w, localMem) {
			return w
		}
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
