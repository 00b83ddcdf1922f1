// Package gemm multiplies matrices on OpenCL devices: C = A·B plus a bias, for
// any M×K by K×N, in float32.
//
// [Layout] says where the elements of a matrix lie: by rows, by columns, or in blocks that follow each other
// along a Morton curve, by rows or by columns. [Variants] lists the kernels, from one work-item an element to
// the tiles that convolutions use: [Local] multiplies through local memory, for GPUs, and [Panel] through
// packed panels, for CPUs. Those two take [Hooks], so that [enhance/bench/im2col] puts a convolution's bias,
// activation and store around the same product.
package gemm

import "math/bits"

// Layout is where the elements of a matrix lie in a buffer of float32.
type Layout uint8

const (
	// RowMajor puts element (i,j) of a matrix with c columns at i·c+j.
	RowMajor Layout = iota
	// ColumnMajor puts it, with r rows, at j·r+i.
	ColumnMajor
	// Morton4x2 is a hybrid: blocks of 4 rows and 2 columns, by rows inside, along
	// a Z-order curve. The grid of blocks is rounded up to powers of two; where it
	// is longer one way than the other, square curves stand one after another.
	// Beyond the matrix a partial block holds zeros; blocks that lie wholly beyond it are
	// undefined.
	Morton4x2
	// Morton4x4 is the same with blocks of 4×4.
	Morton4x4
	// Rows2x4 has blocks of 2 rows and 4 columns, by rows inside, one row of blocks
	// after another; sides are rounded up to whole blocks, which are zero beyond the
	// matrix. In the notation of Rovder's report it is R 2 4 R.
	Rows2x4
	// Columns4x2 has blocks of 4 rows and 2 columns, by columns inside, one column of
	// blocks after another: C 4 2 C.
	Columns4x2
	// Rows4x4 is R 4 4 R.
	Rows4x4
	// Columns4x4 is C 4 4 C.
	Columns4x4
)

// layouts says of each how large its blocks are, 0 where there are none.
var layouts = [...]struct {
	name       string
	rows, cols int
}{
	{"row-major", 0, 0}, {"column-major", 0, 0}, {"morton-4x2", 4, 2}, {"morton-4x4", 4, 4},
	{"R 2 4 R", 2, 4}, {"C 4 2 C", 4, 2}, {"R 4 4 R", 4, 4}, {"C 4 4 C", 4, 4},
}

func (l Layout) String() string { return layouts[l].name }

// block is the size of the blocks, 0 where there are none.
func (l Layout) block() (rows, cols int) { return layouts[l].rows, layouts[l].cols }

// grid is the binary logarithm of the sides of the grid of blocks.
func (l Layout) grid(rows, cols int) (logRows, logCols int) {
	br, bc := l.block()
	log := func(n int) int { return bits.Len(uint(n - 1)) }
	return log((rows + br - 1) / br), log((cols + bc - 1) / bc)
}

// Len is the number of float32 that a matrix takes.
func (l Layout) Len(rows, cols int) int {
	br, bc := l.block()
	if br == 0 {
		return rows * cols
	}
	if l >= Rows2x4 {
		return round(rows, br) * round(cols, bc)
	}
	lr, lc := l.grid(rows, cols)
	return br * bc << (lr + lc)
}

// Index is the place of element (i,j), which may lie in a partial block's padding.
func (l Layout) Index(rows, cols, i, j int) int {
	switch l {
	case RowMajor:
		return i*cols + j
	case ColumnMajor:
		return j*rows + i
	}
	br, bc := l.block()
	switch l {
	case Rows2x4, Rows4x4:
		return (i/br*(round(cols, bc)/bc)+j/bc)*br*bc + i%br*bc + j%bc
	case Columns4x2, Columns4x4:
		return (j/bc*(round(rows, br)/br)+i/br)*br*bc + j%bc*br + i%br
	}
	lr, lc := l.grid(rows, cols)
	return zOrder(i/br, j/bc, min(lr, lc))*br*bc + i%br*bc + j%bc
}

// zOrder interleaves the common low bits of i and j, j's lowest first, and puts
// what the longer one has more above them.
func zOrder(i, j, common int) int {
	z := (i>>common | j>>common) << (2 * common)
	for b := range common {
		z |= (j>>b&1)<<(2*b) | (i>>b&1)<<(2*b+1)
	}
	return z
}
