package convtest

import (
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/usage"
	"enhance/model"
)

// Time reports how fast an algorithm convolves whole planes: GFLOP of the direct sum by the
// second and by the processors' second, its scratch and, by a window, GB of samples by the second, each
// counted once.
func Time(b *testing.B, d *clrt.Device, algo conv.Algo, s conv.Shape, p planar.Precision) {
	TimeAs(b, d, conv.CapsOf(d.Info()), algo, s, p)
}

// TimeAs is Time where algorithms are told caps of the device.
func TimeAs(b *testing.B, d *clrt.Device, caps conv.Caps, algo conv.Algo, s conv.Shape, p planar.Precision) {
	bench := Open(b, d, p, 1)
	impl, err := algo.New(caps, s, p)
	if err != nil {
		b.Skip(err)
	}
	buffer := func(n int64) *clrt.Buffer {
		n = max(n, 4) / 4 * 4
		buf, err := bench.Ctx.NewBuffer(n, "bench")
		bench.Must(err)
		bench.Must(bench.Queue.Fill(buf, 0, n, []byte{0, 0, 0, 0}))
		return buf
	}
	ring := func(c, h, w int, codes, octets, pairs, split bool) planar.Ring {
		t := fuse.Tensor{Shape: model.Shape{C: c, H: h, W: w}}
		switch {
		case codes:
			t.Storage = fuse.Codes
		case octets:
			t.Storage = fuse.Octets
		case split:
			t.Storage = fuse.Split
		case pairs:
			t.Storage = fuse.Pairs
		}
		return planar.NewRing(buffer(planar.RowBytes(t, p)*int64(h)+planar.RimBytes(t, p)), 0, t, h)
	}
	srcH, srcW := (&Operands{Shape: s}).sourceSides()
	a := &conv.Args{Src: []planar.Ring{ring(s.InC(), srcH, srcW, s.Codes, s.Octets, s.Pairs, s.Split)},
		Dst: ring(s.OutC, s.H, s.W, s.Store, s.OctetsOut, s.PairsOut, false), Y1: s.H, Slope: 0.2, Scratch: buffer(impl.Scratch(s.H))}
	packed, kernels := buffer(int64(impl.PackedLen())*4), bench.Kernels(impl)
	launches := 1
	if !caps.CPU {
		launches = 16 // enough to hide the wait for the end
	}
	run := func() {
		for range launches {
			bench.Must(impl.Launch(bench.Queue, kernels, packed, a))
		}
		bench.Must(bench.Queue.Finish())
	}
	run()
	cpu := usage.CPUSeconds()
	for b.Loop() {
		run()
	}
	cpu = usage.CPUSeconds() - cpu
	flops := s.FLOPs() * float64(b.N*launches) / 1e9
	b.ReportMetric(flops/b.Elapsed().Seconds(), "GFLOP/s")
	b.ReportMetric(flops/cpu, "GFLOP/cpu-s")
	if s.Window != nil {
		samples := int64(s.InC())*int64(srcH)*int64(srcW) + int64(s.OutC)*int64(s.H)*int64(s.W)
		b.ReportMetric(float64(samples*int64(p.Bytes()))*float64(b.N*launches)/1e9/b.Elapsed().Seconds(), "GB/s")
	}
	b.ReportMetric(float64(impl.Scratch(s.H)), "B-scratch")
	b.ReportMetric(0, "ns/op")
	b.Log(impl.Kernels()[0].Name)
}

// Kernels compiles an implementation's kernels.
func (b *Bench) Kernels(impl conv.Impl) (ks []*clrt.Kernel) {
	b.Helper()
	built := b.Build(impl.Kernels())
	for _, k := range impl.Kernels() {
		ks = append(ks, built[k.Name])
	}
	return ks
}
