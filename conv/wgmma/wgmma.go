// Package wgmma holds convolution on the warpgroup matrix units of NVIDIA's
// Hopper GPUs: implicit GEMM by wgmma instructions (wgmma.cl says how the work is
// laid out), which OpenCL's compiler does not know and clrt assembles late.
//
// [Probe] finds out whether a device has them, by computing something. Where it
// holds, [Algo] gives the algorithm and [Suits] says for which shapes it is the
// better choice. docs/wgmma.md has figures.
package wgmma

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"sync"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

// Algo is the convolution of activations stored as binary16 with weights rounded
// to it and sums in float32, which the units truncate, for devices that pass
// [Probe].
func Algo() conv.Algo { return algo{} }

// Suits reports whether the algorithm is expected to beat mma.sync's: with small
// kernels and few channels there is too little to do between fetches, and the units
// take 32 outputs at least.
func Suits(s conv.Shape) bool {
	least := 16
	if s.K == 5 && s.OutC <= 32 {
		least = 64
	}
	return s.K >= 5 && s.W > planar.Rim && s.InC() >= least && s.OutC > 24
}

type algo struct{ variant *variant } // nil: the one that suits the shape

func (algo) Name() string { return "wgmma" }

func (a algo) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	if !c.Warpgroup {
		return nil, errors.New("conv: wgmma needs the warpgroup matrix units of NVIDIA's Hopper GPUs")
	}
	if p != planar.FP16 {
		return nil, fmt.Errorf("conv: wgmma needs activations stored as %s, not %s", planar.FP16, p)
	}
	if s.K%2 == 0 || s.K/2 > planar.Rim {
		return nil, fmt.Errorf("conv: wgmma does odd kernels up to %dx%[1]d, not %dx%[2]d", 2*planar.Rim+1, s.K)
	}
	if s.W <= planar.Rim {
		return nil, fmt.Errorf("conv: wgmma does planes of more than %d columns, not %d", planar.Rim, s.W)
	}
	if s.Codes || s.Octets || s.OctetsOut || s.Pairs || s.PairsOut || s.Split || s.InC() < 1 || s.OutC < 1 || len(s.SrcC) > conv.MaxSources {
		return nil, fmt.Errorf("conv: wgmma: shape %v of %d sources is not a convolution", s, len(s.SrcC))
	}
	v := choose(s)
	if a.variant != nil {
		v = *a.variant
	}
	if v.block == 2 && (v.piece != 1 || v.slots < 3) {
		return nil, fmt.Errorf("conv: wgmma: there is no variant %s", v)
	}
	if n := v.localBytes(s.K) + formBytes; n > localMem {
		return nil, fmt.Errorf("conv: wgmma needs %d bytes of local memory, there are %d", n, localMem)
	}
	if group > c.MaxWorkGroup {
		return nil, fmt.Errorf("conv: wgmma needs work-groups of %d, the device allows %d", group, c.MaxWorkGroup)
	}
	return &impl{shape: s, variant: v, order: channelOrder(s.SrcC)}, nil
}

//go:embed instructions.cl
var instructionsCL string

//go:embed patch.cl
var patchCL string

//go:embed products.cl
var productsCL string

//go:embed sums.cl
var sumsCL string

//go:embed wgmma.cl
var mainCL string

// kernelCL is the text of a kernel, undefineCL what ends its macros: those of the
// next kernel are others. What a program has once is guarded by a macro with the
// package's prefix, which stays.
var (
	kernelCL   = patchCL + productsCL + sumsCL + mainCL
	undefineCL = sync.OnceValue(func() string { return undefine(kernelCL) })
)

func undefine(text string) string {
	var undef strings.Builder
	for _, name := range kerneltext.Macros(text) {
		if !strings.HasPrefix(name, "CONV_WGMMA_") {
			fmt.Fprintf(&undef, "#undef %s\n", name)
		}
	}
	return undef.String()
}

type impl struct {
	shape   conv.Shape
	variant variant
	order   []int // source channel of each of the stages' places, -1 for none
	sums    bool  // leaves statistics behind
	scaled  bool  // applies scales, then pre, to its source
	pre     fuse.Act
}

// maxScaled is how many channels a source may have whose norm is taken in: their
// scales are in local memory.
const maxScaled = 512

// formBytes is what forms take of local memory beside the plain convolution: scales, and
// statistics of parts of a tile.
const formBytes = maxScaled*8 + 256*8

// Scaled implements [conv.Scaling]. Small kernels of many outputs leave norms to a
// pass, as mma's do.
func (m *impl) Scaled(pre fuse.Act) conv.Impl {
	if m.shape.K <= 3 && m.shape.OutC > 32 {
		return nil
	}
	if len(m.shape.SrcC) != 1 || len(m.order) > maxScaled {
		return nil
	}
	s := *m
	s.scaled, s.pre = true, pre
	return &s
}

// Summed implements [conv.Summing].
func (m *impl) Summed() (conv.Impl, conv.StatsTile) {
	s := *m
	s.sums = true
	return &s, statsTile
}

// statsTile is as wide as the tile of a work-group, and as high or half as high.
var statsTile = conv.StatsTile{Rows: 16, Columns: tileW}

func (m *impl) name() string {
	name := fmt.Sprintf("conv_wgmma_k%d_%s_act%d", m.shape.K, m.variant, m.shape.Act)
	if m.scaled {
		name += fmt.Sprintf("_pre%d", m.pre)
	}
	if m.sums {
		name += "_sums"
	}
	return name
}

func (m *impl) Kernels() []conv.Kernel {
	v := m.variant
	flag := map[bool]int{true: 1}
	text := kerneltext.Define(kernelCL+undefineCL(), "NAME", m.name(), "KS", m.shape.K, "BLOCK", v.block, "BUFFERS", v.buffers,
		"PIECE", v.piece, "SLOTS", v.slots, "ACT", int(m.shape.Act), "SUMS", flag[m.sums], "SCALED", flag[m.scaled],
		"PRE", int(m.pre), "CHANNELS", maxScaled)
	return []conv.Kernel{{Name: m.name(), Source: instructionsCL + text}}
}

func (m *impl) Granule() int {
	if m.sums { // the tiles of statistics lie at multiples of their height in the plane
		return statsTile.Rows
	}
	return 1
}

func (m *impl) Scratch(rows int) int64 {
	if m.sums {
		return statsTile.Bytes(m.shape, rows)
	}
	return 0
}

func (m *impl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	args, global, local := m.launch(packed, a)
	return args.Launch(q, k[0], global, local)
}

// launch lists the kernel's arguments and sizes.
func (m *impl) launch(packed *clrt.Buffer, a *conv.Args) (args *conv.KernelArgs, global, local []int) {
	args = new(conv.KernelArgs).Sources(a).Buffer(packed).Int(m.stages(), m.biasAt()).Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1).Float(a.Slope)
	if m.sums {
		args.Buffer(a.Scratch)
	}
	if m.scaled {
		args.Ring(a.Scales).Float(a.PreSlope)
	}
	tiles := ceilDiv(a.Y1-a.Y0, m.variant.tileH())
	return args, []int{m.groups() * group, ceilDiv(a.Dst.W, tileW), tiles}, []int{group, 1, 1}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
