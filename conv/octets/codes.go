package octets

import (
	_ "embed"
	"errors"
	"fmt"
	"sync"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
	"enhance/model"
)

// Codes is the convolution of shapes with Codes and Octets ([conv.Integer]). Its sums are of integers, so that
// results are those of the definition to the bit, but for samples stored as binary16.
func Codes() conv.Algo { return codesAlgo{} }

// SuitsCodes reports whether the algorithm does a shape on devices that have its units.
func SuitsCodes(s conv.Shape) bool {
	_, err := codesAlgo{}.New(conv.Caps{Units: conv.Units{Warpgroup: true}, MaxWorkGroup: maxTeams * team}, s, planar.FP16)
	return err == nil
}

// SlopeSuits reports whether Codes has an activation with that slope.
func SlopeSuits(act fuse.Act, slope float32) bool {
	return act != fuse.LeakyReLU || slope >= 0 && slope <= 1
}

type codesAlgo struct{ variant *codesVariant } // nil: the one that suits the shape

func (a codesAlgo) Name() string {
	if a.variant != nil {
		return "octets-codes-" + a.variant.String()
	}
	return "octets-codes"
}

func (a codesAlgo) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	switch {
	case !s.Codes || !s.Octets || !s.OctetsOut || s.Store:
		return nil, errors.New("conv: octets-codes does convolutions of codes, of octets and to octets")
	case !c.Warpgroup:
		return nil, errors.New("conv: octets-codes needs the warpgroup matrix units of NVIDIA's Hopper GPUs")
	case p != planar.FP16:
		return nil, fmt.Errorf("conv: octets-codes needs activations stored as %s, not %s", planar.FP16, p)
	case s.Window != nil || len(s.SrcC) != 1 || s.InC() < 1 || s.OutC < 1:
		return nil, fmt.Errorf("conv: octets-codes: shape %v of %d sources is not a convolution of one tensor", s, len(s.SrcC))
	case s.K != 1 && s.K != 3:
		return nil, fmt.Errorf("conv: octets-codes does kernels of 1x1 and 3x3, not %dx%[1]d", s.K)
	case s.Act == fuse.PReLU:
		return nil, errors.New("conv: octets-codes does not have slopes of channels")
	case s.W <= planar.Rim:
		return nil, fmt.Errorf("conv: octets-codes does planes of more than %d columns, not %d", planar.Rim, s.W)
	}
	if in := s.Inner; in != nil {
		switch {
		case in.K != 1 && in.K != 3 || in.OutC < 1:
			return nil, fmt.Errorf("conv: octets-codes does kernels of 1x1 and 3x3, not %dx%[1]d", in.K)
		case in.Act != fuse.NoAct && in.Act != fuse.LeakyReLU:
			return nil, errors.New("conv: octets-codes has leaky ReLU between two convolutions, or nothing")
		case s.Pad == model.PadEdge:
			return nil, errors.New("conv: octets-codes does not repeat edges between two convolutions")
		}
	}
	m := &codesImpl{shape: s, cores: max(c.Cores, 1)}
	m.variant = m.choose(c.MaxWorkGroup / team)
	if a.variant != nil {
		m.variant = *a.variant
	}
	if m.variant.teams < 1 || m.localBytes() > localMem {
		return nil, fmt.Errorf("conv: octets-codes: the weights and codes of %v need more registers or local memory than a work-group has", s)
	}
	if n := m.variant.teams * team; n > c.MaxWorkGroup {
		return nil, fmt.Errorf("conv: octets-codes needs work-groups of %d, the device allows %d", n, c.MaxWorkGroup)
	}
	return m, nil
}

//go:embed codes.cl
var codesMainCL string

//go:embed codesstore.cl
var codesStoreCL string

var codesKernelCL = sync.OnceValue(func() string { return ended(codesStoreCL + codesMainCL) })

type codesImpl struct {
	shape   conv.Shape
	variant codesVariant
	cores   int
}

func (m *codesImpl) name() string {
	s, inner := m.shape, ""
	if in := s.Inner; in != nil {
		inner = fmt.Sprintf("_k%d_n%d_act%d", in.K, m.innerOuts(), in.Act)
	}
	return fmt.Sprintf("conv_octets_codes_c%d%s_k%d_act%d_%s_%d", planar.Octets(s.InC()), inner, s.K, s.Act, m.variant, b2i(s.OutC%(octetWide*m.variant.outs) != 0))
}

func (m *codesImpl) Kernels() []conv.Kernel {
	s := m.shape
	defs := []any{"NAME", m.name(), "TEAMS", m.variant.teams, "OCTETS", planar.Octets(s.InC()), "ACT", int(s.Act),
		"RAGGED", b2i(s.OutC%(octetWide*m.variant.outs) != 0), "KO", s.K, "GO", groupsOf(m.outerIn()), "NO", m.variant.outs}
	if in := s.Inner; in != nil {
		defs = append(defs, "BLOCK", 1, "KI", in.K, "GI", groupsOf(s.InC()), "NI", m.innerOuts(), "ACT_INNER", int(in.Act))
	} else {
		defs = append(defs, "BLOCK", 0, "KI", 1, "GI", 1, "NI", 0)
	}
	return []conv.Kernel{{Name: m.name(), Source: planar.OctetsSource() + codesInstructionsCL() + copiesCL + kerneltext.Define(codesKernelCL(), defs...)}}
}

func (m *codesImpl) Granule() int      { return 1 }
func (m *codesImpl) Scratch(int) int64 { return 0 }

func (m *codesImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	args, global, local := m.launch(packed, a)
	return args.Launch(q, k[0], global, local)
}

// launch lists the kernel's arguments and sizes.
func (m *codesImpl) launch(packed *clrt.Buffer, a *conv.Args) (args *conv.KernelArgs, global, local []int) {
	workers := max(m.cores/m.groups(), 1)
	rows := m.stripRows(a.Y1-a.Y0, workers*m.variant.teams)
	args = new(conv.KernelArgs).Ring(a.Src[0]).Buffer(packed).Int(m.groups(), m.shape.OutC).Residual(a).Ring(a.Dst).Int(a.Y0, a.Y1, rows).
		Float(a.Slope).Float(a.Zero.Inverse).Float(float32(a.Zero.Zero)).Float(a.InnerSlope).Float(a.Between.Inverse).Float(float32(a.Between.Zero))
	tiles := m.across() * ceilDiv(a.Y1-a.Y0, rows)
	return args, []int{min(ceilDiv(tiles, m.variant.teams), workers) * m.groups() * m.variant.teams * team}, []int{m.variant.teams * team}
}
