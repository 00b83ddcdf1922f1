package gemm

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/kerneltext"
)

//go:embed plain.cl
var plainCL string

//go:embed morton.cl
var mortonCL string

// Variant is a way to multiply matrices in given layouts.
type Variant struct {
	Name    string
	A, B, C Layout
	kind    kind
	side    int // of the square of C that a work-item makes; dot only
	caps    conv.Caps
}

type kind uint8

const (
	naive kind = iota
	vector
	local
	panel
	morton
	naiveRC
	dot
)

// Variants lists what a device does: every kernel works on every size, those for
// the other kind of device are left out.
func Variants(c conv.Caps) []*Variant {
	var all []*Variant
	for _, l := range []Layout{RowMajor, ColumnMajor} {
		add := func(name string, k kind) {
			all = append(all, &Variant{Name: l.String() + "-" + name, A: l, B: l, C: l, kind: k, caps: c})
		}
		add("naive", naive)
		add("vector", vector)
		if c.CPU {
			add("panel", panel)
		} else if _, err := NewLocal(c, 1, 1); err == nil {
			add("local", local)
		}
	}
	for _, l := range []Layout{Morton4x2, Morton4x4} {
		all = append(all, &Variant{Name: l.String(), A: l, B: l, C: l, kind: morton, caps: c})
	}
	return append(all, dotVariants(c)...)
}

// Product is a variant compiled on a device. Its Run is not for concurrent use.
type Product struct {
	*Variant
	ctx     *clrt.Context
	kernels map[string]*clrt.Kernel
	packed  *clrt.Buffer // A as a Panel wants it, kept for the next Run
}

// Open prepares the variant; ctx must be the device's that the variant was listed
// for. Kernels are compiled at their first Run.
func (v *Variant) Open(ctx *clrt.Context) *Product {
	return &Product{Variant: v, ctx: ctx, kernels: map[string]*clrt.Kernel{}}
}

// Close releases kernels and scratch.
func (p *Product) Close() error {
	var first error
	for _, k := range p.kernels {
		if err := k.Close(); err != nil && first == nil {
			first = err
		}
	}
	if p.packed != nil {
		if err := p.packed.Close(); err != nil && first == nil {
			first = err
		}
	}
	p.kernels, p.packed = map[string]*clrt.Kernel{}, nil
	return first
}

// Scratch is the device memory in bytes that a Run takes besides its operands.
func (p *Product) Scratch(m, n, k int) int64 {
	if p.kind != panel {
		return 0
	}
	if p.C == ColumnMajor {
		m, n = n, m
	}
	return int64(NewPanel(p.caps, m).PackedLen(m, k)) * 4
}

// Run queues C = A·B + bias: A is m×k, B k×n and C m×n in the variant's layouts,
// bias one value a row of C or nil. The buffers hold at least Layout.Len elements;
// the padding of partial blocks of A and B must be zero.
func (p *Product) Run(q *clrt.Queue, m, n, k int, a, b, c, bias *clrt.Buffer) error {
	if err := p.check(m, n, k, a, b, c, bias); err != nil {
		return err
	}
	if p.kind == morton {
		return p.runMorton(q, m, n, k, a, b, c, bias)
	}
	var arg any // an untyped nil is the null pointer
	if bias != nil {
		arg = bias
	}
	if p.kind == dot {
		return p.runDot(q, m, n, k, a, b, c, arg)
	}
	axis := int32(0)
	if p.C == ColumnMajor {
		// By columns, C = A·B lies in memory as Cᵀ = Bᵀ·Aᵀ does by rows.
		m, n, a, b, axis = n, m, b, a, 1
	}
	dims := []any{a, b, int32(m), int32(n), int32(k), c, arg, axis}
	switch p.kind {
	case local:
		l, err := NewLocal(p.caps, m, n)
		if err != nil {
			return err
		}
		name := "gemm_local_" + l.Name()
		global, items := l.Work(m, n)
		return p.launch(q, name, l.Source(name, plainHooks("gemm_put4")), global, items, dims...)
	case panel:
		return p.runPanel(q, m, n, k, dims)
	case vector:
		lx := min(16, p.caps.MaxWorkGroup)
		return p.launch(q, "gemm_vector", "", []int{round((n+3)/4, lx), (m + 3) / 4}, []int{lx, 1}, dims...)
	}
	name, lx := "gemm_naive", min(64, p.caps.MaxWorkGroup)
	if p.kind == naiveRC {
		name = "gemm_naive_columns"
	}
	return p.launch(q, name, "", []int{round(n, lx), m}, []int{lx, 1}, dims...)
}

func round(n, to int) int { return (n + to - 1) / to * to }

func (p *Product) check(m, n, k int, a, b, c, bias *clrt.Buffer) error {
	if m < 1 || n < 1 || k < 1 {
		return fmt.Errorf("gemm: no product of %dx%d by %dx%d", m, k, k, n)
	}
	for _, o := range []struct {
		what       string
		buf        *clrt.Buffer
		layout     Layout
		rows, cols int
	}{{"A", a, p.A, m, k}, {"B", b, p.B, k, n}, {"C", c, p.C, m, n}} {
		if need := int64(o.layout.Len(o.rows, o.cols)) * 4; o.buf.Size() < need {
			return fmt.Errorf("gemm: %s of %dx%d, %s, takes %d bytes, its buffer has %d", o.what, o.rows, o.cols, o.layout, need, o.buf.Size())
		}
	}
	if bias != nil && bias.Size() < int64(m)*4 {
		return fmt.Errorf("gemm: the bias of %d rows takes %d bytes, its buffer has %d", m, m*4, bias.Size())
	}
	return nil
}

// plainHooks add a bias by rows or columns and store vectors of columns.
func plainHooks(put string) Hooks {
	return Hooks{
		Params: "__global float *c, __global const float *bias, int bias_axis",
		Bias:   "(bias ? bias[bias_axis ? (j) : (i)] : 0.0f)",
		Store:  put + "(c + (size_t)(i) * n, (j), n, (v))",
	}
}

// putText stores as much of a vector as a line takes.
func putText(name string, width int) string {
	return fmt.Sprintf(`
static void %s(__global float *line, int j, int n, float%d v) {
    if (j + %d <= n) {
        vstore%d(v, 0, line + j);
        return;
    }
    float e[%d];
    vstore%d(v, 0, e);
    for (int i = 0; j + i < n; i++) line[j + i] = e[i];
}
`, name, width, width, width, width, width)
}

func (p *Product) runPanel(q *clrt.Queue, m, n, k int, args []any) error {
	pn := NewPanel(p.caps, m)
	need := int64(pn.PackedLen(m, k)) * 4
	if p.packed == nil || p.packed.Size() < need {
		if p.packed != nil {
			// Commands that still read it keep it.
			if err := p.packed.Close(); err != nil {
				return err
			}
		}
		var err error
		if p.packed, err = p.ctx.NewBuffer(need, "packed matrix"); err != nil {
			return err
		}
	}
	lx := min(64, p.caps.MaxWorkGroup)
	if err := p.launch(q, "gemm_pack", "", []int{round(k, lx), (m + pn.Lanes - 1) / pn.Lanes}, []int{lx, 1},
		args[0], int32(m), int32(k), p.packed, int32(pn.Lanes)); err != nil {
		return err
	}
	name := "gemm_panel_" + pn.Name()
	global, items := pn.Work(m, n)
	args[0] = p.packed
	return p.launch(q, name, pn.Source(name, plainHooks(fmt.Sprintf("gemm_put%d", pn.vector))), global, items, args...)
}

func (p *Product) runMorton(q *clrt.Queue, m, n, k int, a, b, c, bias *clrt.Buffer) error {
	_, bc := p.A.block()
	name := fmt.Sprintf("gemm_morton_4x%d", bc)
	ar, ac := p.A.grid(m, k)
	br, bcols := p.A.grid(k, n)
	var arg any
	if bias != nil {
		arg = bias
	}
	// Work-groups are square pieces of C, so that they share blocks of A and B.
	side := 8
	for side*side > p.caps.MaxWorkGroup {
		side /= 2
	}
	return p.launch(q, name, kerneltext.Define(mortonCL, "NAME", name, "BC", bc), []int{round((n+7)/8, side), round((m+7)/8, side)}, []int{side, side},
		a, b, int32(m), int32(n), int32(k), [4]int32{int32(ar), int32(ac), int32(bcols), int32(br)}, c, arg)
}

// launch compiles the kernel at its first use; an empty source means plain.cl.
func (p *Product) launch(q *clrt.Queue, name, source string, global, items []int, args ...any) error {
	k := p.kernels[name]
	if k == nil {
		switch {
		case source == "":
			source = plainCL
		case p.kind == local:
			source = putText("gemm_put4", 4) + source
		case p.kind == panel:
			w := NewPanel(p.caps, 1).vector
			source = putText(fmt.Sprintf("gemm_put%d", w), w) + source
		}
		var err error
		if k, err = compile(p.ctx, name, source); err != nil {
			return err
		}
		p.kernels[name] = k
	}
	if err := k.SetArgs(args...); err != nil {
		return err
	}
	return q.LaunchQuiet(k, global, items)
}

// compile makes one kernel; the program is only needed until then.
func compile(ctx *clrt.Context, name, source string) (*clrt.Kernel, error) {
	prog, err := ctx.Build(source, "-cl-std=CL1.2")
	if err != nil {
		return nil, err
	}
	k, err := prog.Kernel(name)
	if cerr := prog.Close(); err == nil {
		err = cerr
	}
	return k, err
}
