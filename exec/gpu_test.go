package exec_test

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"context"

	"enhance/clrt"
	"enhance/conv/mma"
	"enhance/exec"
	"enhance/model"
	"enhance/planar"
)

// TestTable12MP prints time and peak of a 12 MP photo under budgets, and how far
// results are from the first. It is a tool: set ENHANCE_TABLE to lines of
// "model precision budget-in-MiB", separated by semicolons; precision is fp32,
// tf32, fp16 or one of them followed by -portable for no matrix units.
func TestTable12MP(t *testing.T) {
	rows := os.Getenv("ENHANCE_TABLE")
	if rows == "" {
		t.Skip("set ENHANCE_TABLE, for example to \"pynet-s fp16 0;pynet-s fp16 256\"")
	}
	var ref []float32
	for _, line := range splitLines(rows) {
		var spec, prec string
		var mib int64
		if n, _ := fmt.Sscanf(line, "%s %s %d", &spec, &prec, &mib); n != 3 {
			t.Fatalf("%q is not model, precision and budget", line)
		}
		out := tableRow(t, spec, prec, mib)
		if out == nil {
			continue
		}
		if ref == nil {
			ref = out
		}
		sum, finite := 0.0, true
		for i, v := range out {
			d := float64(v) - float64(ref[i])
			sum += d * d
			finite = finite && !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
		}
		h := sha256.New()
		binary.Write(h, binary.LittleEndian, out)
		t.Logf("    PSNR to the first %.2f dB, finite %v, sha256 %x", -10*math.Log10(sum/float64(len(out))), finite, h.Sum(nil)[:6])
	}
}

func splitLines(s string) (ls []string) {
	for len(s) > 0 {
		i := slices.Index([]byte(s), ';')
		if i < 0 {
			return append(ls, s)
		}
		ls, s = append(ls, s[:i]), s[i+1:]
	}
	return ls
}

func tableRow(t *testing.T, spec, prec string, mib int64) []float32 {
	const h, w = 1440, 1984
	dev := device(t)
	m, err := model.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	opt := exec.Options{Budget: mib << 20, Matrix: mma.Probe(ctx)}
	switch prec {
	case "fp16":
		opt.Precision = planar.FP16
	case "tf32":
		opt.TF32 = true
	case "fp16-portable":
		opt.Precision, opt.Matrix = planar.FP16, false
	case "fp32-portable":
		opt.Matrix = false
	case "fp16-direct", "fp32-direct":
		if opt.Matrix = false; prec == "fp16-direct" {
			opt.Precision = planar.FP16
		}
		if opt.Algo, err = exec.ParseAlgos("direct-tile"); err != nil {
			t.Fatal(err)
		}
	}
	if opt.Rates, err = exec.MeasureRates(ctx, dev.Info().Unified || dev.Info().Type == clrt.CPU, opt.Budget); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	job, err := exec.Prepare(m, h, w, dev.Info(), opt)
	if err != nil {
		t.Logf("%-28s %-13s %5d MiB: %v", spec, prec, mib, err)
		return nil
	}
	planned := time.Since(start)
	e, err := job.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	opened := time.Since(start) - planned
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	o := job.Program.Tensors[job.Program.Output]
	out := &tensor{c: o.C, h: o.H, w: o.W, v: make([]float32, o.Elems())}
	var took []float64
	for range 4 {
		start := time.Now()
		if err := e.Run(context.Background(), source{in}, sink{out}, nil); err != nil {
			t.Fatal(err)
		}
		took = append(took, time.Since(start).Seconds())
	}
	slices.Sort(took[1:])
	c := &job.Plan.Cost
	t.Logf("%-28s %-13s %5d MiB: %8.1f ms (first %.0f, plan %.0f, open %.0f), predicted %.0f (work %.0f, link %.0f), peak %7.1f MiB as planned %v, %s, %d launches, up %.1f GB, down %.1f GB, host %.0f MiB", spec, prec, mib,
		took[2]*1e3, took[0]*1e3, planned.Seconds()*1e3, opened.Seconds()*1e3, c.Seconds*1e3, c.WorkSeconds*1e3, c.LinkSeconds*1e3,
		float64(e.Peak())/(1<<20), e.Peak() == job.Plan.Peak, job.Plan.Strategy, c.Launches,
		float64(c.UploadBytes)/1e9, float64(c.DownloadBytes)/1e9, float64(job.Plan.HostBytes)/(1<<20))
	return out.v
}
