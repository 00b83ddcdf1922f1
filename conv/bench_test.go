package conv_test

import (
	"fmt"
	"syscall"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// BenchmarkConv times single convolutions of pynet-s and PyNET in 64 rows.
func BenchmarkConv(b *testing.B) {
	ds, err := clrt.Devices()
	if err != nil {
		b.Skipf("needs an OpenCL device: %v", err)
	}
	for _, s := range []conv.Shape{
		{K: 3, SrcC: []int{24}, OutC: 24, W: 944}, {K: 5, SrcC: []int{24}, OutC: 12, W: 944}, {K: 3, SrcC: []int{12}, OutC: 12, W: 944},
		{K: 5, SrcC: []int{12}, OutC: 12, W: 944},
		{K: 3, SrcC: []int{96}, OutC: 96, W: 118}, {K: 3, SrcC: []int{64}, OutC: 64, W: 236}, {K: 5, SrcC: []int{40}, OutC: 20, W: 472},
		{K: 9, SrcC: []int{128}, OutC: 32, W: 512}, {K: 7, SrcC: []int{192}, OutC: 64, W: 256}, {K: 5, SrcC: []int{32}, OutC: 32, W: 512},
	} {
		s.H, s.Act = 64, fuse.LeakyReLU
		b.Run(fmt.Sprintf("k%d-%d-%d-w%d", s.K, s.SrcC[0], s.OutC, s.W), func(b *testing.B) { benchConv(b, ds[0], s) })
	}
}

func benchConv(b *testing.B, dev *clrt.Device, s conv.Shape) {
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		b.Fatal(err)
	}
	defer ctx.Close()
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	q, err := ctx.NewQueue()
	must(err)
	impl, err := conv.Direct(conv.CapsOf(dev.Info())).New(conv.CapsOf(dev.Info()), s, planar.FP32)
	must(err)
	k := impl.Kernels()[0]
	p, err := ctx.Build(planar.Source(planar.FP32)+k.Source, "")
	must(err)
	kern, err := p.Kernel(k.Name)
	must(err)
	ring := func(c int) planar.Ring {
		t := fuse.Tensor{Shape: model.Shape{C: c, H: s.H, W: s.W}}
		buf, err := ctx.NewBuffer(planar.RowBytes(t, planar.FP32)*int64(s.H)+planar.RimBytes(t, planar.FP32), "ring")
		must(err)
		must(q.Fill(buf, 0, buf.Size(), []byte{0, 0, 0, 0}))
		return planar.NewRing(buf, 0, t, s.H)
	}
	a := &conv.Args{Src: []planar.Ring{ring(s.InC())}, Dst: ring(s.OutC), Y1: s.H, Slope: 0.2}
	w, err := ctx.NewBuffer(int64(impl.PackedLen())*4, "weights")
	must(err)
	must(q.Fill(w, 0, w.Size(), []byte{0, 0, 0, 0}))
	run := func() { must(impl.Launch(q, []*clrt.Kernel{kern}, w, a)); must(q.Finish()) }
	run()
	cpu := cpuSeconds()
	for b.Loop() {
		run()
	}
	cpu = cpuSeconds() - cpu
	flops := 2 * float64(s.K*s.K*s.InC()*s.OutC) * float64(s.H*s.W)
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	b.ReportMetric(flops*float64(b.N)/cpu/1e9, "GFLOP/cpu-s")
	b.ReportMetric(0, "ns/op")
	b.Log(k.Name)
}

// cpuSeconds is the processor time of the process: on a CPU device it measures
// kernels even while other programs share the cores.
func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
