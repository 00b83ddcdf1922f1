package conv

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/internal/planar"
)

//go:embed packed.cl
var packedCL string

// Packed is direct convolution for GPUs with the input patch and the filter block
// cached in local memory and channels packed by four. Activations stay
// row-planar in global memory: the packing happens on the way into local memory.
//
// It sums blocks of four channels tap by tap, so results differ from those of
// the other direct algorithms by rounding.
type Packed struct{}

// Name is "direct-packed".
func (Packed) Name() string { return "direct-packed" }

// New fails for kernels wider than the rim and for devices whose work-groups or
// local memory are too small for a tile.
func (Packed) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.WithinRim("direct-packed"); err != nil {
		return nil, err
	}
	quads := (s.OutC + 3) / 4
	p := &packedImpl{shape: s, quads: min(quads, 2), ty: 4}
	if c.MaxWorkGroup < 64 {
		p.ty = 1
	}
	if c.MaxWorkGroup < 16*p.ty {
		return nil, fmt.Errorf("conv: direct-packed needs work-groups of %d, the device allows %d; %s does", 16*p.ty, c.MaxWorkGroup, Simple{}.Name())
	}
	// As few groups along the channels as their size allows, evenly filled.
	blocks := (quads + p.quads - 1) / p.quads
	limit := max(min(4, min(c.MaxWorkGroup, 256)/(16*p.ty)), 1)
	groups := (blocks + limit - 1) / limit
	p.nk = (blocks + groups - 1) / groups
	// All kernel rows of the filters if they take at most 12 KiB, so that several
	// groups share a compute unit.
	patch := int64(64+s.K-1) * int64(2*p.ty+s.K-1) * 16
	row := int64(p.nk*p.quads*s.K) * 64
	p.rows = int(max(min(int64(s.K), min(12<<10, c.LocalMem-patch)/row), 1))
	if need := patch + row*int64(p.rows); need > c.LocalMem {
		return nil, fmt.Errorf("conv: direct-packed needs %d bytes of local memory, the device has %d; %s does", need, c.LocalMem, Simple{}.Name())
	}
	return p, nil
}

type packedImpl struct {
	shape Shape
	quads int // fours of output channels per work-item
	nk    int // work-items along the channels in a group
	ty    int // work-items along the rows in a group
	rows  int // kernel rows of filters in local memory at a time
}

func (p *packedImpl) Kernels() []Kernel {
	n := fmt.Sprintf("conv_packed_k%d_q%d_n%d_y%d_r%d", p.shape.K, p.quads, p.nk, p.ty, p.rows)
	return []Kernel{{n, define(packedCL, "NAME", n, "KS", p.shape.K, "QK", p.quads, "TY", p.ty, "NK", p.nk, "WR", p.rows)}}
}

// sourceQuads counts the blocks of four channels of all sources.
func (p *packedImpl) sourceQuads() int {
	n := 0
	for _, c := range p.shape.SrcC {
		n += (c + 3) / 4
	}
	return n
}

func (p *packedImpl) outQuads() int { return (p.shape.OutC + 3) / 4 }

func (p *packedImpl) biasAt() int { return p.outQuads() * p.sourceQuads() * p.shape.K * p.shape.K * 16 }

func (p *packedImpl) PackedLen() int { return p.biasAt() + 4*p.outQuads() }

func (p *packedImpl) Pack(weights, bias []float32) []float32 {
	out := make([]float32, p.PackedLen())
	kk, inC, sq := p.shape.K*p.shape.K, p.shape.InC(), p.sourceQuads()
	for o := range p.shape.OutC {
		c, quad := 0, 0
		for _, n := range p.shape.SrcC {
			for i := range n {
				to := ((o/4)*sq+quad+i/4)*kk*16 + i%4*4 + o%4
				from := (o*inC + c + i) * kk
				for t := range kk {
					out[to+16*t] = weights[from+t]
				}
			}
			c, quad = c+n, quad+(n+3)/4
		}
		out[p.biasAt()+o] = bias[o]
	}
	return out
}

func (p *packedImpl) Granule() int      { return 1 }
func (p *packedImpl) Scratch(int) int64 { return 0 }

func (p *packedImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	args := new(KernelArgs).Sources(a).Buffer(packed).Int(p.biasAt()).Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1, int(p.shape.Act)).Float(a.Slope)
	blocks := (p.outQuads() + p.quads - 1) / p.quads
	groups := (blocks + p.nk - 1) / p.nk
	global := []int{(a.Dst.W + 63) / 64 * 16, (a.Y1 - a.Y0 + 2*p.ty - 1) / (2 * p.ty) * p.ty, groups * p.nk}
	return args.Launch(q, k[0], global, []int{16, p.ty, p.nk})
}
