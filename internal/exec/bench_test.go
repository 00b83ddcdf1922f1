package exec_test

import (
	"context"
	"fmt"
	"os"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/internal/usage"
	"enhance/model"
)

// BenchmarkPyNETS runs the embedded network on a 1184×1888 mosaic.
func BenchmarkPyNETS(b *testing.B) {
	m, err := model.Load("pynet-s")
	if err != nil {
		b.Fatal(err)
	}
	for _, rows := range []int{0, 8, 32, 128} {
		b.Run(fmt.Sprintf("rows=%d", rows), func(b *testing.B) { benchNet(b, m, 592, 944, exec.Options{Rows: rows}) })
	}
	b.Run("planes", func(b *testing.B) { benchNet(b, m, 592, 944, exec.Options{WholePlanes: true}) })
}

// BenchmarkPhoto12MP runs networks on a 12 MP photo: for a GPU.
func BenchmarkPhoto12MP(b *testing.B) {
	if convtest.Device(b).Info().Type == clrt.CPU && os.Getenv("ENHANCE_LONG") == "" {
		b.Skip("takes minutes on a CPU; set ENHANCE_LONG=1 to run it there")
	}
	for _, spec := range []string{"pynet-s", "pynet-random:gold"} {
		m, err := model.Load(spec)
		if err != nil {
			b.Fatal(err)
		}
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			b.Run(fmt.Sprintf("%s/%s", spec, p), func(b *testing.B) { benchNet(b, m, 1440, 1984, exec.Options{Precision: p}) })
		}
	}
}

func benchNet(b *testing.B, m *model.Model, h, w int, opt exec.Options) {
	dev := convtest.Device(b)
	job, err := exec.Prepare(m, h, w, dev.Info(), opt)
	if err != nil {
		b.Fatal(err)
	}
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		b.Fatal(err)
	}
	defer ctx.Close()
	e, err := job.Open(ctx)
	if err != nil {
		b.Fatal(err)
	}
	defer e.Close()
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	o := job.Program.Tensors[job.Program.Output]
	out := &tensor{c: o.C, h: o.H, w: o.W, v: make([]float32, o.Elems())}
	cpu := usage.CPUSeconds()
	for b.Loop() {
		if err := e.Run(context.Background(), source{in}, sink{out}, nil); err != nil {
			b.Fatal(err)
		}
	}
	cpu = usage.CPUSeconds() - cpu
	b.ReportMetric(float64(job.Plan.Cost.FLOPs)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
	b.ReportMetric(float64(e.Peak())/(1<<20), "MiB-peak")
	b.ReportMetric(float64(job.Plan.Cost.FLOPs)*float64(b.N)/cpu/1e9, "GFLOP/cpu-s")
}

// BenchmarkPlan12MP plans PyNET for a 12 MP photo on an H200, at rates as they were measured there.
func BenchmarkPlan12MP(b *testing.B) {
	m, err := model.Load("pynet-random:gold")
	if err != nil {
		b.Fatal(err)
	}
	info := &clrt.DeviceInfo{Name: "H200", Type: clrt.GPU, GlobalMem: 139 << 30, MaxAlloc: 35 << 30, LocalMem: 48 << 10, MaxWorkGroup: 1024, ComputeUnits: 132}
	rates, err := exec.ParseRates("launch=5e-06 hop=1e-05 up=5.4e+10 down=5.4e+10 both=9.9e+10 memory=4.1e+12")
	if err != nil {
		b.Fatal(err)
	}
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		for _, mib := range []int64{0, 4096, 2048, 1024, 512, 256, 128, 64} {
			b.Run(fmt.Sprintf("%s/%dM", p, mib), func(b *testing.B) {
				opt := exec.Options{Precision: p, Budget: budgetOf(mib), Units: conv.Units{Matrix: true, Warpgroup: true}, Rates: rates}
				for b.Loop() {
					if _, err := exec.Prepare(m, 1440, 1984, info, opt); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
