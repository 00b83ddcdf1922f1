// Package mma holds convolution on the matrix units of NVIDIA GPUs: implicit
// GEMM by mma.sync instructions in inline PTX, which NVIDIA's OpenCL compiler
// takes (mma.cl says how the work is laid out).
//
// [Probe] finds out whether a device has them, by computing something. Where it
// holds, [Algo] gives the algorithm in one of three precisions and [Suits] says
// for which shapes it is the better choice. docs/mma.md has figures.
//
// All three accumulate in float32, but the units truncate where float32
// arithmetic rounds, so that sums of n products are off by up to n units in the
// last place.
package mma

import (
	_ "embed"
	"fmt"
	"sync"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

// Precision is how factors enter the products.
type Precision uint8

const (
	// FP16 takes activations stored as binary16 and rounds weights to it.
	FP16 Precision = iota
	// TF32 takes float32 activations and rounds them and the weights to the 11
	// significant bits of tf32.
	TF32
	// FP32 takes float32 activations and splits them and the weights into two
	// tf32 parts each; of the four products the smallest is left out. Factors so
	// keep 21 bits at least.
	FP32
)

func (p Precision) String() string { return [...]string{"fp16", "tf32", "fp32"}[p] }

// Storage is how activations must be stored.
func (p Precision) Storage() planar.Precision {
	if p == FP16 {
		return planar.FP16
	}
	return planar.FP32
}

// chunk is how many channels of one source are together in local memory. A
// stage is two chunks, what one matrix product takes.
func (p Precision) chunk() int {
	if p == FP16 {
		return 8
	}
	return 4
}

// parts is how many words stand for a weight.
func (p Precision) parts() int {
	if p == FP32 {
		return 2
	}
	return 1
}

// Algo is the convolution in precision p, for devices that pass [Probe].
func Algo(p Precision) conv.Algo { return algo{precision: p} }

// Suits reports whether the algorithm is expected to beat direct convolution.
func Suits(s conv.Shape) bool { return s.W > planar.Rim && s.InC() >= 3 }

type algo struct {
	precision Precision
	variant   *variant // nil: the one that suits the shape
}

func (a algo) Name() string {
	name := [...]string{"mma", "mma-tf32", "mma-3xtf32"}[a.precision]
	if a.variant != nil {
		name += "-" + a.variant.String()
	}
	return name
}

func (a algo) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	if !c.Matrix {
		return nil, fmt.Errorf("conv: %s needs matrix units, as NVIDIA GPUs have", a.Name())
	}
	if p != a.precision.Storage() {
		return nil, fmt.Errorf("conv: %s needs activations stored as %s, not %s", a.Name(), a.precision.Storage(), p)
	}
	if s.K%2 == 0 || s.K/2 > planar.Rim {
		return nil, fmt.Errorf("conv: %s does odd kernels up to %dx%[2]d, not %dx%[3]d", a.Name(), 2*planar.Rim+1, s.K)
	}
	if s.W <= planar.Rim {
		return nil, fmt.Errorf("conv: %s does planes of more than %d columns, not %d", a.Name(), planar.Rim, s.W)
	}
	if s.Codes || s.Octets || s.OctetsOut || s.Pairs || s.PairsOut || s.Split || s.InC() < 1 || s.OutC < 1 || len(s.SrcC) > conv.MaxSources {
		return nil, fmt.Errorf("conv: %s: shape %v of %d sources is not a convolution", a.Name(), s, len(s.SrcC))
	}
	v := choose(a.precision, s, c.LocalMem)
	if a.variant != nil {
		v = *a.variant
	}
	m := &impl{precision: a.precision, shape: s, variant: v, order: channelOrder(s.SrcC, a.precision.chunk()), localMem: c.LocalMem}
	if v.ahead == 1 && (v.piece != s.K*s.K || v.slots != 2) {
		return nil, fmt.Errorf("conv: %s copies %d taps ahead, of a kernel of %dx%[3]d", a.Name(), v.piece, s.K)
	}
	if n := v.localBytes(a.precision, s.K); n > most(v, c.LocalMem) {
		return nil, fmt.Errorf("conv: %s needs %d bytes of local memory, there are %d", a.Name(), n, most(v, c.LocalMem))
	}
	if v.group() > c.MaxWorkGroup {
		return nil, fmt.Errorf("conv: %s needs work-groups of %d, the device allows %d", a.Name(), v.group(), c.MaxWorkGroup)
	}
	return m, nil
}

//go:embed patch.cl
var patchCL string

//go:embed weights.cl
var weightsCL string

//go:embed moments.cl
var momentsCL string

//go:embed mma.cl
var mmaCL string

//go:embed common.cl
var commonCL string

//go:embed instructions.cl
var instructionsCL string

type impl struct {
	precision Precision
	shape     conv.Shape
	variant   variant
	order     []int // source channel of each of the stages' places, -1 for none
	sums      bool  // leaves statistics behind
	scaled    bool  // applies scales, then pre, to its source
	pre       fuse.Act
	localMem  int64 // of the device
}

// Scaled implements [conv.Scaling]. Small kernels of many outputs, which do little
// with what they fetch and fetch it once for every work-group of outputs, lose more
// by it than a pass of its own takes (docs/mma.md).
func (m *impl) Scaled(pre fuse.Act) conv.Impl {
	if m.shape.K <= 3 && m.shape.OutC > 32 || len(m.shape.SrcC) != 1 ||
		m.variant.localBytes(m.precision, m.shape.K)+8*int64(tableOf(len(m.order))) > most(m.variant, m.localMem) {
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
	return &s, m.statsTile()
}

// statsTile is a work-group's tile.
func (m *impl) statsTile() conv.StatsTile {
	return conv.StatsTile{Rows: m.variant.tileH(), Columns: tileW}
}

// tileW is the width of a tile in columns.
const tileW = 32

func (m *impl) name() string {
	v := m.variant
	name := fmt.Sprintf("conv_mma_%s_k%d_m%dx%d_r%dx%d_w%dx%d_a%d_act%d", m.precision, m.shape.K, v.mt, v.wo, v.rows, v.wr, v.piece, v.slots, v.ahead, m.shape.Act)
	if m.scaled {
		name += fmt.Sprintf("_pre%d_c%d", m.pre, m.table())
	}
	if m.sums {
		name += "_sums"
	}
	return name
}

// table is for how many places for channels a kernel has scales in local memory.
func (m *impl) table() int {
	if !m.scaled {
		return 0
	}
	return tableOf(len(m.order))
}

// tableOf is that for n places: one of few sizes, so that layers share kernels.
func tableOf(n int) int {
	if n <= 128 {
		return 128
	}
	return ceilDiv(n, 512) * 512
}

func (m *impl) Kernels() []conv.Kernel {
	v := m.variant
	flag := map[bool]int{true: 1}
	text := kerneltext.Define(kernelCL, "NAME", m.name(), "KS", m.shape.K, "MODE", int(m.precision), "MT", v.mt, "WO", v.wo, "WR", v.wr, "ROWS", v.rows,
		"PIECE", v.piece, "SLOTS", v.slots, "AHEAD", v.ahead, "ACT", int(m.shape.Act), "SUMS", flag[m.sums], "SCALED", flag[m.scaled], "PRE", int(m.pre), "CHANNELS", m.table())
	return []conv.Kernel{{Name: m.name(), Source: instructionsCL + commonCL + text + kernelUndefs()}}
}

// kernelCL is what is compiled anew for every kernel of a program.
var kernelCL = patchCL + weightsCL + momentsCL + mmaCL

var kernelUndefs = sync.OnceValue(func() string { return undefs(kernelCL) })

// undefs removes the macros that a text defines.
func undefs(text string) string { return kerneltext.Undefine(kerneltext.Macros(text)) }

func (m *impl) Granule() int {
	if m.sums { // tiles of statistics lie where they lie in the plane
		return m.statsTile().Rows
	}
	return 1
}

func (m *impl) Scratch(rows int) int64 {
	if m.sums {
		return m.statsTile().Bytes(m.shape, rows)
	}
	return 0
}

func (m *impl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	args, global, local := m.launch(packed, a)
	return args.Launch(q, k[0], global, local)
}

// launch lists the kernel's arguments and sizes.
func (m *impl) launch(packed *clrt.Buffer, a *conv.Args) (args *conv.KernelArgs, global, local []int) {
	v := m.variant
	tiles, across := ceilDiv(a.Y1-a.Y0, v.tileH()), ceilDiv(a.Dst.W, tileW)
	args = new(conv.KernelArgs).Sources(a).Buffer(packed).Int(m.stages(), m.biasAt()).Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1).Float(a.Slope)
	if m.sums {
		args.Buffer(a.Scratch)
	}
	if m.scaled {
		args.Ring(a.Scales).Float(a.PreSlope)
	}
	return args, []int{m.groups() * v.group(), across, tiles}, []int{v.group(), 1, 1}
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }
