package gemm

import (
	_ "embed"

	"enhance/clrt"
	"enhance/conv/kerneltext"
)

//go:embed convert.cl
var convertCL string

// Converter moves matrices between layouts on a device.
type Converter struct{ k *clrt.Kernel }

// NewConverter compiles the kernel.
func NewConverter(ctx *clrt.Context) (*Converter, error) {
	// morton.cl comes along for gemm_z_order.
	k, err := compile(ctx, "gemm_convert", kerneltext.Define(mortonCL, "NAME", "gemm_unused", "BC", 4)+convertCL)
	if err != nil {
		return nil, err
	}
	return &Converter{k}, nil
}

// Close releases the kernel.
func (c *Converter) Close() error { return c.k.Close() }

// Convert queues the move of a rows×cols matrix from src to dst, which must not
// overlap. The padding of partial Morton blocks of dst becomes zero, blocks beyond
// the matrix stay as they are.
func (c *Converter) Convert(q *clrt.Queue, src *clrt.Buffer, from Layout, dst *clrt.Buffer, to Layout, rows, cols int) error {
	if err := c.k.SetArgs(src, from.arg(rows, cols), dst, to.arg(rows, cols), int32(rows), int32(cols)); err != nil {
		return err
	}
	r, n := rows, cols
	if br, bc := to.block(); br > 0 {
		r, n = round(rows, br), round(cols, bc)
	}
	return q.LaunchQuiet(c.k, []int{n, r}, nil)
}

// arg is the layout as gemm_convert takes it.
func (l Layout) arg(rows, cols int) [4]int32 {
	switch l {
	case RowMajor:
		return [4]int32{}
	case ColumnMajor:
		return [4]int32{-1}
	}
	br, bc := l.block()
	lr, lc := l.grid(rows, cols)
	return [4]int32{int32(br), int32(bc), int32(min(lr, lc))}
}
