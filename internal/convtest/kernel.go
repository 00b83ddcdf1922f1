package convtest

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// Single is a convolution of one kernel and one source whose kernel is to be timed,
// or whose compiler's report is to be read.
type Single struct {
	Impl      conv.Impl
	Shape     conv.Shape
	Precision planar.Precision
	// Residual says that one is added.
	Residual bool
	// Launch lists the arguments and sizes of the launch that Impl would make.
	Launch func(packed *clrt.Buffer, a *conv.Args) (args *conv.KernelArgs, global, local []int)
}

// Bench reports TFLOP/s and ms by events of the device, the median of five launches or more after
// two, the seconds that building took, and registers and spilled bytes where the
// compiler reports them.
func (k Single) Bench(b *testing.B, dev *clrt.Device) {
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	ctx, err := clrt.NewContext(dev)
	must(err)
	defer ctx.Close()
	q, err := ctx.NewQueue()
	must(err)
	start := time.Now()
	prog, err := ctx.Build(conv.ProgramSource(k.Impl, k.Precision, k.Shape), verbose)
	must(err)
	built := time.Since(start).Seconds()
	kern, err := prog.Kernel(k.Impl.Kernels()[0].Name)
	must(err)
	packed, args, err := k.operands(ctx, q)
	must(err)
	list, global, local := k.Launch(packed, args)
	must(list.Set(kern))
	var took []float64
	for len(took) < 7 || b.Loop() {
		ev, err := q.Launch(kern, global, local)
		must(err)
		_, _, start, end, err := ev.Times()
		must(err)
		must(ev.Close())
		took = append(took, float64(end-start)/1e9)
	}
	took = took[2:]
	slices.Sort(took)
	seconds := took[len(took)/2]
	b.ReportMetric(k.Shape.FLOPs()/seconds/1e12, "TFLOP/s")
	b.ReportMetric(seconds*1e3, "ms")
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(built, "s-to-build")
	for line := range strings.Lines(prog.BuildLog()) {
		if strings.Contains(line, "warning") || strings.Contains(line, "serialized") {
			b.Log(strings.TrimSpace(line))
		}
	}
	for _, u := range parseReport(prog.BuildLog()) { // one kernel, or none where the program was in a cache
		b.ReportMetric(float64(u.registers), "registers")
		b.ReportMetric(float64(u.spilled), "spill-bytes")
	}
}

// operands are random ones, for norms before and after too, in buffers that close with
// ctx.
func (k Single) operands(ctx *clrt.Context, q *clrt.Queue) (*clrt.Buffer, *conv.Args, error) {
	s, p := k.Shape, k.Precision
	var failed error
	random := func(n int64, p planar.Precision, purpose string) *clrt.Buffer {
		buf, err := ctx.NewBuffer(n, purpose)
		if err == nil {
			err = fillRandom(q, buf, p)
		}
		if err != nil && failed == nil {
			failed = err
		}
		return buf
	}
	storage := func(octets, codes bool) fuse.Storage {
		switch {
		case octets:
			return fuse.Octets
		case codes:
			return fuse.Codes
		}
		return fuse.Activation
	}
	ring := func(c int, st fuse.Storage) planar.Ring {
		t := fuse.Tensor{Shape: model.Shape{C: c, H: s.H, W: s.W}, Storage: st}
		return planar.NewRing(random(planar.RowBytes(t, p)*int64(s.H)+planar.RimBytes(t, p), p, "ring"), 0, t, s.H)
	}
	a := &conv.Args{Src: []planar.Ring{ring(s.InC(), storage(s.Octets, s.Codes))}, Dst: ring(s.OutC, storage(s.OctetsOut, s.Store)), Y1: s.H, Slope: 0.2}
	half := conv.Quantizer{Inverse: 50, Zero: 128}
	a.Zero, a.Store, a.Between, a.InnerSlope = conv.Quantizer{Inverse: 100, Zero: 128}, half, half, 0.2
	if k.Residual {
		a.Res = ring(s.OutC, storage(s.OctetsOut, false))
	}
	a.Scratch = random(max(k.Impl.Scratch(s.H), 4), planar.FP32, "statistics")
	scales := fuse.Tensor{Storage: fuse.Scales, Shape: model.Shape{C: s.InC(), H: 1, W: 1}}
	a.Scales = planar.NewRing(random(int64(4*2*s.InC()), planar.FP32, "scales"), 0, scales, 1)
	var raw []byte
	for _, v := range k.packed() {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	weights, err := ctx.NewBuffer(int64(len(raw)), "weights")
	if err == nil {
		err = q.Write(weights, 0, raw)
	}
	if failed == nil {
		failed = err
	}
	return weights, a, failed
}

// packed are random parameters, as the kernel takes them.
func (k Single) packed() []float32 {
	s, rng := k.Shape, rand.New(rand.NewPCG(1, 2))
	c, ok := k.Impl.(conv.Integer)
	if !ok {
		return k.Impl.Pack(Randoms(rng, s.OutC*s.InC()*s.K*s.K), Randoms(rng, s.OutC))
	}
	if in := s.Inner; in != nil {
		w := integers(rng, s.OutC, in.OutC*s.K*s.K, 128)
		w.Inner = integers(rng, in.OutC, s.InC()*in.K*in.K, 128)
		return c.PackCodes(w)
	}
	return c.PackCodes(integers(rng, s.OutC, s.InC()*s.K*s.K, 128))
}

// NoSpills is [NoSpills] of the kernel.
func (k Single) NoSpills(t *testing.T, ctx *clrt.Context) {
	t.Helper()
	NoSpills(t, ctx, k.Impl.Kernels()[0].Name, conv.ProgramSource(k.Impl, k.Precision, k.Shape))
}

// fillRandom fills a buffer with numbers in -1..1.
func fillRandom(q *clrt.Queue, buf *clrt.Buffer, p planar.Precision) error {
	var block []byte
	for _, v := range Randoms(rand.New(rand.NewPCG(5, 6)), 1<<20) {
		if p == planar.FP16 {
			block = binary.LittleEndian.AppendUint16(block, planar.Half(v))
		} else {
			block = binary.LittleEndian.AppendUint32(block, math.Float32bits(v))
		}
	}
	for off := int64(0); off < buf.Size(); off += int64(len(block)) {
		if err := q.Write(buf, off, block[:min(int64(len(block)), buf.Size()-off)]); err != nil {
			return err
		}
	}
	return nil
}

// Randoms is n numbers in -1..1.
func Randoms(rng *rand.Rand, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = 2*rng.Float32() - 1
	}
	return v
}
