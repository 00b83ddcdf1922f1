package convtest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// RunOctetCodes tests that an algorithm computes convolutions of codes that it makes of octets (Shape.Codes and
// Octets), alone or behind an inner one, to the bit as package model defines them, with residual and
// activation, of and into rings somewhere in larger buffers, whichever way rows are divided into launches, and
// that it writes nothing else.
func RunOctetCodes(t *testing.T, c CodesConfig) {
	runIntegers(t, c, planar.FP16, newOctetCodesTrial)
}

// AnyOctetCodes draws convolutions of codes made of octets, two behind each other in half of the cases.
func AnyOctetCodes(rng *rand.Rand) conv.Shape {
	channels := func() int {
		if rng.IntN(2) == 0 {
			return []int{24, 48, 64, 96}[rng.IntN(4)]
		}
		return 1 + rng.IntN(70)
	}
	s := conv.Shape{K: 1 + 2*rng.IntN(2), SrcC: []int{channels()}, OutC: channels(), H: 1 + rng.IntN(40), W: 5 + rng.IntN(200),
		Act: fuse.Act(rng.IntN(2)), Codes: true, Octets: true, OctetsOut: true}
	if rng.IntN(2) == 0 {
		s.SrcC[0], s.OutC = 1+rng.IntN(64), 1+rng.IntN(64)
		s.Inner = &conv.Inner{K: 1 + 2*rng.IntN(2), OutC: 1 + rng.IntN(64), Act: fuse.Act(rng.IntN(2))}
	}
	return s
}

type octetCodesTrial struct {
	integerTrial
	src              *Plane
	inner            float32    // slope of the inner one
	source, between  model.Node // what makes codes
	want             *Plane
	first, betweenIs conv.Quantizer
}

func newOctetCodesTrial(b *Bench, c CodesConfig, seed uint64) *octetCodesTrial {
	rng := rand.New(rand.NewPCG(seed, 13))
	k := &octetCodesTrial{integerTrial: integerTrial{Bench: b, shape: c.Draw(rng), slope: float32(rng.IntN(3)) / 8}, inner: float32(rng.IntN(3)) / 8}
	s := &k.shape
	k.made(c, planar.FP16, seed)
	old := b.Rng
	b.Rng = rng
	defer func() { b.Rng = old }()
	k.src = b.Random(s.InC(), s.H, s.W)
	k.source = model.Node{Op: model.OpQuantize, Step: 0.007 * (1 + rng.Float32()), Zero: rng.IntN(256)}
	k.first = conv.Quantizer{Inverse: k.source.Inverse(), Zero: k.source.Zero}
	outerIn, zero := s.InC(), k.source.Zero
	var inner *conv.IntegerWeights
	if in := s.Inner; in != nil {
		k.between = model.Node{Op: model.OpQuantize, Step: 0.01 * (1 + rng.Float32()), Zero: rng.IntN(256)}
		k.betweenIs = conv.Quantizer{Inverse: k.between.Inverse(), Zero: k.between.Zero}
		inner = integers(rng, in.OutC, s.InC()*in.K*in.K, k.source.Zero)
		outerIn, zero = in.OutC, k.between.Zero
	}
	k.weights = integers(rng, s.OutC, outerIn*s.K*s.K, zero)
	k.weights.Inner = inner
	if rng.IntN(2) == 0 {
		k.res = b.Random(s.OutC, s.H, s.W)
	}
	k.define()
	return k
}

func (k *octetCodesTrial) String() string {
	s, inner := k.shape, ""
	if in := s.Inner; in != nil {
		inner = fmt.Sprintf("k%d_to_%d_act%d_", in.K, in.OutC, in.Act)
	}
	return fmt.Sprintf("%d_%sk%d_to_%d_on_%dx%d_act%d_residual_%t", s.InC(), inner, s.K, s.OutC, s.H, s.W, s.Act, k.res != nil)
}

// define computes what is wanted.
func (k *octetCodesTrial) define() {
	s, w := k.shape, k.weights
	codes := NewPlane(s.InC(), s.H, s.W)
	for i, v := range k.src.V {
		codes.V[i] = k.source.Code(v)
	}
	if in := s.Inner; in != nil {
		between := k.convolve(codes, w.Inner, in.K, in.OutC)
		for i, v := range between.V {
			between.V[i] = k.between.Code(leaky(v, in.Act, k.inner))
		}
		codes = between
	}
	k.want = k.convolve(codes, w, s.K, s.OutC)
	for i, v := range k.want.V {
		k.want.V[i] = k.Round(k.finished(i, v))
	}
}

func (k *octetCodesTrial) run(built map[string]*clrt.Kernel) {
	weights, kernels := k.packed(), k.kernels(built)
	k.divided(func(y0, y1 int) { k.launch(kernels, weights, y0, y1) })
}

// launch makes rows [y0,y1) with nothing in memory but what they need.
func (k *octetCodesTrial) launch(kernels []*clrt.Kernel, weights *clrt.Buffer, y0, y1 int) {
	s := k.shape
	reach := conv.Shape{K: s.K, H: s.H}
	if s.Inner != nil {
		reach.K += s.Inner.K - 1
	}
	o := Operands{Shape: reach}
	first, end := o.rows(y0, y1)
	sources := []*Ring{k.Source(k.src, k.OctetPlace(s.InC(), end-first, s.H), first, end)}
	dst := k.Target(s.OutC, s.H, s.W, k.OctetPlace(s.OutC, y1-y0, s.H))
	a := &conv.Args{Src: []planar.Ring{sources[0].Ring}, Dst: dst.Ring, Y0: y0, Y1: y1, Slope: k.slope, InnerSlope: k.inner, Zero: k.first, Between: k.betweenIs}
	if k.res != nil {
		sources = append(sources, k.Source(k.res, k.OctetPlace(s.OutC, y1-y0, s.H), y0, y1))
		a.Res = sources[1].Ring
	}
	k.Must(k.impl.Launch(k.Queue, kernels, weights, a))
	k.equal(dst, k.want, y0, y1)
	for i, r := range sources {
		r.Unchanged(fmt.Sprintf("source %d", i))
	}
}
