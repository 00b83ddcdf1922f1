// Package im2col is convolution by an unfolded input and a matrix product, for comparison
// in the papers' suites: unfolded on the device ([Device], a [conv.Algo]) or by the host's
// cores while the device multiplies ([Host]).
package im2col

import (
	_ "embed"
	"fmt"

	"enhance/bench/gemm"
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
	"enhance/model"
)

//go:embed im2col.cl
var im2colCL string

// Device is explicit im2col and GEMM: the device unfolds rows of the input into a
// matrix in scratch memory, C·K·K times as large as the rows are wide, and
// multiplies the weights by it; the product ends with bias, activation and
// residual. The sum of an output has the order of [conv.Rows].
type Device struct {
	// Cap is how much scratch memory a launch asks for at most, in bytes, if a row
	// takes less; 0 is 64 MiB on GPUs and 1 MiB, about a cache, on CPUs.
	Cap int64
}

// Name is "im2col-gemm".
func (Device) Name() string { return "im2col-gemm" }

// New fails for kernels wider than the rim and on devices whose work-groups or
// local memory are too small for the product.
func (m Device) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	if err := s.WithinRim("im2col-gemm"); err != nil {
		return nil, err
	}
	if s.Pad != model.PadReflect && s.K > 1 {
		return nil, fmt.Errorf("conv: im2col-gemm pads by reflection only; %s does all", conv.Simple{}.Name())
	}
	u, err := newUnfolded(c, s, p)
	if err != nil {
		return nil, err
	}
	limit := m.Cap
	if limit <= 0 {
		limit = 64 << 20
		if c.CPU {
			limit = 1 << 20
		}
	}
	items := max(1, min(u.width()/u.vector, 64, c.MaxWorkGroup))
	if !c.CPU {
		items = max(1, min((items+31)/32*32, c.MaxWorkGroup))
	}
	return &impl{u, max(1, int(limit/u.rowBytes())), items}, nil
}

// unfolded is the product of weights and an unfolded input. Device unfolds on the
// device, Host on the host.
type unfolded struct {
	shape     conv.Shape
	precision planar.Precision
	cpu       bool
	local     gemm.Local // of GPUs
	panel     gemm.Panel // of CPUs
	vector    int        // columns that are stored together
}

func newUnfolded(c conv.Caps, s conv.Shape, p planar.Precision) (u *unfolded, err error) {
	u = &unfolded{shape: s, precision: p, cpu: c.CPU, vector: 4}
	if c.CPU {
		u.panel = gemm.NewPanel(c, s.OutC)
		u.vector = u.panel.Vector()
		return u, nil
	}
	if u.local, err = gemm.NewLocal(c, s.OutC, u.width()*s.H); err != nil {
		return nil, fmt.Errorf("im2col: %w; %s does", err, conv.Simple{}.Name())
	}
	return u, nil
}

// width is the number of columns that a row of the picture has in the matrix.
func (u *unfolded) width() int { return (u.shape.W + u.vector - 1) / u.vector * u.vector }

// terms is the number of rows of the matrix.
func (u *unfolded) terms() int { return u.shape.InC() * u.shape.K * u.shape.K }

// rowBytes is the size of the matrix of one row of the picture.
func (u *unfolded) rowBytes() int64 {
	return int64(u.width()) * int64(u.terms()) * u.precision.Bytes()
}

func (u *unfolded) biasAt() int {
	if u.cpu {
		return u.panel.PackedLen(u.shape.OutC, u.terms())
	}
	return u.shape.OutC * u.terms()
}

func (u *unfolded) PackedLen() int { return u.biasAt() + u.shape.OutC }

func (u *unfolded) Pack(weights, bias []float32) []float32 {
	n := u.shape.OutC * u.terms()
	if u.cpu {
		return append(u.panel.Pack(weights[:n], u.shape.OutC, u.terms()), bias[:u.shape.OutC]...)
	}
	return append(append(make([]float32, 0, u.PackedLen()), weights[:n]...), bias[:u.shape.OutC]...)
}

// Kernels are conv_im2col, with what both it and the product need, and the
// product.
func (u *unfolded) Kernels() []conv.Kernel {
	unfold := fmt.Sprintf("conv_im2col_k%d_v%d", u.shape.K, u.vector)
	emit := unfold + "_emit"
	h := gemm.Hooks{
		HalfB: u.precision == planar.FP16,
		Params: "int bias_at, __global const data_t *res, ring_t rres, __global data_t *dst, ring_t rdst, " +
			"int y0, int width, int act, float slope",
		Bias:  "a[bias_at + (i)]",
		Store: emit + "(res, rres, dst, rdst, (i), y0 + (j) / width, (j) % width, act, slope, (v))",
	}
	first := conv.Kernel{Name: unfold, Source: conv.Put4 + kerneltext.Define(im2colCL, "NAME", unfold, "EMIT", emit, "KS", u.shape.K, "VW", u.vector)}
	if u.cpu {
		name := unfold + "_panel_" + u.panel.Name()
		return []conv.Kernel{first, {Name: name, Source: u.panel.Source(name, h)}}
	}
	name := unfold + "_local_" + u.local.Name()
	return []conv.Kernel{first, {Name: name, Source: u.local.Source(name, h)}}
}

// multiply queues the product that makes rows [y0,y0+rows) of a.Dst out of matrix.
func (u *unfolded) multiply(q *clrt.Queue, k *clrt.Kernel, packed, matrix *clrt.Buffer, a *conv.Args, y0, rows int) error {
	n := rows * u.width()
	args := new(conv.KernelArgs).Buffer(packed).Buffer(matrix).Int(u.shape.OutC, n, u.terms(), u.biasAt()).
		Residual(a).Ring(a.Dst).Int(y0, u.width(), int(u.shape.Act)).Float(a.Slope)
	if err := args.Set(k); err != nil {
		return err
	}
	work := u.local.Work
	if u.cpu {
		work = u.panel.Work
	}
	global, local := work(u.shape.OutC, n)
	return q.LaunchQuiet(k, global, local)
}

type impl struct {
	*unfolded
	rows  int // of the picture, unfolded at a time
	items int // of a work-group that unfolds
}

func (m *impl) Granule() int { return 1 }

func (m *impl) Scratch(rows int) int64 { return int64(min(rows, m.rows)) * m.rowBytes() }

// LessScratch is one row.
func (m *impl) LessScratch() []int64 { return []int64{m.rowBytes()} }

func (m *impl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	if a.Scratch == nil || a.Scratch.Size() < m.rowBytes() {
		return fmt.Errorf("im2col-gemm needs %d bytes of scratch for a row", m.rowBytes())
	}
	piece := int(min(int64(m.rows), a.Scratch.Size()/m.rowBytes()))
	for y := a.Y0; y < a.Y1; y += piece {
		rows := min(piece, a.Y1-y)
		if err := m.unfold(q, k[0], a, y, rows); err != nil {
			return err
		}
		if err := m.multiply(q, k[1], packed, a.Scratch, a, y, rows); err != nil {
			return err
		}
	}
	return nil
}

// unfold queues conv_im2col for rows [y,y+rows).
func (m *impl) unfold(q *clrt.Queue, k *clrt.Kernel, a *conv.Args, y, rows int) error {
	// Some drivers count groups of the second dimension in 16 bits.
	const most = 32768
	for t := 0; t < m.terms(); t += most {
		args := new(conv.KernelArgs).Sources(a).Buffer(a.Scratch).Int(y, rows, m.width(), t)
		if err := args.Set(k); err != nil {
			return err
		}
		global := []int{(m.width()/m.vector + m.items - 1) / m.items * m.items, min(most, m.terms()-t), rows}
		if err := q.LaunchQuiet(k, global, []int{m.items, 1, 1}); err != nil {
			return err
		}
	}
	return nil
}
