package convtest

import (
	"encoding/binary"
	"fmt"
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

// RunCodes tests that an algorithm computes convolutions of codes to the bit as package model defines them,
// with residual and activation, of and into rings somewhere in larger buffers, whichever way rows are divided
// into launches, and that it writes nothing else.
func RunCodes(t *testing.T, c CodesConfig) {
	runIntegers(t, c, c.Precision, newCodesTrial)
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
	integerTrial
	source   *Plane // codes
	store    model.Node
	want     *Plane // samples, or codes
	quantize conv.Quantizer
}

func newCodesTrial(b *Bench, c CodesConfig, seed uint64) *codesTrial {
	rng := rand.New(rand.NewPCG(seed, 12))
	k := &codesTrial{integerTrial: integerTrial{Bench: b, shape: c.Draw(rng), slope: float32(rng.IntN(3)) / 8}}
	zero := rng.IntN(256)
	s := &k.shape
	k.made(c, c.Precision, seed)
	k.source = NewPlane(s.InC(), s.H, s.W)
	for i := range k.source.V {
		k.source.V[i] = float32(rng.IntN(256))
	}
	k.weights = integers(rng, s.OutC, s.InC()*s.K*s.K, zero)
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
	k.want = k.convolve(k.source, k.weights, s.K, s.OutC)
	for i, v := range k.want.V {
		if v = k.finished(i, v); s.Store {
			k.want.V[i] = k.store.Code(v)
		} else {
			k.want.V[i] = k.Round(v)
		}
	}
}

func (k *codesTrial) run(built map[string]*clrt.Kernel) {
	weights, kernels := k.packed(), k.kernels(built)
	k.divided(func(y0, y1 int) { k.launch(kernels, weights, y0, y1) })
}

// launch makes rows [y0,y1) and holds every byte of the destination's buffer against what it must be.
func (k *codesTrial) launch(kernels []*clrt.Kernel, weights *clrt.Buffer, y0, y1 int) {
	s := k.shape
	o := Operands{Shape: s}
	first, end := o.rows(y0, y1)
	zero := uint32(k.weights.Zero) * 0x1010101
	src, _ := k.codes(s.InC(), end-first, func(image []byte, r *planar.Ring) {
		for y := first; y < end; y++ {
			k.putCodes(image, r, y, zero, func(c, x int) uint8 { return uint8(k.source.At(c, y, x)) }, s.InC(), uint8(k.weights.Zero))
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
		k.equal(dst, k.want, y0, y1)
		return
	}
	dst, before := k.codes(s.OutC, y1-y0, func([]byte, *planar.Ring) {})
	a.Dst = dst
	k.Must(k.impl.Launch(k.Queue, kernels, weights, a))
	got := make([]byte, len(before))
	k.Must(k.Queue.Read(dst.Buf, 0, got))
	for y := y0; y < y1; y++ {
		k.putCodes(before, &dst, y, k.quantize.Word(), func(c, x int) uint8 { return uint8(k.want.At(c, y, x)) }, s.OutC, uint8(k.quantize.Zero))
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
