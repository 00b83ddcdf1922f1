package kernelcheck

import (
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// testCase is a network of one operation and how to run it.
type testCase struct {
	kernel string // what is tested, for the report
	arith  conv.Arithmetic
	graph  *model.Graph
	h, w   int
	algo   conv.Algo // nil: none in the network, or the plain one
	// inexact says that an algorithm computes sums in another way than term by term in
	// float32.
	inexact bool
	octets  bool // activations are octets; what cannot be is planes, convolved by the plain algorithm
}

// chosen is the algorithm for a convolution of the network.
func (c *testCase) chosen(s conv.Shape) conv.Algo {
	if c.octets && !s.Octets {
		return conv.Simple{}
	}
	return c.algo
}

// operations are networks for what is no convolution. Their names are those of package
// model's operations. Sides are odd where nothing is pooled.
func operations(a conv.Arithmetic) (all []testCase, err error) {
	add := func(name string, c, h, w int, build func(b *model.Builder) int) {
		b := model.NewBuilder(c)
		g, gerr := b.Graph(build(b))
		if gerr != nil && err == nil {
			err = fmt.Errorf("kernelcheck: the network for %s: %w", name, gerr)
		}
		all = append(all, testCase{kernel: name, arith: a, graph: g, h: h, w: w, algo: conv.Simple{}})
	}
	const slope, eps = 0.2, 1e-5
	add("activation", 5, 13, 37, func(b *model.Builder) int { return b.LeakyReLU("leaky", 0, slope) })
	add("sigmoid", 3, 13, 37, func(b *model.Builder) int { return b.Sigmoid("sigmoid", 0) })
	add("sum", 5, 13, 37, func(b *model.Builder) int { return b.Add("sum", b.LeakyReLU("leaky", 0, slope), 0) })
	add("concatenation", 3, 13, 37, func(b *model.Builder) int {
		x := b.Sigmoid("sigmoid", 0)
		return b.Concat("cat", x, 0, b.LeakyReLU("leaky", 0, slope), x)
	})
	add("max pool", 5, 14, 38, func(b *model.Builder) int { return b.MaxPool("pool", 0) })
	add("upsample", 5, 13, 37, func(b *model.Builder) int { return b.Upsample("up", 0, false) })
	add("upsample, corners aligned", 5, 13, 37, func(b *model.Builder) int { return b.Upsample("up", 0, true) })
	add("upsample and sum", 5, 12, 36, func(b *model.Builder) int {
		return b.Add("sum", b.Upsample("up", b.MaxPool("pool", 0), false), 0)
	})
	add("pixel shuffle", 12, 13, 37, func(b *model.Builder) int { return b.PixelShuffle("shuffle", 0) })
	add("instance norm", 7, 13, 37, func(b *model.Builder) int {
		return b.LeakyReLU("leaky", b.InstanceNorm("norm", "norm", 0, eps), slope)
	})
	add("convolutions and norms", 4, 15, 33, func(b *model.Builder) int {
		x := b.Conv("first", "first", 0, 6, 3)
		y := b.LeakyReLU("leaky", b.InstanceNorm("norm", "norm", x, eps), slope)
		return b.Add("sum", b.InstanceNorm("norm2", "norm2", b.Conv("second", "second", y, 6, 1), eps), x)
	})
	return all, err
}

// The packed sides of a photo that convolutions are chosen for, and those of its stand-in: several
// vectors and tiles wide, and no multiple of either.
const (
	photoH, photoW = 750, 500
	smallH, smallW = 19, 67
)

// convolutions are networks for the convolutions of a model as a device would compute
// them: one for each algorithm and side of kernel.
func convolutions(m *model.Model, info *clrt.DeviceInfo, a conv.Arithmetic, units conv.Units) ([]testCase, error) {
	h, w := m.Convention.PaddedSides(photoH, photoW)
	job, err := exec.Prepare(m, h, w, info, exec.Options{Precision: a.Precision, TF32: a.TF32, Units: units})
	if err != nil {
		return nil, err
	}
	var all []testCase
	seen := map[string]bool{}
	for i := range job.Program.Steps {
		s := &job.Program.Steps[i]
		if s.Kind != fuse.Conv || s.Integer() { // sums of integers are right to the bit or not at all: see conv/octets and conv/mma
			continue
		}
		shape := exec.ShapeOf(job.Program, s)
		name := fmt.Sprintf("%s %dx%[2]d", job.Algo(i), shape.K)
		if shape.Octets && !shape.OctetsOut {
			name += " to planes"
		}
		if seen[name] {
			continue
		}
		seen[name] = true
		spec, err := exec.ParseAlgos(job.Algo(i))
		if err != nil {
			return nil, err
		}
		g, err := convolution(shape)
		if shape.Octets {
			g, err = octetConvolution(shape)
		}
		if err != nil {
			return nil, err
		}
		algo := spec.Algo("conv", shape)
		all = append(all, testCase{kernel: name, arith: a, graph: g, h: smallH, w: smallW, algo: algo, octets: shape.Octets,
			inexact: algo.Name() != conv.Direct(conv.CapsOf(info)).Name() && algo.Name() != conv.Simple{}.Name()})
	}
	return all, nil
}

// convolution is a network of a convolution with the channels, sources and activation of
// a shape, and with a residual where the channels allow it.
func convolution(s conv.Shape) (*model.Graph, error) {
	in, first := s.InC(), 0
	halves := len(s.SrcC) > 1 && in%2 == 0
	if halves {
		in /= 2
	}
	b := model.NewBuilder(in)
	if halves {
		first = b.Concat("cat", 0, b.LeakyReLU("other", 0, 0.5))
	}
	x := b.Conv("conv", "conv", first, s.OutC, s.K)
	switch s.Act {
	case fuse.LeakyReLU:
		x = b.LeakyReLU("act", x, 0.2)
	case fuse.Sigmoid:
		x = b.Sigmoid("act", x)
	}
	if s.OutC == in {
		x = b.Add("residual", x, 0)
	}
	return b.Graph(x)
}

// arithmetics are those that a device offers.
func arithmetics(matrix bool) []conv.Arithmetic {
	all := []conv.Arithmetic{{}, {Precision: planar.FP16}}
	if matrix {
		all = append(all, conv.Arithmetic{TF32: true})
	}
	return all
}
