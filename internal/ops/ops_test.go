package ops_test

import (
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

const (
	unit32 = 0x1p-24 // unit roundoff of float32
	unit16 = 0x1p-11 // of binary16
)

// lab is a bench with the package's kernels, in the form for one kind of device.
type lab struct {
	*convtest.Bench
	*ops.Ops
	storage fuse.Storage // of results and sources
}

// openLab compiles the steps of planes.
func openLab(t *testing.T, dev *clrt.Device, caps conv.Caps, p planar.Precision, seed uint64, pad model.PadMode, norms bool) *lab {
	b := convtest.Open(t, dev, p, seed)
	b.Pad = pad
	prog, err := b.Ctx.Build(planar.Source(p, pad)+ops.Source(caps, norms), conv.BuildOptions)
	b.Must(err)
	o, err := ops.New(prog, b.Queue, caps, norms)
	b.Must(err)
	t.Cleanup(o.Close)
	return &lab{Bench: b, Ops: o}
}

// anywhere is a place for c channels.
func (l *lab) anywhere(c, rows, h int) convtest.Place {
	switch l.storage {
	case fuse.Octets:
		return l.OctetPlace(c, rows, h)
	case fuse.Pairs:
		return l.PairPlace(c, rows, h, false)
	}
	return l.Anywhere(c, rows, h)
}

// eachLab runs a test in both precisions with the kernels' form for CPUs and for
// GPUs, whatever the device is.
func eachLab(t *testing.T, test func(l *lab)) {
	dev := convtest.Device(t)
	own := conv.CapsOf(dev.Info())
	gpu := own
	gpu.CPU, gpu.MaxWorkGroup = false, min(own.MaxWorkGroup, 256)
	cpu := own
	cpu.CPU = true
	for form, caps := range map[string]conv.Caps{"gpu": gpu, "cpu": cpu} {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			t.Run(fmt.Sprintf("%s/%s", form, p), func(t *testing.T) {
				test(openLab(t, dev, caps, p, 1, model.PadReflect, true))
			})
		}
	}
}

// sweep runs make over all rows of a c×h×w result in one launch and again in
// random parts, compares the two bit for bit and returns the result. make gets a
// target and returns the sources it placed.
func (l *lab) sweep(c, h, w int, make func(dst planar.Ring, y0, y1 int) []*convtest.Ring) *convtest.Plane {
	l.Helper()
	launch := func(out *convtest.Plane, y0, y1 int) {
		dst := l.Target(c, h, w, l.anywhere(c, y1-y0, h))
		sources := make(dst.Ring, y0, y1)
		dst.Take(out, y0, y1)
		for i, s := range sources {
			s.Unchanged(fmt.Sprintf("source %d", i))
		}
		l.Release()
	}
	whole, parts := convtest.NewPlane(c, h, w), convtest.NewPlane(c, h, w)
	launch(whole, 0, h)
	for y := 0; y < h; {
		y1 := min(h, y+1+l.Rng.IntN(1+h/2))
		launch(parts, y, y1)
		y = y1
	}
	l.Same("in parts", parts, whole)
	return whole
}

// near checks a result against want(c,y,x) = value and tolerance, to which
// rounding to the storage is added.
func (l *lab) near(what string, got *convtest.Plane, want func(c, y, x int) (v, tol float64)) {
	l.Helper()
	for i, g := range got.V {
		c, y, x := i/(got.H*got.W), i/got.W%got.H, i%got.W
		v, tol := want(c, y, x)
		if l.Precision == planar.FP16 {
			tol += max(unit16*(math.Abs(v)+tol), 0x1p-25)
		}
		if !(math.Abs(float64(g)-v) <= tol) {
			l.Errorf("%s: channel %d, row %d, column %d is %v, want %v ± %.2g", what, c, y, x, g, v, tol)
			return
		}
	}
}

// size is a random plane size, often tiny.
func (l *lab) size(mostH, mostW int) (c, h, w int) {
	if l.Rng.IntN(4) == 0 {
		mostH, mostW = 3, 3
	}
	return 1 + l.Rng.IntN(5), 1 + l.Rng.IntN(mostH), 1 + l.Rng.IntN(mostW)
}

func TestMaxPool(t *testing.T) {
	eachLab(t, func(l *lab) {
		for range convtest.Cases(20) {
			c, h, w := l.size(16, 90)
			src := l.Random(c, 2*h+l.Rng.IntN(2), 2*w+l.Rng.IntN(2))
			got := l.sweep(c, h, w, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
				s := l.Source(src, l.Anywhere(c, 2*(y1-y0), src.H), 2*y0, 2*y1)
				l.Must(l.MaxPool(s.Ring, dst, y0, y1))
				return []*convtest.Ring{s}
			})
			l.near("pool", got, func(c, y, x int) (float64, float64) {
				return float64(max(src.At(c, 2*y, 2*x), src.At(c, 2*y, 2*x+1), src.At(c, 2*y+1, 2*x), src.At(c, 2*y+1, 2*x+1))), 0
			})
		}
	})
}

// weights is the exact place of output i of a line of n enlarged by two: source
// sample at and the share of the next one, from integer arithmetic.
func weights(i, n int, alignCorners bool) (at int, share float64) {
	num, den := int64(max(2*i-1, 0)), int64(4) // (i+½)/2-½, held at the start
	if alignCorners {
		num, den = int64(i)*int64(n-1), int64(2*n-1)
	}
	return int(num / den), float64(num%den) / float64(den)
}

// TestUpsample: three interpolations of values up to 1 with weights rounded once.
func TestUpsample(t *testing.T) {
	eachLab(t, func(l *lab) {
		for i := range convtest.Cases(20) {
			c, h, w := l.size(12, 60)
			align := i%2 == 0
			l.upsample(l.Random(c, h, w), align)
		}
	})
}

// TestUpsampleFar goes where products of coordinates leave 31 and 32 bits.
func TestUpsampleFar(t *testing.T) {
	eachLab(t, func(l *lab) {
		for _, n := range []int{32767, 32769, 46341, 46343, 70001} {
			for _, align := range []bool{false, true} {
				l.upsample(l.Random(1, 1, n), align)
				l.upsampleRows(l.Random(1, n, 1), align, 2*n-3, 2*n)
				l.upsampleRows(l.Random(1, n, 1), align, n-1, n+2)
			}
		}
	})
}

func (l *lab) upsample(src *convtest.Plane, align bool) {
	l.Helper()
	got := l.sweep(src.C, 2*src.H, 2*src.W, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
		return []*convtest.Ring{l.enlarge(src, planar.Ring{}, dst, align, y0, y1)}
	})
	l.near(fmt.Sprintf("upsample %dx%d, align %v", src.H, src.W, align), got, enlarged(src, align, 0))
	res := l.Random(src.C, got.H, got.W)
	sum := l.sweep(src.C, got.H, got.W, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
		r := l.Source(res, l.Anywhere(src.C, y1-y0, got.H), y0, y1)
		return []*convtest.Ring{l.enlarge(src, r.Ring, dst, align, y0, y1), r}
	})
	for i, v := range sum.V {
		if want := l.Round(got.V[i] + res.V[i]); v != want {
			l.Errorf("upsample %dx%d, align %v, and a residual: sample %d is %v, want %v", src.H, src.W, align, i, v, want)
			break
		}
	}
}

// upsampleRows makes only some rows of a high plane.
func (l *lab) upsampleRows(src *convtest.Plane, align bool, y0, y1 int) {
	l.Helper()
	dst := l.Target(src.C, 2*src.H, 2*src.W, convtest.Place{CAll: src.C, Rows: y1 - y0})
	l.enlarge(src, planar.Ring{}, dst.Ring, align, y0, y1)
	all := convtest.NewPlane(src.C, 2*src.H, 2*src.W)
	dst.Take(all, y0, y1)
	l.Release()
	some := &convtest.Plane{C: 1, H: y1 - y0, W: all.W, V: all.V[y0*all.W : y1*all.W]}
	l.near(fmt.Sprintf("upsample rows %d to %d, align %v", y0, y1, align), some, enlarged(src, align, y0))
}

// enlarge places the source rows that rows [y0,y1) need and makes those.
func (l *lab) enlarge(src *convtest.Plane, res, dst planar.Ring, align bool, y0, y1 int) *convtest.Ring {
	first, _ := weights(y0, src.H, align)
	last, _ := weights(y1-1, src.H, align)
	end := min(last+2, src.H)
	s := l.Source(src, l.Anywhere(src.C, end-first, src.H), first, end)
	l.Must(l.Upsample(s.Ring, res, dst, y0, y1, align))
	return s
}

func enlarged(src *convtest.Plane, align bool, top int) func(c, y, x int) (float64, float64) {
	return func(c, y, x int) (float64, float64) {
		sy, fy := weights(y+top, src.H, align)
		sx, fx := weights(x, src.W, align)
		line := func(y int) float64 {
			return (1-fx)*float64(src.At(c, y, sx)) + fx*float64(src.At(c, y, min(sx+1, src.W-1)))
		}
		return (1-fy)*line(sy) + fy*line(min(sy+1, src.H-1)), 12 * unit32
	}
}

func TestShuffle(t *testing.T) {
	eachLab(t, func(l *lab) {
		for range convtest.Cases(20) {
			c, h, w := l.size(12, 60)
			src := l.Random(4*c, h, w)
			got := l.sweep(c, 2*h, 2*w, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
				s := l.Source(src, l.Anywhere(4*c, (y1+1)/2-y0/2, h), y0/2, (y1+1)/2)
				l.Must(l.Shuffle(s.Ring, dst, y0, y1))
				return []*convtest.Ring{s}
			})
			l.near("shuffle", got, func(c, y, x int) (float64, float64) {
				return float64(src.At(4*c+2*(y%2)+x%2, y/2, x/2)), 0
			})
		}
	})
}

// TestPointwise runs every combination of scales, activation, residual and in
// place.
func TestPointwise(t *testing.T) {
	eachLab(t, func(l *lab) {
		for i := range convtest.Cases(24) {
			c, h, w := l.size(12, 90)
			p := pointwise{lab: l, src: l.Random(c, h, w), act: fuse.Act(i % 3), slope: 0.125}
			if i/3%2 == 1 {
				p.res = l.Random(c, h, w)
			}
			if i/6%2 == 1 {
				p.first, p.all = l.Rng.IntN(3), c+5
				for range 2 * p.all {
					p.scales = append(p.scales, 2*l.Rng.Float32()-1)
				}
			}
			if i/12%2 == 1 {
				p.inPlace()
			} else {
				p.apart()
			}
		}
	})
}

type pointwise struct {
	*lab
	src, res   *convtest.Plane
	scales     []float32 // of all channels, then as many shifts; nil for none
	first, all int
	act        fuse.Act
	slope      float32
}

// launch runs rows [y0,y1) from ring s to dst and checks what it read.
func (p *pointwise) launch(s, dst planar.Ring, y0, y1 int) {
	var scales, res planar.Ring
	if p.scales != nil {
		scales = planar.NewRing(p.Floats(append(make([]float32, 16), p.scales...)), 64, fuse.Tensor{Storage: fuse.Scales}, 1)
		scales.C = p.all
	}
	var r *convtest.Ring
	if p.res != nil {
		r = p.Source(p.res, p.Anywhere(p.src.C, y1-y0, p.src.H), y0, y1)
		res = r.Ring
	}
	p.Must(p.Pointwise(s, scales, p.first, res, dst, y0, y1, p.act, p.slope))
	if r != nil {
		r.Unchanged("residual")
	}
}

func (p *pointwise) apart() {
	got := p.sweep(p.src.C, p.src.H, p.src.W, func(dst planar.Ring, y0, y1 int) []*convtest.Ring {
		s := p.Source(p.src, p.Anywhere(p.src.C, y1-y0, p.src.H), y0, y1)
		p.launch(s.Ring, dst, y0, y1)
		return []*convtest.Ring{s}
	})
	p.near("pointwise", got, p.want)
}

func (p *pointwise) inPlace() {
	got := convtest.NewPlane(p.src.C, p.src.H, p.src.W)
	s := p.Source(p.src, p.Anywhere(p.src.C, p.src.H, p.src.H), 0, p.src.H)
	p.launch(s.Ring, s.Ring, 0, p.src.H)
	s.Take(got, 0, p.src.H)
	p.Release()
	p.near("pointwise in place", got, p.want)
}

// want allows the rounding of a multiply-add, of an activation (8u for a
// sigmoid: exp has 3 ulp, division 2.5) and of a sum.
func (p *pointwise) want(c, y, x int) (float64, float64) {
	v := float64(p.src.At(c, y, x))
	if p.scales != nil {
		v = v*float64(p.scales[p.first+c]) + float64(p.scales[p.all+p.first+c])
	}
	switch {
	case p.act == fuse.LeakyReLU && v < 0:
		v *= float64(p.slope)
	case p.act == fuse.Sigmoid:
		v = 1 / (1 + math.Exp(-v))
	}
	if p.res != nil {
		v += float64(p.res.At(c, y, x))
	}
	return v, 16 * unit32
}

func floats(b *convtest.Bench, buf *clrt.Buffer, n int) []float32 {
	b.Helper()
	raw := make([]byte, 4*n)
	b.Must(b.Queue.Read(buf, 0, raw))
	v := make([]float32, n)
	for i := range v {
		v[i] = math.Float32frombits(uint32(raw[4*i]) | uint32(raw[4*i+1])<<8 | uint32(raw[4*i+2])<<16 | uint32(raw[4*i+3])<<24)
	}
	return v
}
