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

// integerTrial is what tests of convolutions of codes have in common, wherever their codes come from.
type integerTrial struct {
	*Bench
	shape   conv.Shape
	impl    conv.Impl
	weights *conv.IntegerWeights
	res     *Plane // nil: none
	slope   float32
}

// runIntegers makes the trials of a test, builds their kernels together and runs them.
func runIntegers[T interface {
	fmt.Stringer
	algorithm() conv.Impl
	run(built map[string]*clrt.Kernel)
}](t *testing.T, c CodesConfig, p planar.Precision, newTrial func(b *Bench, c CodesConfig, seed uint64) T) {
	b := Open(t, c.Device, p, 1)
	b.Pad, b.ResFirst = c.Pad, c.ResFirst
	var trials []T
	var kernels []conv.Kernel
	for i := range c.Cases {
		k := newTrial(b, c, uint64(i))
		trials, kernels = append(trials, k), append(kernels, k.algorithm().Kernels()...)
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

// made completes the shape by what the test says and has the algorithm take it.
func (k *integerTrial) made(c CodesConfig, p planar.Precision, seed uint64) {
	k.shape.Pad, k.shape.ResFirst = c.Pad, c.ResFirst
	var err error
	if k.impl, err = c.Algo.New(*c.Caps, k.shape, p); err != nil {
		k.Fatalf("seed %d: %s: %v", seed, k.shape, err)
	}
}

func (k *integerTrial) algorithm() conv.Impl { return k.impl }

func (k *integerTrial) kernels(built map[string]*clrt.Kernel) (list []*clrt.Kernel) {
	for _, kernel := range k.impl.Kernels() {
		list = append(list, built[kernel.Name])
	}
	return list
}

// packed is a buffer of the weights as the algorithm packs them.
func (k *integerTrial) packed() *clrt.Buffer {
	packed := k.impl.(conv.Integer).PackCodes(k.weights)
	if len(packed) != k.impl.PackedLen() {
		k.Fatalf("PackCodes gives %d values, PackedLen says %d", len(packed), k.impl.PackedLen())
	}
	return k.Floats(packed)
}

// divided has all rows made, at once and twice in parts.
func (k *integerTrial) divided(launch func(y0, y1 int)) {
	for cut := range 3 {
		for y := 0; y < k.shape.H && !k.Failed(); {
			y1 := k.shape.H
			if cut > 0 {
				y1 = min(y1, y+1+k.Rng.IntN(1+k.shape.H/2))
			}
			launch(y, y1)
			y = y1
		}
	}
}

// equal holds rows [y0,y1) of a target to the bit against those wanted.
func (k *integerTrial) equal(dst *Ring, want *Plane, y0, y1 int) {
	s := k.shape
	out := NewPlane(s.OutC, s.H, s.W)
	dst.Take(out, y0, y1)
	for i, v := range out.V {
		if y := i / s.W % s.H; y >= y0 && y < y1 && math.Float32bits(v) != math.Float32bits(want.V[i]) {
			k.Fatalf("rows %d to %d: channel %d, row %d, column %d is %v, want %v", y0, y1, i/(s.H*s.W), y, i%s.W, v, want.V[i])
		}
	}
}

// finished is output i of the convolution, v, with residual and activation.
func (k *integerTrial) finished(i int, v float32) float32 {
	s := k.shape
	if s.ResFirst && k.res != nil {
		v += k.res.V[i]
	}
	v = leaky(v, s.Act, k.slope)
	if !s.ResFirst && k.res != nil {
		v += k.res.V[i]
	}
	return v
}

func leaky(v float32, act fuse.Act, slope float32) float32 {
	if act == fuse.LeakyReLU && v < 0 {
		return v * slope
	}
	return v
}

// convolve is the convolution of codes without activation.
func (k *integerTrial) convolve(codes *Plane, w *conv.IntegerWeights, side, outs int) *Plane {
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
