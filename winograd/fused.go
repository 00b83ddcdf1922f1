package winograd

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/kerneltext"
)

//go:embed fused.cl.tmpl
var fusedText string

var fusedTemplate = kerneltext.NewTemplate("fused", fusedText, templateFuncs)

// fused computes what tiled computes, in the same order of channels, for blocks of
// 8×4 tiles and bk output channels at a time, without V and M in global memory.
type fused struct {
	t     *compiled
	algo  string
	shape conv.Shape
	bk    int // output channels of a work-group
	cc    int // input channels at a time
	share int // output channels that meet in local memory at a time

	rounds int // products of a work-item
}

const (
	fusedTilesX = 8
	fusedTilesY = 4
)

// newFused refuses variants of more products than a work-group can keep sums of.
func newFused(c Convolution, t *compiled, caps conv.Caps, s conv.Shape) (conv.Impl, error) {
	if t.variant != V2x3 && t.variant != V4x3 {
		return nil, fmt.Errorf("%s: the sums of %d products do not fit registers; the fused form does %s and %s, or use the tiled form", c.Name(), t.N*t.N, V2x3, V4x3)
	}
	f := &fused{t: t, algo: c.Name(), shape: s, bk: 64, cc: 4, share: 8, rounds: 2}
	if t.variant == V4x3 {
		// 144 work-items of 128 sums each. Twice as many get 168 registers on
		// NVIDIA, and spill (TestNoSpills in package exec).
		f.bk = 16
	}
	if g := c.Groups; g != (Groups{}) {
		f.bk, f.rounds, f.cc = g.Outputs, g.Each, g.Stage
		if f.products()%f.rounds != 0 {
			return nil, fmt.Errorf("%s: %d products do not divide among work-items by %d", f.algo, f.products(), f.rounds)
		}
	}
	if n := f.threads(); n > caps.MaxWorkGroup {
		return nil, fmt.Errorf("%s needs work-groups of %d, the device allows %d", f.algo, n, caps.MaxWorkGroup)
	}
	if int64(f.local()) > caps.LocalMem {
		f.share = 4 // leaves more of the group idle at the end
	}
	if n := int64(f.local()); n > caps.LocalMem {
		return nil, fmt.Errorf("%s needs %d bytes of local memory, the device has %d", f.algo, n, caps.LocalMem)
	}
	return f, nil
}

func (f *fused) products() int { return f.t.N * f.t.N }

// lanes is the number of work-items that share a product.
func (f *fused) lanes() int { return f.bk / 8 * fusedTilesX * fusedTilesY / 8 }

func (f *fused) threads() int { return f.products() * f.lanes() / f.rounds }

// patch is the layout of the samples in local memory: lines, vectors of a line,
// distance of phases and of lines. Tile rows are 8 banks apart, so that the 32 tiles
// of a read fall on different banks.
func (f *fused) patch() (h, quads, phase, pitch int) {
	m := f.t.M
	h = fusedTilesY*m + f.t.R - 1
	quads = ceilDiv(4-f.t.R/2+fusedTilesX*m+f.t.R-1, 4)
	phase = ceilDiv(quads*4, m)
	for pitch = phase * m; pitch*m%32 != 8; pitch++ {
	}
	return
}

// local is the local memory of a work-group in bytes.
func (f *fused) local() int {
	h, _, _, pitch := f.patch()
	return 4 * max(f.cc*f.products()*32+ceilDiv(f.cc*h*pitch, 4)*4, f.products()*f.share*32)
}

func (f *fused) Kernels() []conv.Kernel {
	n := fmt.Sprintf("wino_fused_%s_%d_b%dr%di%d", f.t.variant, f.share, f.bk, f.rounds, f.cc)
	h, quads, phase, pitch := f.patch()
	return []conv.Kernel{render(fusedTemplate, n, map[string]any{
		"N": f.t.N, "M": f.t.M, "T": f.t.T(), "R": f.t.R, "BK": f.bk, "CC": f.cc, "Lanes": f.lanes(), "Threads": f.threads(),
		"Rounds": f.rounds, "Step": f.products() / f.rounds, "Local": f.local(), "Share": f.share,
		"PatchH": h, "Quads": quads, "Phase": phase, "PatchW": pitch, "Lead": 4 - f.t.R/2,
	}, emitter(f.t.input, n+"_bt", "float"), emitter(f.t.output, n+"_at", "float"))}
}

func (f *fused) blocksK() int   { return ceilDiv(f.shape.OutC, f.bk) }
func (f *fused) biasAt() int    { return f.blocksK() * f.shape.InC() * f.products() * f.bk }
func (f *fused) PackedLen() int { return f.biasAt() + f.shape.OutC }

// Pack lays out U as [block of bk][c][p][bk] and then the bias.
func (f *fused) Pack(weights, bias []float32) []float32 {
	c, k := f.shape.InC(), f.shape.OutC
	u := f.t.pack(weights, k, c)
	out := make([]float32, f.PackedLen())
	for p := range f.products() {
		for ic := range c {
			for ik := range k {
				out[((ik/f.bk*c+ic)*f.products()+p)*f.bk+ik%f.bk] = u[(p*c+ic)*k+ik]
			}
		}
	}
	copy(out[f.biasAt():], bias[:k])
	return out
}

func (f *fused) Granule() int      { return f.t.M }
func (f *fused) Scratch(int) int64 { return 0 }

func (f *fused) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	m := f.t.M
	if err := checkRows(f.algo, a, m); err != nil {
		return err
	}
	args := new(conv.KernelArgs).Sources(a).Buffer(packed).Int(f.biasAt()).Residual(a).Ring(a.Dst).Int(a.Y0/m, a.Y1, int(f.shape.Act)).Float(a.Slope)
	global := []int{ceilDiv(f.shape.W, m*fusedTilesX) * f.threads(), ceilDiv(a.Y1-a.Y0, m*fusedTilesY), f.blocksK()}
	return args.Launch(q, k[0], global, []int{f.threads(), 1, 1})
}
