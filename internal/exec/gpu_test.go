package exec_test

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/internal/trace"
	"enhance/model"
)

// TestTable12MP prints time and peak of a 12 MP photo under budgets, and how far
// results are from the first of the precision. It is a tool: set ENHANCE_TABLE to
// lines of "model precision budget-in-MiB", separated by semicolons; precision is
// fp32, tf32, fp16 or one of them followed by -portable for no matrix units, -mma for
// no warpgroups of them. The three figures of a run are its work, which is the time of the first run of the
// precision without a budget, its bytes over the link at the rates measured just
// before, and its time, with what that is of the longer of the two.
// ENHANCE_TRACE names a folder for a timeline of one more run of each line.
func TestTable12MP(t *testing.T) {
	rows := os.Getenv("ENHANCE_TABLE")
	if rows == "" {
		t.Skip("set ENHANCE_TABLE, for example to \"pynet-s fp16 0;pynet-s fp16 256\"")
	}
	refs, work := map[string][]float32{}, map[string]float64{}
	for _, line := range strings.Split(rows, ";") {
		var spec, prec string
		var mib int64
		if n, _ := fmt.Sscanf(line, "%s %s %d", &spec, &prec, &mib); n != 3 {
			t.Fatalf("%q is not model, precision and budget", line)
		}
		out, took, link := tableRow(t, spec, prec, mib)
		if out == nil {
			continue
		}
		key := spec + " " + prec
		ref := refs[key]
		if ref == nil {
			ref, refs[key] = out, out
		}
		if mib == 0 && work[key] == 0 {
			work[key] = took
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
		if work[key] > 0 {
			t.Logf("    work %.0f ms, link %.0f ms, run %.0f ms: %.2f of the longer", work[key]*1e3, link*1e3, took*1e3, took/max(work[key], link))
		}
	}
}

// tableRow gives the result, the median time, and that of the bytes over the link.
func tableRow(t *testing.T, spec, prec string, mib int64) (result []float32, seconds, link float64) {
	const h, w = 1440, 1984
	dev := convtest.Device(t)
	m, err := model.Load(spec)
	if err != nil {
		t.Fatal(err)
	}
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	opt := tableOptions(t, ctx, prec, mib)
	if dir := os.Getenv("ENHANCE_TRACE"); dir != "" {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%d.json", prec, mib)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		tr := trace.New(f)
		defer tr.Close()
		opt.Profiler = exec.NewProfile("device", tr, 1, nil)
		opt.Profiler.Pause(true)
	}
	start := time.Now()
	job, err := exec.Prepare(m, h, w, dev.Info(), opt)
	if err != nil {
		t.Logf("%-28s %-13s %5d MiB: %v", spec, prec, mib, err)
		return nil, 0, 0
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
	t.Logf("    rates %v", opt.Rates)
	if opt.Profiler != nil {
		traceRun(t, opt.Profiler, func() error { return e.Run(context.Background(), source{in}, sink{out}, nil) })
	}
	up, down := float64(c.UploadBytes), float64(c.DownloadBytes)
	return out.v, took[2], max(up/opt.Rates.Up, down/opt.Rates.Down, (up+down)/opt.Rates.Both)
}

// tableOptions are those of a precision within a budget, with rates just measured.
func tableOptions(t *testing.T, ctx *clrt.Context, prec string, mib int64) exec.Options {
	t.Helper()
	info := ctx.Device().Info()
	var err error
	opt := exec.Options{Budget: budgetOf(mib), Units: conv.Units{Matrix: convtest.Has(t, mma.Probe, ctx)}}
	switch prec {
	case "fp16":
		opt.Precision, opt.Warpgroup = planar.FP16, convtest.Has(t, wgmma.Probe, ctx)
	case "fp16-mma":
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
		spec, err := exec.ParseAlgos("direct-tile")
		if opt.Algo = spec.Algo; err != nil {
			t.Fatal(err)
		}
	}
	if opt.Rates, err = exec.MeasureRates(ctx, info.Unified || info.Type == clrt.CPU, opt.Budget.Bytes()); err != nil {
		t.Fatal(err)
	}
	return opt
}

// traceRun runs once more under a profile and prints its sums.
func traceRun(t *testing.T, p *exec.Profile, run func() error) {
	t.Helper()
	p.Pause(false)
	if err := run(); err != nil {
		t.Fatal(err)
	}
	r := p.Report(nil)
	t.Logf("    profile: wall %.1f ms, kernels %.1f, copies %.1f, gaps %.1f, edges %.1f, %d launches, %d commands", r.Wall*1e3, r.Kernels*1e3, r.Copies*1e3, r.Gaps*1e3, r.Edges*1e3, r.Launches, r.Commands)
}
