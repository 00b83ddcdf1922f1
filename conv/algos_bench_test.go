package conv_test

import (
	"fmt"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// BenchmarkAlgos times every algorithm of the registry that is made for the
// device on layers of PyNET; ENHANCE_LONG=1 takes planes of the paper's size.
func BenchmarkAlgos(b *testing.B) {
	d := convtest.Device(b)
	caps := conv.CapsOf(d.Info())
	shapes := []conv.Shape{
		{K: 9, SrcC: []int{128}, OutC: 32, H: 16, W: 512}, {K: 7, SrcC: []int{192}, OutC: 64, H: 16, W: 256},
		{K: 5, SrcC: []int{32}, OutC: 32, H: 32, W: 512}, {K: 3, SrcC: []int{64}, OutC: 64, H: 64, W: 236},
		{K: 3, SrcC: []int{16}, OutC: 3, H: 64, W: 992}, {K: 3, SrcC: []int{512}, OutC: 512, H: 16, W: 124},
	}
	for i, s := range shapes {
		if convtest.Cases(1) > 1 {
			full := [][2]int{{1440, 1984}, {720, 992}, {1440, 1984}, {720, 992}, {2880, 3968}, {90, 124}}[i]
			s.H, s.W = full[0], full[1]
		}
		s.Act = fuse.LeakyReLU
		for _, a := range conv.Registry(caps) {
			if caps.CPU && (a.Name() == "direct-tile" || a.Name() == "direct-packed") || !caps.CPU && a.Name() == "direct-rows" {
				continue
			}
			for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
				b.Run(fmt.Sprintf("k%d-%d-%d-%dx%d/%s/%s", s.K, s.InC(), s.OutC, s.H, s.W, a.Name(), p), func(b *testing.B) {
					benchAlgo(b, d, a, s, p)
				})
			}
		}
	}
}

func benchAlgo(b *testing.B, d *clrt.Device, algo conv.Algo, s conv.Shape, p planar.Precision) {
	bench := convtest.Open(b, d, p, 1)
	impl, err := algo.New(conv.CapsOf(d.Info()), s, p)
	if err != nil {
		b.Skip(err)
	}
	buffer := func(n int64) *clrt.Buffer {
		buf, err := bench.Ctx.NewBuffer(max(n, 4), "bench")
		bench.Must(err)
		bench.Must(bench.Queue.Fill(buf, 0, max(n, 4)/4*4, []byte{0, 0, 0, 0}))
		return buf
	}
	ring := func(c int) planar.Ring {
		t := fuse.Tensor{Shape: model.Shape{C: c, H: s.H, W: s.W}}
		return planar.NewRing(buffer(planar.RowBytes(t, p)*int64(s.H)+planar.RimBytes(t, p)), 0, t, s.H)
	}
	a := &conv.Args{Src: []planar.Ring{ring(s.InC())}, Dst: ring(s.OutC), Y1: s.H, Slope: 0.2, Scratch: buffer(impl.Scratch(s.H))}
	packed := buffer(int64(impl.PackedLen()) * 4)
	built := bench.Build(impl.Kernels())
	var ks []*clrt.Kernel
	for _, k := range impl.Kernels() {
		ks = append(ks, built[k.Name])
	}
	run := func() {
		bench.Must(impl.Launch(bench.Queue, ks, packed, a))
		bench.Must(bench.Queue.Finish())
	}
	run()
	cpu := cpuSeconds()
	for b.Loop() {
		run()
	}
	cpu = cpuSeconds() - cpu
	flops := 2 * float64(s.K*s.K*s.InC()*s.OutC) * float64(s.H*s.W) * float64(b.N) / 1e9
	b.ReportMetric(flops/b.Elapsed().Seconds(), "GFLOP/s")
	b.ReportMetric(flops/cpu, "GFLOP/cpu-s")
	b.ReportMetric(float64(impl.Scratch(s.H)), "B-scratch")
	b.ReportMetric(0, "ns/op")
}
