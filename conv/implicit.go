package conv

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

//go:embed implicit.cl
var implicitCL string

// Put4 is conv_put4, which stores four columns with their rim. It goes before kernels that
// call it.
//
//go:embed put4.cl
var Put4 string

//go:embed implicit_cpu.cl.tmpl
var implicitCPUText string

var implicitCPUTemplate = kerneltext.NewTemplate("implicit", implicitCPUText, kerneltext.Funcs)

// ImplicitGEMM is convolution as a matrix product of the unfolded input, M pixels
// by C·K·K, and the weights, without ever storing the unfolded input: GPUs unfold
// tiles of it into local memory, CPUs panels of it into private memory. On both
// it sums in the order of Rows.
type ImplicitGEMM struct{}

// Name is "implicit-gemm".
func (ImplicitGEMM) Name() string { return "implicit-gemm" }

// New fails for kernels wider than the rim and on devices whose work-groups or
// local memory are too small for the smallest tile.
func (ImplicitGEMM) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.WithinRim("implicit-gemm"); err != nil {
		return nil, err
	}
	if c.CPU {
		return newImplicitCPU(c, s), nil
	}
	t, ok := implicitTileFor(c, s)
	if !ok {
		small := implicitTiles[len(implicitTiles)-1]
		return nil, fmt.Errorf("conv: implicit-gemm needs work-groups of %d and %d bytes of local memory, the device allows %d and %d; %s does",
			small.items(), small.local(s.K), c.MaxWorkGroup, c.LocalMem, Simple{}.Name())
	}
	return &implicitImpl{shape: s, tile: t}, nil
}

// implicitTile is a division of the product among a work-group: mx·nx work-items
// of tm pixels by tn outputs each, bk terms at a time.
type implicitTile struct {
	mx, nx, tm, tn, bk int
	speed              float64 // share of the first one's, where all of its work is useful
}

// implicitTiles hold the paper's 32×32×16 last: the smallest. Speeds are
// multiply-adds per byte of local memory read, roughly.
var implicitTiles = []implicitTile{
	{16, 8, 8, 8, 16, 1},
	{16, 4, 8, 8, 16, 0.9},
	{8, 8, 8, 8, 16, 0.85},
	{16, 4, 8, 4, 16, 0.7},
	{64, 1, 4, 4, 8, 0.45},
	{8, 8, 4, 4, 16, 0.55},
}

func (t implicitTile) bm() int    { return t.mx * t.tm }
func (t implicitTile) bn() int    { return t.nx * t.tn }
func (t implicitTile) items() int { return t.mx * t.nx }

// local is the local memory a tile takes.
func (t implicitTile) local(k int) int64 {
	return int64(2*t.bk*(t.bm()+t.bn())+k*t.bm()) * 4
}

// implicitTileFor chooses by what of a tile's work is useful and by whether there
// are enough groups to fill a large GPU.
func implicitTileFor(c Caps, s Shape) (best implicitTile, ok bool) {
	const enough = 32768 // work-items
	top := 0.0
	for _, t := range implicitTiles {
		if t.items() > c.MaxWorkGroup || t.local(s.K) > c.LocalMem {
			continue
		}
		pixels := (s.W + 3) / 4 * 4 * s.H
		groups := (pixels + t.bm() - 1) / t.bm() * ((s.OutC + t.bn() - 1) / t.bn())
		useful := float64(s.OutC) / float64((s.OutC+t.bn()-1)/t.bn()*t.bn())
		score := t.speed * useful * min(1, float64(groups*t.items())/enough)
		if score > top {
			top, best, ok = score, t, true
		}
	}
	return best, ok
}

type implicitImpl struct {
	shape Shape
	tile  implicitTile
}

func (i *implicitImpl) Kernels() []Kernel {
	t := i.tile
	n := fmt.Sprintf("conv_implicit_k%d_%dx%d_%dx%d_%d", i.shape.K, t.tm, t.mx, t.tn, t.nx, t.bk)
	return []Kernel{{n, Put4 + define(implicitCL, "NAME", n, "KS", i.shape.K, "BK", t.bk, "MX", t.mx, "NX", t.nx, "TM", t.tm, "TN", t.tn)}}
}

// width is the number of outputs as packed.
func (i *implicitImpl) width() int {
	return (i.shape.OutC + i.tile.bn() - 1) / i.tile.bn() * i.tile.bn()
}

// terms is the number of rows that a source of c channels has in packed weights.
func (i *implicitImpl) terms(c int) int {
	return (c*i.shape.K*i.shape.K + i.tile.bk - 1) / i.tile.bk * i.tile.bk
}

func (i *implicitImpl) biasAt() int {
	n := 0
	for _, c := range i.shape.SrcC {
		n += i.terms(c)
	}
	return n * i.width()
}

func (i *implicitImpl) PackedLen() int { return i.biasAt() + i.width() }

func (i *implicitImpl) Pack(weights, bias []float32) []float32 {
	out := make([]float32, i.PackedLen())
	width, kk := i.width(), i.shape.K*i.shape.K
	all := i.shape.InC() * kk
	from, row := 0, 0
	for _, c := range i.shape.SrcC {
		for t := range c * kk {
			for o := range i.shape.OutC {
				out[(row+t)*width+o] = weights[o*all+from+t]
			}
		}
		from, row = from+c*kk, row+i.terms(c)
	}
	copy(out[i.biasAt():], bias[:i.shape.OutC])
	return out
}

func (i *implicitImpl) Granule() int      { return 1 }
func (i *implicitImpl) Scratch(int) int64 { return 0 }

func (i *implicitImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	args := new(KernelArgs).Sources(a).Buffer(packed).Int(i.biasAt()).Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1, int(i.shape.Act)).Float(a.Slope)
	pixels := (a.Dst.W + 3) / 4 * 4 * (a.Y1 - a.Y0)
	groups := (pixels + i.tile.bm() - 1) / i.tile.bm()
	return args.Launch(q, k[0], []int{groups * i.tile.items(), i.width() / i.tile.bn()}, []int{i.tile.items(), 1})
}

// implicitCPU keeps lanes outputs by tile vectors in registers.
type implicitCPU struct {
	shape               Shape
	vector, lanes, tile int
	channels            int // unfolded at a time
	outputs             int // of a work-item, a multiple of lanes
}

// newImplicitCPU chooses a register tile as registerTile does, by outputs alone,
// and panels of at most 48 KiB.
func newImplicitCPU(c Caps, s Shape) *implicitCPU {
	i := &implicitCPU{shape: s, vector: 8, tile: 2}
	most, few := 6, 2 // 16 registers: two or, with few outputs, four vectors
	switch {
	case c.Vector >= 16:
		i.vector, most, few = 16, 12, 6
	case c.Vector > 0 && c.Vector < 8:
		i.vector, most, few = 4, 12, 6
	}
	blocks := (s.OutC + most - 1) / most
	i.lanes = (s.OutC + blocks - 1) / blocks
	if i.lanes <= few {
		i.tile = 4
	}
	i.channels = max(1, min(s.InC(), (48<<10)/(4*s.K*s.K*i.tile*i.vector)))
	i.outputs = min((128+i.lanes-1)/i.lanes, blocks) * i.lanes
	return i
}

func (i *implicitCPU) name() string {
	return fmt.Sprintf("conv_implicit_cpu_k%d_c%d_o%d_b%d_v%dx%d", i.shape.K, i.channels, i.lanes, i.outputs, i.tile, i.vector)
}

func (i *implicitCPU) Kernels() []Kernel {
	text := implicitCPUTemplate.Fill(struct {
		Name                                    string
		K, Lanes, Tile, Vector, Channels, Block int
	}{i.name(), i.shape.K, i.lanes, i.tile, i.vector, i.channels, i.outputs})
	return []Kernel{{i.name(), text}}
}

func (i *implicitCPU) blocks() int { return (i.shape.OutC + i.lanes - 1) / i.lanes }

func (i *implicitCPU) biasAt() int {
	return i.blocks() * i.lanes * i.shape.InC() * i.shape.K * i.shape.K
}

func (i *implicitCPU) PackedLen() int { return i.biasAt() + i.blocks()*i.lanes }

func (i *implicitCPU) Pack(weights, bias []float32) []float32 {
	return block(i.shape, i.lanes, weights, bias)
}

func (i *implicitCPU) Granule() int      { return 1 }
func (i *implicitCPU) Scratch(int) int64 { return 0 }

func (i *implicitCPU) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	args := new(KernelArgs).Sources(a).Buffer(packed).Int(i.biasAt()).Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1, int(i.shape.Act)).Float(a.Slope)
	vectors := (a.Dst.W + i.vector - 1) / i.vector * (a.Y1 - a.Y0)
	return args.Launch(q, k[0], []int{(vectors + i.tile - 1) / i.tile, (i.shape.OutC + i.outputs - 1) / i.outputs}, []int{1, 1})
}
