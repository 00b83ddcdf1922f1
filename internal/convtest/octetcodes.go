package convtest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// RunOctetCodes tests that an algorithm computes convolutions of codes that it makes of octets (Shape.Codes and Octets), alone or
// behind an inner one, to the bit as package model defines them, with residual and activation, of and into rings somewhere
// in larger buffers, whichever way rows are divided into launches, and that it writes nothing else.
func RunOctetCodes(t *testing.T, c CodesConfig) {
	b := Open(t, c.Device, planar.FP16, 1)
	b.Pad, b.ResFirst = c.Pad, c.ResFirst
	var trials []*octetCodesTrial
	var kernels []conv.Kernel
	for i := range c.Cases {
		k := newOctetCodesTrial(b, c, uint64(i))
		trials, kernels = append(trials, k), append(kernels, k.impl.Kernels()...)
	}
	built := b.Build(kernels)
	for i, k := range trials {
		t.Run(fmt.Sprintf("seed=%d/%s", i, k), func(t *testing.T) {
			b.TB = t
			defer b.Release()
			k.run(built)
		})
		b.TB = t
	}
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
	*Bench
	shape            conv.Shape
	impl             conv.Impl
	weights          *conv.IntegerWeights
	src, res         *Plane
	slope, inner     float32
	source, between  model.Node // what makes codes
	want             *Plane
	first, betweenIs conv.Quantizer
}

func newOctetCodesTrial(b *Bench, c CodesConfig, seed uint64) *octetCodesTrial {
	rng := rand.New(rand.NewPCG(seed, 13))
	k := &octetCodesTrial{Bench: b, shape: c.Draw(rng), slope: float32(rng.IntN(3)) / 8, inner: float32(rng.IntN(3)) / 8}
	s := &k.shape
	s.Pad, s.ResFirst = c.Pad, c.ResFirst
	var err error
	if k.impl, err = c.Algo.New(*c.Caps, *s, planar.FP16); err != nil {
		b.Fatalf("seed %d: %s: %v", seed, k, err)
	}
	old := b.Rng
	b.Rng = rng
	defer func() { b.Rng = old }()
	k.src = b.Random(s.InC(), s.H, s.W)
	k.source = model.Node{Op: model.OpQuantize, Step: 0.007 * (1 + rng.Float32()), Zero: rng.IntN(256)}
	k.first = conv.Quantizer{Inverse: k.source.Inverse(), Zero: k.source.Zero}
	outerIn, zero := s.InC(), k.source.Zero
	if in := s.Inner; in != nil {
		k.between = model.Node{Op: model.OpQuantize, Step: 0.01 * (1 + rng.Float32()), Zero: rng.IntN(256)}
		k.betweenIs = conv.Quantizer{Inverse: k.between.Inverse(), Zero: k.between.Zero}
		k.weights = integers(rng, in.OutC, s.InC()*in.K*in.K, k.between.Zero)
		k.weights = &conv.IntegerWeights{Inner: k.weights}
		k.weights.Inner.Zero = k.source.Zero
		outerIn, zero = in.OutC, k.between.Zero
	}
	outer := integers(rng, s.OutC, outerIn*s.K*s.K, zero)
	if k.weights != nil {
		outer.Inner = k.weights.Inner
	}
	k.weights = outer
	if rng.IntN(2) == 0 {
		k.res = b.Random(s.OutC, s.H, s.W)
	}
	k.define()
	return k
}

// integers draws parameters of outs sums of n products that make outputs of about 1.
func integers(rng *rand.Rand, outs, n, zero int) *conv.IntegerWeights {
	w := &conv.IntegerWeights{Zero: zero}
	for range outs * n {
		w.Weights = append(w.Weights, float32(rng.IntN(256)-128))
	}
	size := 1 / (128 * 74 * math.Sqrt(float64(n)))
	for range outs {
		w.Factors = append(w.Factors, float32(size)*(0.5+rng.Float32()))
		w.Bias = append(w.Bias, rng.Float32()-0.5)
	}
	return w
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
		if s.ResFirst && k.res != nil {
			v += k.res.V[i]
		}
		v = leaky(v, s.Act, k.slope)
		if !s.ResFirst && k.res != nil {
			v += k.res.V[i]
		}
		k.want.V[i] = k.Round(v)
	}
}

func leaky(v float32, act fuse.Act, slope float32) float32 {
	if act == fuse.LeakyReLU && v < 0 {
		return v * slope
	}
	return v
}

// convolve is the convolution of codes without activation.
func (k *octetCodesTrial) convolve(codes *Plane, w *conv.IntegerWeights, side, outs int) *Plane {
	out := NewPlane(outs, codes.H, codes.W)
	for i := range out.V {
		o, y, x := i/(codes.H*codes.W), i/codes.W%codes.H, i%codes.W
		var sum int32
		for t := range side * side {
			yy, xx := fuse.PadIndex(k.Pad, y+t/side-side/2, codes.H), fuse.PadIndex(k.Pad, x+t%side-side/2, codes.W)
			for c := 0; c < codes.C && yy >= 0 && xx >= 0; c++ {
				sum += (int32(codes.At(c, yy, xx)) - int32(w.Zero)) * int32(w.Weights[(o*codes.C+c)*side*side+t])
			}
		}
		out.V[i] = model.FMA(float32(sum), w.Factors[o], w.Bias[o])
	}
	return out
}

func (k *octetCodesTrial) run(built map[string]*clrt.Kernel) {
	packed := k.impl.(conv.Integer).PackCodes(k.weights)
	if len(packed) != k.impl.PackedLen() {
		k.Fatalf("PackCodes gives %d values, PackedLen says %d", len(packed), k.impl.PackedLen())
	}
	weights := k.Floats(packed)
	for cut := range 3 {
		for y := 0; y < k.shape.H && !k.Failed(); {
			y1 := k.shape.H
			if cut > 0 {
				y1 = min(y1, y+1+k.Rng.IntN(1+k.shape.H/2))
			}
			k.launch(built[k.impl.Kernels()[0].Name], weights, y, y1)
			y = y1
		}
	}
}

// launch makes rows [y0,y1) with nothing in memory but what they need.
func (k *octetCodesTrial) launch(kernel *clrt.Kernel, weights *clrt.Buffer, y0, y1 int) {
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
	k.Must(k.impl.Launch(k.Queue, []*clrt.Kernel{kernel}, weights, a))
	out := NewPlane(s.OutC, s.H, s.W)
	dst.Take(out, y0, y1)
	for i, v := range out.V {
		if y := i / s.W % s.H; y >= y0 && y < y1 && math.Float32bits(v) != math.Float32bits(k.want.V[i]) {
			k.Fatalf("rows %d to %d: channel %d, row %d, column %d is %v, want %v", y0, y1, i/(s.H*s.W), y, i%s.W, v, k.want.V[i])
		}
	}
	for i, r := range sources {
		r.Unchanged(fmt.Sprintf("source %d", i))
	}
}
