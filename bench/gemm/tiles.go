package gemm

import (
	_ "embed"
	"fmt"

	"enhance/conv"
	"enhance/internal/kerneltext"
)

//go:embed local.cl
var localCL string

//go:embed panel.cl.tmpl
var panelText string

var panelTemplate = kerneltext.NewTemplate("panel", panelText, kerneltext.Funcs)

// Hooks are what a product reads B with and does with its sums: OpenCL C that
// stands where the kernel text says. i is a row of C, j a column, v a vector of
// columns from j on.
type Hooks struct {
	HalfB  bool   // B is binary16
	Params string // parameters after (a, b, m, n, k)
	Bias   string // of i and j: what a sum begins with
	Store  string // statement of i, j and v
}

// define puts the hooks before a kernel text.
func (h Hooks) define(text, store string) string {
	load, vector, typ := "(p)[x]", "vload%d(0, (p))", "float"
	if h.HalfB {
		load, vector, typ = "vload_half((x), (p))", "vload_half%d(0, (p))", "half"
	}
	defs := []any{"B_TYPE", typ, "B_LOAD(p, x)", load, "PARAMS", h.Params, "BIAS(i, j)", h.Bias, store + "(i, j, v)", h.Store}
	for _, n := range []int{4, 8, 16} {
		defs = append(defs, fmt.Sprintf("B_VECTOR%d(p)", n), fmt.Sprintf(vector, n))
	}
	return kerneltext.Define(text, defs...)
}

// Local is a division of a product among the work-groups of a GPU: my·nx
// work-items of tm rows by tn columns each, bk terms at a time.
type Local struct {
	my, nx, tm, tn, bk int
	speed              float64 // share of the first one's, where all of its work is useful
}

// localTiles are rows×columns; the last is the smallest.
var localTiles = []Local{
	{16, 16, 8, 8, 8, 1},
	{8, 16, 8, 8, 16, 0.95},
	{4, 16, 8, 8, 16, 0.9},
	{4, 16, 4, 8, 16, 0.7},
	{1, 64, 4, 4, 8, 0.45},
	{8, 8, 4, 4, 16, 0.55},
}

func (l Local) bm() int      { return l.my * l.tm }
func (l Local) bn() int      { return l.nx * l.tn }
func (l Local) items() int   { return l.my * l.nx }
func (l Local) local() int64 { return int64(2*l.bk*(l.bm()+4+l.bn())) * 4 }

// NewLocal chooses the division for products of m rows and n columns.
func NewLocal(c conv.Caps, m, n int) (Local, error) {
	const enough = 32768 // work-items that fill a large GPU
	var best Local
	top := 0.0
	for _, l := range localTiles {
		if l.items() > c.MaxWorkGroup || l.local() > c.LocalMem {
			continue
		}
		rows, cols := (m+l.bm()-1)/l.bm(), (n+l.bn()-1)/l.bn()
		useful := float64(m) / float64(rows*l.bm()) * float64(n) / float64(cols*l.bn())
		if score := l.speed * useful * min(1, float64(rows)*float64(cols)*float64(l.items())/enough); score > top {
			best, top = l, score
		}
	}
	if top == 0 {
		small := localTiles[len(localTiles)-1]
		return best, fmt.Errorf("gemm: a product through local memory needs work-groups of %d and %d bytes of local memory, the device allows %d and %d",
			small.items(), small.local(), c.MaxWorkGroup, c.LocalMem)
	}
	return best, nil
}

// Name tells the division: rows x columns x terms _ work-items.
func (l Local) Name() string { return fmt.Sprintf("%dx%dx%d_%d", l.bm(), l.bn(), l.bk, l.items()) }

// Source is the kernel; a store gets a float4, its columns from j on beyond n
// included. Kernels with different hooks need different names.
func (l Local) Source(name string, h Hooks) string {
	return kerneltext.Define(h.define(localCL, "STORE4"), "NAME", name, "BK", l.bk, "MY", l.my, "NX", l.nx, "TM", l.tm, "TN", l.tn)
}

// Work is the global and local size for a product.
func (l Local) Work(m, n int) (global, local []int) {
	return []int{(n + l.bn() - 1) / l.bn() * l.items(), (m + l.bm() - 1) / l.bm()}, []int{l.items(), 1}
}

// Panel is a division of a product among the work-items of a CPU: lanes rows by
// tile vectors of columns in registers, rows outputs at most to a work-item.
type Panel struct {
	Lanes               int // rows that packed A has side by side
	vector, tile, block int
	terms               int // rows of B in a panel, of at most 32 KiB
}

// NewPanel chooses the division for products of m rows. AVX-512 and NEON have 32
// vector registers, of which 12×2 hold sums; everything else 16, 6×2.
func NewPanel(c conv.Caps, m int) Panel {
	p := Panel{vector: 8, tile: 2}
	most, few := 6, 2
	switch {
	case c.Vector >= 16:
		p.vector, most, few = 16, 12, 6
	case c.Vector > 0 && c.Vector < 8:
		p.vector, most, few = 4, 12, 6
	}
	blocks := (m + most - 1) / most
	p.Lanes = (m + blocks - 1) / blocks
	if p.Lanes <= few {
		p.tile = 4
	}
	p.block = min((128+p.Lanes-1)/p.Lanes, blocks) * p.Lanes
	p.terms = (32 << 10) / (4 * p.tile * p.vector)
	return p
}

// Name tells the division: rows in registers, vectors, rows of a work-item.
func (p Panel) Name() string { return fmt.Sprintf("%dx%dx%d_%d", p.Lanes, p.tile, p.vector, p.block) }

// Vector is the number of columns that a store gets.
func (p Panel) Vector() int { return p.vector }

// PackedLen is the number of float32 that packed A takes.
func (p Panel) PackedLen(m, k int) int { return (m + p.Lanes - 1) / p.Lanes * p.Lanes * k }

// Pack packs a row-major A of m×k.
func (p Panel) Pack(a []float32, m, k int) []float32 {
	out := make([]float32, p.PackedLen(m, k))
	for i := range m {
		to := out[i/p.Lanes*p.Lanes*k+i%p.Lanes:]
		for t, v := range a[i*k : (i+1)*k] {
			to[t*p.Lanes] = v
		}
	}
	return out
}

// Source is the kernel; a store gets a vector of Vector columns, those beyond n
// included. Kernels with different hooks need different names.
func (p Panel) Source(name string, h Hooks) string {
	text := panelTemplate.Fill(struct {
		Name                              string
		Lanes, Tile, Vector, Block, Terms int
	}{name, p.Lanes, p.tile, p.vector, p.block, p.terms})
	return kerneltext.Define(h.define(text, "STOREV"), "B_VECTOR(p)", fmt.Sprintf("B_VECTOR%d(p)", p.vector))
}

// Work is the global and local size for a product.
func (p Panel) Work(m, n int) (global, local []int) {
	width := p.tile * p.vector
	return []int{(n + width - 1) / width, (m + p.block - 1) / p.block}, []int{1, 1}
}
