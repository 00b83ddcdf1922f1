package winograd_test

import (
	"fmt"
	"syscall"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
	"enhance/winograd"
)

// BenchmarkConv times Winograd in every form for the device beside direct
// convolution, for layers of pynet-s and PyNET: 72 rows on a CPU, whole square
// planes elsewhere. GFLOP are those of the direct sum.
func BenchmarkConv(b *testing.B) {
	d := openDevice(b)
	for _, s := range []conv.Shape{
		{SrcC: []int{24}, OutC: 24, K: 3, W: 944}, {SrcC: []int{64}, OutC: 64, K: 3, W: 236}, {SrcC: []int{96}, OutC: 96, K: 3, W: 118},
		{SrcC: []int{512}, OutC: 128, K: 3, W: 124},
		{SrcC: []int{12}, OutC: 12, K: 3, W: 944}, {SrcC: []int{32}, OutC: 32, K: 3, W: 512}, {SrcC: []int{24}, OutC: 12, K: 5, W: 944},
		{SrcC: []int{32}, OutC: 32, K: 5, W: 512}, {SrcC: []int{256}, OutC: 64, K: 5, W: 256},
		{SrcC: []int{192}, OutC: 64, K: 7, W: 256}, {SrcC: []int{128}, OutC: 32, K: 9, W: 512},
	} {
		s.H, s.Act = 72, fuse.LeakyReLU
		if !d.caps().CPU {
			s.H = s.W
		}
		algos := []conv.Algo{conv.Direct(d.caps())}
		for _, v := range winograd.Variants() {
			if t, err := v.Transform(); err != nil || t.R != s.K {
				continue
			}
			algos = append(algos, winograd.Algo(v))
			if !d.caps().CPU && (v == winograd.V2x3 || v == winograd.V4x3) {
				algos = append(algos, winograd.Convolution{Variant: v, Form: winograd.Fused})
			}
		}
		for _, a := range algos {
			b.Run(fmt.Sprintf("k%d-%d-%d-w%d/%s", s.K, s.SrcC[0], s.OutC, s.W, a.Name()), func(b *testing.B) { benchConv(b, d, a, s) })
		}
	}
}

func benchConv(b *testing.B, d *device, algo conv.Algo, s conv.Shape) {
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	impl, err := algo.New(d.caps(), s, planar.FP32)
	must(err)
	prog, kernels, err := d.build(impl, planar.FP32)
	must(err)
	defer prog.Close()
	var buffers []*clrt.Buffer
	defer func() {
		for _, x := range buffers {
			x.Close()
		}
	}()
	buffer := func(n int64) *clrt.Buffer {
		x, err := d.ctx.NewBuffer(n, "bench")
		must(err)
		buffers = append(buffers, x)
		must(d.q.Fill(x, 0, n, []byte{0, 0, 0, 0}))
		return x
	}
	ring := func(c int) planar.Ring {
		t := fuse.Tensor{Shape: model.Shape{C: c, H: s.H, W: s.W}}
		return planar.NewRing(buffer(planar.RowBytes(t, planar.FP32)*int64(s.H)+planar.RimBytes(t, planar.FP32)), 0, t, s.H)
	}
	a := &conv.Args{Src: []planar.Ring{ring(s.InC())}, Dst: ring(s.OutC), Y1: s.H, Slope: 0.2}
	if n := impl.Scratch(s.H); n > 0 {
		a.Scratch = buffer(n)
	}
	w := buffer(int64(impl.PackedLen()) * 4)
	launches := 1
	if !d.caps().CPU {
		launches = 16 // enough to hide the wait for the end
	}
	run := func() {
		for range launches {
			must(impl.Launch(d.q, kernels, w, a))
		}
		must(d.q.Finish())
	}
	run()
	cpu := cpuSeconds()
	for b.Loop() {
		run()
	}
	cpu = cpuSeconds() - cpu
	flops := 2 * float64(s.K*s.K*s.InC()*s.OutC) * float64(s.H*s.W) * float64(launches)
	b.ReportMetric(flops*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	b.ReportMetric(flops*float64(b.N)/cpu/1e9, "GFLOP/cpu-s")
	b.ReportMetric(float64(impl.Scratch(s.H))/(1<<20), "MiB")
	b.ReportMetric(0, "ns/op")
	b.Log(impl.Kernels()[0].Name)
}

// cpuSeconds is the processor time of the process: on a CPU device it measures
// kernels even while other programs share the cores.
func cpuSeconds() float64 {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}
