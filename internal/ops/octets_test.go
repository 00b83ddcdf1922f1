package ops_test

import (
	"fmt"
	"math"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/model"
)

// TestOctets holds every step of octets to the bit against the same step of planes, which has tests of its own,
// with every padding, at odd sizes, with channels that end within an octet, anywhere in rings.
func TestOctets(t *testing.T) {
	dev := convtest.Device(t)
	caps := conv.CapsOf(dev.Info())
	for _, pad := range []model.PadMode{model.PadReflect, model.PadZero, model.PadEdge} {
		t.Run(fmt.Sprintf("pad %d", pad), func(t *testing.T) {
			l := openLab(t, dev, caps, planar.FP16, 3, pad, false)
			octets, err := l.Ctx.Build(planar.Source(planar.FP16, pad)+ops.OctetsSource(caps, true), conv.BuildOptions)
			l.Must(err)
			o, err := ops.NewOctets(octets, l.Queue, caps, true)
			l.Must(err)
			defer o.Close()
			for range convtest.Cases(6) {
				for _, s := range []fuse.Step{{Kind: fuse.MaxPool}, {Kind: fuse.Upsample}, {Kind: fuse.Upsample, AlignCorners: true}, {Kind: fuse.Pointwise}, {Kind: fuse.Pointwise, Act: fuse.LeakyReLU, Slope: 0.25},
					{Kind: fuse.Pointwise, Act: fuse.Sigmoid}, {Kind: fuse.Shuffle}, {Kind: fuse.Convert}} {
					l.together(func(s *fuse.Step, src, res, dst planar.Ring, y0, y1 int) error {
						return o.Make(s, src, planar.Ring{}, res, dst, y0, y1)
					}, fuse.Octets, s)
				}
			}
		})
	}
}

// together runs step s on random planes both ways: as planes, and by make in a storage that holds several channels together.
func (l *lab) together(make func(s *fuse.Step, src, res, dst planar.Ring, y0, y1 int) error, storage fuse.Storage, s fuse.Step) {
	l.Helper()
	c, h, w := 1+l.Rng.IntN(20), 1+l.Rng.IntN(9), 1+l.Rng.IntN(70)
	if l.Rng.IntN(4) == 0 {
		h, w = 1+l.Rng.IntN(3), 1+l.Rng.IntN(4)
	}
	srcC, srcH, srcW := c, h, w
	switch s.Kind {
	case fuse.MaxPool:
		srcH, srcW = 2*h+l.Rng.IntN(2), 2*w+l.Rng.IntN(2)
	case fuse.Upsample:
		srcH, srcW, h, w = h, w, 2*h, 2*w
	case fuse.Shuffle:
		c = 1 + c/4
		srcC, srcH, srcW, h, w = 4*c, h, w, 2*h, 2*w
	}
	src := l.Random(srcC, srcH, srcW)
	var res *convtest.Plane
	if (s.Kind == fuse.Upsample || s.Kind == fuse.Pointwise) && l.Rng.IntN(2) == 0 {
		res = l.Random(c, h, w)
	}
	s.Src, s.Dst = []fuse.View{{C: srcC}}, fuse.View{C: c}
	p := &fuse.Program{Tensors: []fuse.Tensor{{Shape: model.Shape{C: srcC, H: srcH, W: srcW}}, {Shape: model.Shape{C: c, H: h, W: w}}}}
	s.Res, s.Affine, s.Dst.Tensor = fuse.View{Tensor: fuse.None}, fuse.None, 1
	if storage == fuse.Pairs {
		convtest.BFloats(src)
		if res != nil {
			convtest.BFloats(res)
		}
	}
	run := func(from, to fuse.Storage, make func(src, res, dst planar.Ring, y0, y1 int) error) *convtest.Plane {
		l.storage = to
		return l.sweep(c, h, w, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
			l.storage = from
			first, end := max(p.Oldest(&s, 0, y0), 0), p.Need(&s, 0, y1)
			rings := []*convtest.Ring{l.Source(src, l.anywhere(srcC, end-first, srcH), first, end)}
			var add planar.Ring
			if res != nil {
				rings = append(rings, l.Source(res, l.anywhere(c, y1-y0, h), y0, y1))
				add = rings[1].Ring
			}
			l.storage = to
			l.Must(make(rings[0].Ring, add, dst, y0, y1))
			return rings
		})
	}
	from, to := storage, storage
	switch s.Kind {
	case fuse.Convert:
		from = fuse.Activation
	case fuse.Shuffle:
		to = fuse.Activation
	}
	got := run(from, to, func(src, res, dst planar.Ring, y0, y1 int) error { return make(&s, src, res, dst, y0, y1) })
	want := run(fuse.Activation, fuse.Activation, func(src, res, dst planar.Ring, y0, y1 int) error {
		switch s.Kind {
		case fuse.MaxPool:
			return l.MaxPool(src, dst, y0, y1)
		case fuse.Upsample:
			return l.Upsample(src, res, dst, y0, y1, s.AlignCorners)
		case fuse.Shuffle:
			return l.Shuffle(src, dst, y0, y1)
		}
		return l.Pointwise(src, planar.Ring{}, 0, res, dst, y0, y1, s.Act, s.Slope)
	})
	if storage == fuse.Pairs {
		convtest.BFloats(want)
	}
	for i := range want.V {
		if math.Float32bits(got.V[i]) != math.Float32bits(want.V[i]) {
			l.Fatalf("%s, %d×%d×%d: sample %d is %v together and %v of planes", s.Kind, c, h, w, i, got.V[i], want.V[i])
		}
	}
}
