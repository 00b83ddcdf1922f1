// Package octets holds convolution of rows of octets (see package planar) on the matrix units of NVIDIA GPUs. octets.cl
// says how the work is laid out where weights stay in local memory, stream.cl where they pass through.
package octets

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

// Algo is the convolution of activations stored as binary16 with weights rounded to it and sums
// in float32, which the units truncate.
func Algo() conv.Algo { return algo{} }

type algo struct {
	variant *variant    // nil: the one that suits the shape
	form    *streamForm // of weights that pass through local memory, nil: where that suits the shape
}

func (a algo) Name() string {
	if a.variant != nil {
		return "octets-" + a.variant.String()
	}
	if a.form != nil {
		return "octets-" + a.form.String()
	}
	return "octets"
}

func (a algo) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	if !s.Octets {
		return nil, errors.New("conv: octets does sources of octets")
	}
	if !c.Warpgroup {
		return nil, errors.New("conv: octets needs the warpgroup matrix units of NVIDIA's Hopper GPUs")
	}
	if p != planar.FP16 {
		return nil, fmt.Errorf("conv: octets needs activations stored as %s, not %s", planar.FP16, p)
	}
	if s.K%2 == 0 || s.K/2 > planar.Rim {
		return nil, fmt.Errorf("conv: octets does odd kernels up to %dx%[1]d, not %dx%[2]d", 2*planar.Rim+1, s.K)
	}
	if s.Codes || s.Store || s.Pairs || s.PairsOut || s.Split || s.InC() < 1 || s.OutC < 1 || len(s.SrcC) > conv.MaxSources {
		return nil, fmt.Errorf("conv: octets: shape %v of %d sources is not a convolution", s, len(s.SrcC))
	}
	for _, c := range s.SrcC[:len(s.SrcC)-1] {
		if c%8 != 0 {
			return nil, fmt.Errorf("conv: octets: a source before the last has %d channels, no multiple of 8", c)
		}
	}
	m := &impl{shape: s, variant: choose(s), order: octetOrder(s.SrcC), cores: max(c.Cores, 1)}
	if f := a.streams(m); f != nil {
		if n := team * f.teams; n > c.MaxWorkGroup {
			return nil, fmt.Errorf("conv: octets needs work-groups of %d, the device allows %d", n, c.MaxWorkGroup)
		}
		return newStream(m, *f)
	}
	if a.variant != nil {
		m.variant = *a.variant
	}
	v := m.variant
	if !v.sane() {
		return nil, fmt.Errorf("conv: octets: there is no variant %s", v)
	}
	if n := v.localBytes(s.K, m.stages()); n > localMem {
		return nil, fmt.Errorf("conv: octets needs %d bytes of local memory for %s, there are %d", n, v, localMem)
	}
	if v.group() > c.MaxWorkGroup {
		return nil, fmt.Errorf("conv: octets needs work-groups of %d, the device allows %d", v.group(), c.MaxWorkGroup)
	}
	if a.variant == nil && v.os == 2 && len(m.order)%2 == 0 && s.K > 1 && chooseStream(s, m.cores).nt > 0 {
		return even{m}, nil
	}
	return m, nil
}

// streams is the form of weights that pass through local memory, nil if they stay there.
func (a algo) streams(m *impl) *streamForm {
	if a.form == nil && a.variant == nil && !stays(m.shape) && streams(m.shape) {
		f := chooseStream(m.shape, m.cores)
		return &f
	}
	return a.form
}

// localMem is the local memory that a work-group of Hopper GPUs can have, less 128 bytes that the assembler
// takes, and as much again.
const localMem = 227<<10 - 256

//go:embed octets.cl
var mainCL string

//go:embed patch.cl
var patchCL string

//go:embed store.cl
var storeCL string

//go:embed stream.cl
var streamCL string

//go:embed moments.cl
var momentsCL string

//go:embed copies.cl
var copiesCL string

var (
	kernelCL   = sync.OnceValue(func() string { return ended(copiesCL + storeCL + patchCL + mainCL) })
	streamedCL = sync.OnceValue(func() string { return ended(copiesCL + storeCL + momentsCL + patchCL + streamCL) })
)

// ended is a kernel's text with what ends its macros: those of the next kernel are others.
func ended(text string) string {
	own := slices.DeleteFunc(kerneltext.Macros(text), func(name string) bool { return strings.HasPrefix(name, "OCTETS_") })
	return text + kerneltext.Undefine(own)
}

type impl struct {
	shape   conv.Shape
	variant variant
	order   [][2]int // octets of the sources: first channel, channels
	cores   int
}

func (m *impl) name() string {
	s := m.shape
	return fmt.Sprintf("conv_octets_k%d_%s_act%d_%d%d%d", s.K, m.variant.compiled(), m.act(), m.residuals(), b2i(s.OutC%8 != 0), b2i(!s.OctetsOut))
}

// act is the activation that the kernel is compiled for: none is leaky ReLU by 1, to the bit.
func (m *impl) act() fuse.Act {
	if m.shape.Act == fuse.NoAct {
		return fuse.LeakyReLU
	}
	return m.shape.Act
}

// residuals is where kernels add a residual: 1 before everything, 2 after the activation. Where there is none
// they are those that begin with one.
func (m *impl) residuals() int {
	if m.shape.Act == fuse.NoAct || m.shape.ResFirst || m.shape.NoResidual {
		return 1
	}
	return 2
}

// even is an impl that adds up in the order of a stream, which is its form beside norms.
type even struct{ *impl }

// Scaled implements [conv.Scaling].
func (m even) Scaled(pre fuse.Act) conv.Impl {
	s, err := newStream(m.impl, chooseStream(m.shape, m.cores))
	if err != nil {
		return nil
	}
	return s.Scaled(pre)
}

// Summed implements [conv.Summing].
func (m even) Summed() (conv.Impl, conv.StatsTile) {
	s, err := newStream(m.impl, chooseStream(m.shape, m.cores))
	if err != nil {
		panic(err) // New has found a form
	}
	return s.Summed()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (m *impl) Kernels() []conv.Kernel {
	v, s := m.variant, m.shape
	text := kerneltext.Define(kernelCL(), "NAME", m.name(), "END_NAME", m.name()+"_end", "KS", s.K, "NT", v.nt, "R", v.r, "TEAMS", v.teams, "OS", v.os,
		"LOCAL_BYTES", localMem, "ACT", int(m.act()), "RESIDUALS", m.residuals(), "RAGGED", b2i(s.OutC%8 != 0), "PLANAR", b2i(!s.OctetsOut))
	return []conv.Kernel{{Name: m.name(), Source: planar.OctetsSource() + instructionsCL() + text}}
}

func (m *impl) Granule() int      { return 1 }
func (m *impl) Scratch(int) int64 { return 0 }

func (m *impl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	args, global, local := m.launch(packed, a)
	return args.Launch(q, k[0], global, local)
}

// arguments lists those that all kernels have.
func (m *impl) arguments(packed *clrt.Buffer, a *conv.Args, slope float32, slots ...int) *conv.KernelArgs {
	args := new(conv.KernelArgs).Sources(a).Buffer(packed).Int(m.groups(), m.biasAt(), m.zerosAt(), m.shape.OutC, m.stages()).Int(slots...)
	return args.Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1).Float(slope)
}

// launch lists the kernel's arguments and sizes.
func (m *impl) launch(packed *clrt.Buffer, a *conv.Args) (args *conv.KernelArgs, global, local []int) {
	v := m.variant
	slope := a.Slope
	if m.shape.Act == fuse.NoAct {
		slope = 1
	}
	args = m.arguments(packed, a, slope, v.slots)
	tiles := ceilDiv(a.Y1-a.Y0, v.r) * ceilDiv(a.Dst.W, tileW)
	workers := min(ceilDiv(tiles, v.teams), max(m.cores/m.groups(), 1))
	return args, []int{workers * m.groups() * v.group()}, []int{v.group()}
}

// Shared counts tiles that all teams compute while one has its last.
func (m *impl) Shared(rows int) float64 {
	across := ceilDiv(max(m.shape.W, 1), tileW)
	tiles, teams := across*ceilDiv(rows, m.variant.r), max(m.cores/m.groups(), 1)*m.variant.teams
	return float64(ceilDiv(tiles, teams)*teams*m.variant.r) / float64(across)
}
