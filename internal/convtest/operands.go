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
	Slopes       []float32 // of PReLU

	scales   planar.Ring // of a Scaling form
	preSlope float32
}

// Launch runs rows [y0,y1) with nothing in memory but what they need and scratch bytes of
// scratch, and puts them into out. It returns a buffer that begins with the scratch. The error
// is the launch's own; all else that goes wrong fails the test.
func (b *Bench) Launch(o *Operands, impl conv.Impl, kernels []*clrt.Kernel, weights *clrt.Buffer, out *Plane, y0, y1 int, scratch int64) (*clrt.Buffer, error) {
	b.Helper()
	s := o.Shape
	first, end := o.rows(y0, y1)
	a := &conv.Args{Y0: y0, Y1: y1, Slope: o.Slope, Scales: o.scales, PreSlope: o.preSlope}
	var sources []*Ring
	for _, p := range o.Src {
		sources = append(sources, b.Source(p, b.sourcePlace(s, p.C, end-first, p.H), first, end))
		a.Src = append(a.Src, sources[len(sources)-1].Ring)
	}
	dst := b.Target(s.OutC, s.H, s.W, b.targetPlace(s, max(y1-y0, 1)))
	a.Dst = dst.Ring
	if o.Res != nil {
		sources = append(sources, b.Source(o.Res, b.targetPlace(s, max(y1-y0, 1)), y0, y1))
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

// rows are the rows of the sources that rows [y0,y1) need, no fewer than one.
func (o *Operands) rows(y0, y1 int) (first, end int) {
	s, h := o.Shape, o.Shape.H
	if w := s.Window; w != nil {
		h, first = w.SrcH, w.SrcH
		for y := y0; y < y1; y++ {
			for i := range w.KH {
				if r := fuse.PadIndex(w.Pad, y*w.StrideH+i*w.DilationH-w.Top, h); r >= 0 {
					first, end = min(first, r), max(end, r+1)
				}
			}
		}
		if first >= end { // all are zeros
			return 0, 1
		}
		return first, end
	}
	first, end = max(y0-s.K/2, 0), min(y1+s.K/2, h)
	for y := y0; y < y1; y++ {
		for i := range s.K { // planes may be lower than kernels
			r := fuse.Reflect(y+i-s.K/2, h)
			first, end = min(first, r), max(end, r+1)
		}
	}
	return first, end
}

// sourceSides are those of the planes read.
func (o *Operands) sourceSides() (h, w int) {
	if win := o.Shape.Window; win != nil {
		return win.SrcH, win.SrcW
	}
	return o.Shape.H, o.Shape.W
}

// taps is how many products an output sums.
func (o *Operands) taps() int {
	if w := o.Shape.Window; w != nil {
		return o.Shape.InC() / w.Groups * w.KH * w.KW
	}
	return o.Shape.InC() * o.Shape.K * o.Shape.K
}
