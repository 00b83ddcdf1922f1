package gemm

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/kerneltext"
)

//go:embed dot.cl
var dotCL string

// dotVariants are products of an A by rows and a B by columns: one element of C to a
// work-item, 2×2 elements, and 2×2 elements of tiles (Rovder, section 8 of the report).
func dotVariants(c conv.Caps) []*Variant {
	return []*Variant{
		{Name: "rows-x-columns-naive", A: RowMajor, B: ColumnMajor, C: RowMajor, kind: naiveRC, caps: c},
		{Name: "rows-x-columns-vector", A: RowMajor, B: ColumnMajor, C: RowMajor, kind: dot, side: 1, caps: c},
		{Name: "rows-x-columns-blocked", A: RowMajor, B: ColumnMajor, C: RowMajor, kind: dot, side: 2, caps: c},
		{Name: "tiles-4-2", A: Rows2x4, B: Columns4x2, C: Columns4x2, kind: dot, side: 2, caps: c},
		{Name: "tiles-4-4", A: Rows4x4, B: Columns4x4, C: Columns4x4, kind: dot, side: 2, caps: c},
	}
}

func (p *Product) runDot(q *clrt.Queue, m, n, k int, a, b, c *clrt.Buffer, bias any) error {
	_, tile := p.B.block()
	rows := m
	if tile > 0 {
		rows = round(m, 4) // C's padding is written
	}
	name := fmt.Sprintf("gemm_%d_%d_", p.side, tile)
	source := kerneltext.Define(dotCL, "NAME(x)", name+"##x", "SIDE", p.side, "TILE", tile)
	// Groups of 4×16 items, as in the report, where a device allows them.
	gx, gy := 4, 16
	for gx*gy > p.caps.MaxWorkGroup && gy > 1 {
		gy /= 2
	}
	if p.caps.CPU {
		gx, gy = 4, 1
	}
	global := []int{round((n+p.side-1)/p.side, gx), round((rows+p.side-1)/p.side, gy)}
	return p.launch(q, name+"dot", source, global, []int{gx, gy}, a, b, int32(m), int32(n), int32(k), c, bias)
}
