package convtest

import (
	"encoding/binary"
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

// CodesConfig is an algorithm for convolutions of codes to be tested and where.
type CodesConfig struct {
	Algo      conv.Algo
	Device    *clrt.Device
	Caps      *conv.Caps
	Precision planar.Precision // of samples: residuals, and what is stored unless that is codes
	Pad       model.PadMode
	ResFirst  bool // residuals are added before the activation
	Draw      func(rng *rand.Rand) conv.Shape
	Cases     int
}

// RunCodes tests that an algorithm computes convolutions of codes to the bit as package model defines them, with residual and
// activation, of and into rings somewhere in larger buffers, whichever way rows are divided into launches, and that it writes
// nothing else.
func RunCodes(t *testing.T, c CodesConfig) {
	b := Open(t, c.Device, c.Precision, 1)
	b.Pad, b.ResFirst = c.Pad, c.ResFirst
	var trials []*codesTrial
	var kernels []conv.Kernel
	for i := range c.Cases {
		k := newCodesTrial(b, c, uint64(i))
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

// AnyCodes draws convolutions of codes of any size, into codes or samples.
func AnyCodes(rng *rand.Rand) conv.Shape {
	s := conv.Shape{K: []int{1, 3, 3, 3, 5, 7}[rng.IntN(6)], SrcC: []int{1 + rng.IntN(70)}, OutC: 1 + rng.IntN(70), H: 1 + rng.IntN(40), W: 5 + rng.IntN(90),
		Act: fuse.Act(rng.IntN(2)), Codes: true, Store: rng.IntN(2) == 0}
	if rng.IntN(3) == 0 { // as networks have them
		s.SrcC[0], s.OutC = []int{24, 48, 64, 96, 128}[rng.IntN(5)], []int{24, 48, 64, 96, 128}[rng.IntN(5)]
	}
	return s
}

type codesTrial struct {
	*Bench
	shape    conv.Shape
	impl     conv.Impl
	weights  *conv.IntegerWeights
	source   []uint8 // [channel][row][column]
	res      *Plane
	slope    float32
	store    model.Node
	want     []float32 // samples, or codes as bytes
	quantize conv.Quantizer
}

func newCodesTrial(b *Bench, c CodesConfig, seed uint64) *codesTrial {
	rng := rand.New(rand.NewPCG(seed, 12))
	k := &codesTrial{Bench: b, shape: c.Draw(rng), slope: float32(rng.IntN(3)) / 8, weights: &conv.IntegerWeights{Zero: rng.IntN(256)}}
	s := &k.shape
	s.Pad, s.ResFirst = c.Pad, c.ResFirst
	var err error
	if k.impl, err = c.Algo.New(*c.Caps, *s, c.Precision); err != nil {
		b.Fatalf("seed %d: %s: %v", seed, k, err)
	}
	for range s.InC() * s.H * s.W {
		k.source = append(k.source, uint8(rng.IntN(256)))
	}
	n := s.InC() * s.K * s.K
	for range n * s.OutC {
		k.weights.Weights = append(k.weights.Weights, float32(rng.IntN(256)-128))
	}
	size := 1 / (128 * 74 * math.Sqrt(float64(n))) // of a factor that makes outputs of about 1
	for range s.OutC {
		k.weights.Factors = append(k.weights.Factors, float32(size)*(0.5+rng.Float32()))
		k.weights.Bias = append(k.weights.Bias, rng.Float32()-0.5)
	}
	if rng.IntN(2) == 0 {
		old := b.Rng
		b.Rng = rng
		k.res = b.Random(s.OutC, s.H, s.W)
		b.Rng = old
	}
	k.store = model.Node{Op: model.OpQuantize, Step: 0.01 * (1 + rng.Float32()), Zero: rng.IntN(256)}
	k.quantize = conv.Quantizer{Inverse: k.store.Inverse(), Zero: k.store.Zero}
	k.define()
	return k
}

func (k *codesTrial) String() string {
	s := k.shape
	return fmt.Sprintf("k%d_%d_to_%d_on_%dx%d_act%d_store_%t_residual_%t", s.K, s.InC(), s.OutC, s.H, s.W, s.Act, s.Store, k.res != nil)
}

// define computes what is wanted.
func (k *codesTrial) define() {
	s := k.shape
	k.want = make([]float32, s.OutC*s.H*s.W)
	for i := range k.want {
		o, y, x := i/(s.H*s.W), i/s.W%s.H, i%s.W
		var sum int32
		for c := range s.InC() {
			for t := range s.K * s.K {
				if yy, xx := fuse.PadIndex(s.Pad, y+t/s.K-s.K/2, s.H), fuse.PadIndex(s.Pad, x+t%s.K-s.K/2, s.W); yy >= 0 && xx >= 0 {
					sum += (int32(k.source[(c*s.H+yy)*s.W+xx]) - int32(k.weights.Zero)) * int32(k.weights.Weights[(o*s.InC()+c)*s.K*s.K+t])
				}
			}
		}
		v := model.FMA(float32(sum), k.weights.Factors[o], k.weights.Bias[o])
		if s.ResFirst && k.res != nil {
			v += k.res.V[i]
		}
		if s.Act == fuse.LeakyReLU && v < 0 {
			v *= k.slope
		}
		if !s.ResFirst && k.res != nil {
			v += k.res.V[i]
		}
		if k.want[i] = k.Round(v); s.Store {
			k.want[i] = k.store.Code(v)
		}
	}
}

func (k *codesTrial) run(built map[string]*clrt.Kernel) {
	packed := k.impl.(conv.Integer).PackCodes(k.weights)
	if len(packed) != k.impl.PackedLen() {
		k.Fatalf("PackCodes gives %d values, PackedLen says %d", len(packed), k.impl.PackedLen())
	}
	weights := k.Floats(packed)
	kernels := k.kernels(built)
	for cut := range 3 {
		for y := 0; y < k.shape.H && !k.Failed(); {
			y1 := k.shape.H
			if cut > 0 {
				y1 = min(y1, y+1+k.Rng.IntN(1+k.shape.H/2))
			}
			k.launch(kernels, weights, y, y1)
			y = y1
		}
	}
}

func (k *codesTrial) kernels(built map[string]*clrt.Kernel) (list []*clrt.Kernel) {
	for _, kernel := range k.impl.Kernels() {
		list = append(list, built[kernel.Name])
	}
	return list
}

// launch makes rows [y0,y1) and holds every byte of the destination's buffer against what it must be.
func (k *codesTrial) launch(kernels []*clrt.Kernel, weights *clrt.Buffer, y0, y1 int) {
	s := k.shape
	o := Operands{Shape: s}
	first, end := o.rows(y0, y1)
	zero := uint32(k.weights.Zero) * 0x1010101
	src, _ := k.codes(s.InC(), end-first, func(image []byte, r *planar.Ring) {
		for y := first; y < end; y++ {
			k.putCodes(image, r, y, zero, func(c, x int) uint8 { return k.source[(c*s.H+y)*s.W+x] }, s.InC(), uint8(k.weights.Zero))
		}
	})
	a := &conv.Args{Src: []planar.Ring{src}, Y0: y0, Y1: y1, Slope: k.slope, Zero: conv.Quantizer{Zero: k.weights.Zero}, Store: k.quantize}
	if k.res != nil {
		a.Res = k.Source(k.res, k.Anywhere(s.OutC, y1-y0, s.H), y0, y1).Ring
	}
	if !s.Store {
		dst := k.Target(s.OutC, s.H, s.W, k.Anywhere(s.OutC, y1-y0, s.H))
		a.Dst = dst.Ring
		k.Must(k.impl.Launch(k.Queue, kernels, weights, a))
		out := NewPlane(s.OutC, s.H, s.W)
		dst.Take(out, y0, y1)
		for i, v := range out.V {
			if y := i / s.W % s.H; y >= y0 && y < y1 && math.Float32bits(v) != math.Float32bits(k.want[i]) {
				k.Fatalf("rows %d to %d: channel %d, row %d, column %d is %v, want %v", y0, y1, i/(s.H*s.W), y, i%s.W, v, k.want[i])
			}
		}
		return
	}
	dst, before := k.codes(s.OutC, y1-y0, func([]byte, *planar.Ring) {})
	a.Dst = dst
	k.Must(k.impl.Launch(k.Queue, kernels, weights, a))
	got := make([]byte, len(before))
	k.Must(k.Queue.Read(dst.Buf, 0, got))
	for y := y0; y < y1; y++ {
		k.putCodes(before, &dst, y, k.quantize.Word(), func(c, x int) uint8 { return uint8(k.want[(c*s.H+y)*s.W+x]) }, s.OutC, uint8(k.quantize.Zero))
		for g := range dst.C { // what lies beyond the rim is undefined
			at := k.lineAt(&dst, y, g)
			now, was := got[at:][:4*dst.Pitch], before[at:]
			copy(now[:4*(planar.Pad-planar.Rim)], was)
			copy(now[4*(planar.Pad+s.W+planar.Rim):], was[4*(planar.Pad+s.W+planar.Rim):])
		}
	}
	if at := differ(got, before); at >= 0 {
		word := (int64(at) - dst.Base) / 4
		k.Fatalf("rows %d to %d: byte %d is %d, want %d: slot %d of %d, line %d (the view is %d to %d), column %d of %d, channel %d of the word", y0, y1, at, got[at], before[at],
			word/int64(dst.CAll*dst.Pitch), dst.Rows, word/int64(dst.Pitch)%int64(dst.CAll), dst.C0, dst.C0+dst.C, word%int64(dst.Pitch)-planar.Pad, s.W, at%4)
	}
}

// codes makes a ring of random bytes for the codes of c channels of at least rows rows, which fill may put some into.
func (k *codesTrial) codes(c, rows int, fill func(image []byte, r *planar.Ring)) (planar.Ring, []byte) {
	at := k.Anywhere(planar.Words(c), rows, k.shape.H)
	t := fuse.Tensor{Shape: model.Shape{C: at.CAll * fuse.CodesInWord, H: k.shape.H, W: k.shape.W}, Storage: fuse.Codes}
	size := planar.RowBytes(t, k.Precision)*int64(at.Rows) + planar.RimBytes(t, k.Precision)
	base := planar.BaseAlign * int64(k.Rng.IntN(5))
	image := make([]byte, base+size)
	for i := range image {
		image[i] = byte(k.Rng.Uint32())
	}
	r := planar.NewRing(nil, base, t, at.Rows).Slice(at.C0*fuse.CodesInWord, c)
	fill(image, &r)
	r.Buf = k.Buffer(image)
	return r, image
}

// lineAt is the byte at which line g of row y begins.
func (k *codesTrial) lineAt(r *planar.Ring, y, g int) int64 {
	return r.Base + 4*int64(((y%r.Rows)*r.CAll+r.C0+g)*r.Pitch)
}

// putCodes writes row y with its rims: channels beyond the last have the code of zero.
func (k *codesTrial) putCodes(image []byte, r *planar.Ring, y int, zero uint32, code func(c, x int) uint8, channels int, none uint8) {
	for g := range r.C {
		at := k.lineAt(r, y, g)
		for x := -planar.Rim; x < r.W+planar.Rim; x++ {
			word := zero
			if from := fuse.PadIndex(k.Pad, x, r.W); from >= 0 {
				word = 0
				for b := range fuse.CodesInWord {
					v := none
					if c := g*fuse.CodesInWord + b; c < channels {
						v = code(c, from)
					}
					word |= uint32(v) << (8 * b)
				}
			}
			binary.LittleEndian.PutUint32(image[at+4*int64(planar.Pad+x):], word)
		}
	}
}
