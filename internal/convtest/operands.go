package convtest

import (
	"fmt"
	"slices"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
)

// Operands are a convolution and what it reads, on the host.
type Operands struct {
	Shape        conv.Shape
	Src          []*Plane
	Res          *Plane // nil if there is no residual
	Slope        float32
	Weight, Bias []float32

	scales   planar.Ring // of a Scaling form
	preSlope float32
}

// Launch runs rows [y0,y1) with nothing in memory but what they need and scratch bytes of
// scratch, and puts them into out. It returns a buffer that begins with the scratch. The error
// is the launch's own; all else that goes wrong fails the test.
func (b *Bench) Launch(o *Operands, impl conv.Impl, kernels []*clrt.Kernel, weights *clrt.Buffer, out *Plane, y0, y1 int, scratch int64) (*clrt.Buffer, error) {
	b.Helper()
	s := o.Shape
	first, end := max(y0-s.K/2, 0), min(y1+s.K/2, s.H)
	for y := y0; y < y1; y++ {
		for i := range s.K { // planes may be lower than kernels
			r := fuse.Reflect(y+i-s.K/2, s.H)
			first, end = min(first, r), max(end, r+1)
		}
	}
	a := &conv.Args{Y0: y0, Y1: y1, Slope: o.Slope, Scales: o.scales, PreSlope: o.preSlope}
	var sources []*Ring
	for _, p := range o.Src {
		sources = append(sources, b.Source(p, b.Anywhere(p.C, end-first, s.H), first, end))
		a.Src = append(a.Src, sources[len(sources)-1].Ring)
	}
	dst := b.Target(s.OutC, s.H, s.W, b.Anywhere(s.OutC, max(y1-y0, 1), s.H))
	a.Dst = dst.Ring
	if o.Res != nil {
		sources = append(sources, b.Source(o.Res, b.Anywhere(s.OutC, max(y1-y0, 1), s.H), y0, y1))
		a.Res = sources[len(sources)-1].Ring
	}
	guard := b.Noise(scratch+256, planar.FP32)
	whole := b.Buffer(guard)
	if scratch > 0 {
		var err error
		a.Scratch, err = whole.Sub(0, scratch)
		b.Must(err)
		defer func() { b.Must(a.Scratch.Close()) }()
	}
	if err := impl.Launch(b.Queue, kernels, weights, a); err != nil {
		return nil, err
	}
	dst.Take(out, y0, y1)
	for i, r := range sources {
		r.Unchanged(fmt.Sprintf("source %d", i))
	}
	after := make([]byte, 256)
	b.Must(b.Queue.Read(whole, scratch, after))
	if !slices.Equal(after, guard[scratch:]) {
		b.Errorf("a launch of %d rows wrote past its %d bytes of scratch", y1-y0, scratch)
	}
	return whole, nil
}
