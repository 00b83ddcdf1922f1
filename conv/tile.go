package conv

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/internal/planar"
)

//go:embed tile.cl
var tileCL string

// Tile is direct convolution for GPUs: the input patch of a tile of pixels
// passes through local memory, sums stay in registers. It computes what Rows
// computes, in the same order.
type Tile struct{}

func (Tile) Name() string { return "direct-tile" }

func (Tile) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.K/2 > planar.Rim {
		return nil, fmt.Errorf("conv: direct-tile does kernels up to %dx%[1]d, not %dx%[2]d", 2*planar.Rim+1, s.K)
	}
	t := &tileImpl{shape: s, lanes: 8, ty: 4}
	if s.OutC%8 != 0 && s.OutC < 24 {
		t.lanes = 4
	}
	if c.MaxWorkGroup < 64 {
		t.ty = 1
	}
	if c.MaxWorkGroup < 16*t.ty {
		return nil, fmt.Errorf("conv: direct-tile needs work-groups of %d, the device allows %d", 16*t.ty, c.MaxWorkGroup)
	}
	// As many channels at a time as a quarter of the local memory holds, so that
	// several groups share a compute unit.
	patch := int64(64+s.K-1) * int64(2*t.ty+s.K-1) * 4
	t.stage = int(min(max(c.LocalMem/4/patch, 1), 8, int64(s.InC())))
	if patch > c.LocalMem {
		return nil, fmt.Errorf("conv: direct-tile needs %d bytes of local memory, the device has %d", patch, c.LocalMem)
	}
	blocks := (s.OutC + t.lanes - 1) / t.lanes
	limit := max(min(4, c.MaxWorkGroup/(16*t.ty)), 1)
	groups := (blocks + limit - 1) / limit
	t.nk = (blocks + groups - 1) / groups
	return t, nil
}

type tileImpl struct {
	shape Shape
	lanes int // output channels per work-item
	nk    int // work-items along the channels in a group
	ty    int // work-items along the rows in a group
	stage int // source channels staged at a time
}

func (t *tileImpl) name() string {
	return fmt.Sprintf("conv_tile_k%d_o%d_c%d_y%d", t.shape.K, t.lanes, t.stage, t.ty)
}

func (t *tileImpl) Kernels() []Kernel {
	n := t.name()
	return []Kernel{{n, define(tileCL, "NAME", n, "KS", t.shape.K, "KT", t.lanes, "CC", t.stage, "TY", t.ty)}}
}

func (t *tileImpl) blocks() int { return (t.shape.OutC + t.lanes - 1) / t.lanes }

func (t *tileImpl) PackedLen() int {
	return t.blocks() * t.lanes * (t.shape.InC()*t.shape.K*t.shape.K + 1)
}

func (t *tileImpl) Pack(weights, bias []float32) []float32 {
	return block(t.shape, t.lanes, weights, bias)
}

func (t *tileImpl) Granule() int      { return 1 }
func (t *tileImpl) Scratch(int) int64 { return 0 }

func (t *tileImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	bias := t.blocks() * t.lanes * t.shape.InC() * t.shape.K * t.shape.K
	args := new(KernelArgs).Sources(a).Buffer(packed).Int(bias).Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1, int(t.shape.Act)).Float(a.Slope)
	groups := (t.blocks() + t.nk - 1) / t.nk
	global := []int{(a.Dst.W + 63) / 64 * 16, (a.Y1 - a.Y0 + 2*t.ty - 1) / (2 * t.ty) * t.ty, groups * t.nk}
	return args.Launch(q, k[0], global, []int{16, t.ty, t.nk})
}
