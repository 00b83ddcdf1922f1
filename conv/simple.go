package conv

import (
	_ "embed"
	"fmt"

	"enhance/clrt"
	"enhance/internal/planar"
)

//go:embed simple.cl
var simpleCL string

// Simple is the plain direct convolution that papers measure against: one
// work-item an output sample, nothing staged, nothing kept. It does every shape,
// kernels wider than the rim too, on any device, and sums in the order of Rows.
type Simple struct{}

// Name is "direct-naive".
func (Simple) Name() string { return "direct-naive" }

// New never fails for a shape that is one.
func (Simple) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return &simpleImpl{s, min(64, max(c.MaxWorkGroup, 1))}, nil
}

type simpleImpl struct {
	shape Shape
	items int // of a work-group, along a row
}

func (i *simpleImpl) Kernels() []Kernel {
	n := fmt.Sprintf("conv_simple_k%d", i.shape.K)
	return []Kernel{{n, define(simpleCL, "NAME", n, "KS", i.shape.K)}}
}

func (i *simpleImpl) weights() int { return i.shape.OutC * i.shape.InC() * i.shape.K * i.shape.K }

func (i *simpleImpl) PackedLen() int { return i.weights() + i.shape.OutC }

func (i *simpleImpl) Pack(weights, bias []float32) []float32 {
	return append(append(make([]float32, 0, i.PackedLen()), weights[:i.weights()]...), bias[:i.shape.OutC]...)
}

func (i *simpleImpl) Granule() int      { return 1 }
func (i *simpleImpl) Scratch(int) int64 { return 0 }

func (i *simpleImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *Args) error {
	args := new(KernelArgs).Sources(a).Buffer(packed).Int(i.weights()).Residual(a).Ring(a.Dst).Int(a.Y0, int(i.shape.Act)).Float(a.Slope)
	columns := (a.Dst.W + i.items - 1) / i.items * i.items
	return args.Launch(q, k[0], []int{columns, i.shape.OutC, a.Y1 - a.Y0}, []int{i.items, 1, 1})
}

// check refuses what is no convolution at all.
func (s Shape) check() error {
	if s.Window != nil {
		return fmt.Errorf("conv: a convolution that is not square or not of stride 1: %s does", Windowed{}.Name())
	}
	if s.Codes || s.Store {
		return fmt.Errorf("conv: a convolution of codes of 8 bits: %s does", DirectCodes{}.Name())
	}
	if s.Octets || s.OctetsOut {
		return fmt.Errorf("conv: a convolution of octets, which is for matrix units")
	}
	if s.Pairs || s.PairsOut || s.Split {
		return fmt.Errorf("conv: a convolution of pairs of bfloat16: %s does", DirectPairs{}.Name())
	}
	if s.K < 1 || s.OutC < 1 || s.H < 1 || s.W < 1 || len(s.SrcC) < 1 || len(s.SrcC) > MaxSources {
		return fmt.Errorf("conv: %d sources to %d channels of %dx%d by a kernel of side %d is no convolution", len(s.SrcC), s.OutC, s.H, s.W, s.K)
	}
	for _, c := range s.SrcC {
		if c < 1 {
			return fmt.Errorf("conv: a source of %d channels", c)
		}
	}
	return nil
}

// WithinRim refuses kernels that reach beyond the stored rim of a line.
func (s Shape) WithinRim(algo string) error {
	if err := s.check(); err != nil {
		return err
	}
	if s.K/2 > planar.Rim {
		return fmt.Errorf("conv: %s does kernels up to %dx%[2]d, not %dx%[3]d; %s does", algo, 2*planar.Rim+1, s.K, Simple{}.Name())
	}
	return nil
}
