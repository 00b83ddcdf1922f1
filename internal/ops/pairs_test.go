package ops_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/model"
)

// TestPairs holds every step of pairs against the same step of planes, rounded once, with every padding, at odd
// sizes, with an odd number of channels, anywhere in rings.
func TestPairs(t *testing.T) {
	dev := convtest.Device(t)
	if dev.Info().Type != clrt.CPU {
		t.Skip("SKIPPED, nothing was tested: kernels for CPUs")
	}
	caps := conv.CapsOf(dev.Info())
	for _, pad := range []model.PadMode{model.PadReflect, model.PadZero, model.PadEdge} {
		t.Run(fmt.Sprintf("pad %d", pad), func(t *testing.T) {
			l := openLab(t, dev, caps, planar.FP32, 3, pad, false)
			pairs, err := l.Ctx.Build(planar.Source(planar.FP32, pad)+ops.PairsSource(), conv.BuildOptions)
			l.Must(err)
			o, err := ops.NewPairs(pairs, l.Queue, caps)
			l.Must(err)
			defer o.Close()
			for range convtest.Cases(6) {
				for _, s := range []fuse.Step{{Kind: fuse.MaxPool}, {Kind: fuse.Upsample}, {Kind: fuse.Upsample, AlignCorners: true}, {Kind: fuse.Pointwise}, {Kind: fuse.Pointwise, Act: fuse.LeakyReLU, Slope: 0.25},
					{Kind: fuse.Pointwise, Act: fuse.Sigmoid}} {
					l.together(o.Make, fuse.Pairs, s)
				}
				l.split(o)
			}
		})
	}
}

// split holds split samples against their definition, and the rest that two parts leave to 2^-17 of the sample.
func (l *lab) split(o *ops.Pairs) {
	l.Helper()
	c, h, w := l.size(5, 70)
	src := l.Random(c, h, w)
	t := fuse.Tensor{Shape: model.Shape{C: c, H: h, W: w}, Storage: fuse.Split}
	raw := make([]byte, planar.RowBytes(t, l.Precision)*int64(h)+planar.RimBytes(t, l.Precision))
	dst := planar.NewRing(l.Buffer(raw), 0, t, h)
	l.storage = fuse.Activation
	l.Must(o.Make(&fuse.Step{Kind: fuse.Convert, Dst: fuse.View{C: c}}, l.Source(src, l.anywhere(c, h, h), 0, h).Ring, planar.Ring{}, dst, 0, h))
	l.Must(l.Queue.Read(dst.Buf, 0, raw))
	for i := range c * h {
		half := func(line, x int) float32 {
			at := ((i%h*dst.CAll+planar.LinesInSplit*(i/h/2)+line)*dst.Pitch+planar.Pad+x)*4 + i/h%2*2
			return planar.OfBFloat(binary.LittleEndian.Uint16(raw[at:]))
		}
		for x, v := range src.Line(i/h, i%h) {
			high, again, low := half(0, x), half(1, x), half(2, x)
			if high != again || high != planar.OfBFloat(planar.BFloat(v)) || low != planar.OfBFloat(planar.BFloat(v-high)) || math.Abs(float64(v)-float64(high)-float64(low)) > math.Abs(float64(v))*0x1p-16 {
				l.Fatalf("channel %d, row %d, column %d: %v is split into %v and %v", i/h, i%h, x, v, high, low)
			}
		}
	}
	l.Release()
}
