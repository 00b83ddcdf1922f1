package bench

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/usage"
	"enhance/model"
	"enhance/pipeline/facts"
)

// NetReport is a whole network as measured, input and output transfers included.
type NetReport struct {
	Model     string           `json:"model"`
	Device    *clrt.DeviceInfo `json:"device"`
	Precision string           `json:"precision"`
	Input     model.Shape      `json:"input"` // packed, padded
	Output    model.Shape      `json:"output"`
	FLOPs     int64            `json:"flops"`
	Strategy  string           `json:"strategy"`
	Launches  int              `json:"launches"`
	Tuning    facts.Tuning     `json:"tuning"` // where the choice of algorithms came from

	Prepare float64   `json:"prepare_seconds"` // allocate, compile, load weights
	Runs    []float64 `json:"runs"`            // seconds of each by the host's clock
	Seconds float64   `json:"seconds"`         // median
	// CPU is the processor seconds of each run, kernels included where the device is
	// a CPU: they hold still when other programs share the cores. Empty where the
	// system does not tell.
	CPU        []float64 `json:"cpu_runs,omitempty"`
	CPUSeconds float64   `json:"cpu_seconds,omitempty"` // median
	GFLOPs     float64   `json:"gflops"`
	PeakFMA    float64   `json:"peak_fma"` // measured, operations per second
	PeakShare  float64   `json:"peak_share"`

	PeakBytes    int64 `json:"peak_bytes"` // of device memory, measured
	PlannedBytes int64 `json:"planned_bytes"`
	// PeakResident is the most bytes of memory that the process has had so far, 0
	// where the system does not tell.
	PeakResident int64 `json:"peak_resident,omitempty"`
	NonFinite    int64 `json:"non_finite"` // samples of the result

	Algos []facts.Algo `json:"algorithms"`

	// Profile is of one more run, not among Runs.
	Profile *exec.ProfileReport `json:"profile,omitempty"`
}

// Net runs a network on the formula input of h×w packed samples: once without
// counting, then repeat times. If profile is not nil, it takes one run more; else
// the parameters are taken out of m, to be held once.
func Net(ctx context.Context, dev *clrt.Device, m *model.Model, name string, h, w int, opt exec.Options, peak float64, profile *exec.Profile, repeat int) (*NetReport, error) {
	opt.TakeWeights = profile == nil
	r := &NetReport{Model: name, Device: dev.Info(), PeakFMA: peak}
	job, runs, cpu, err := r.runs(ctx, dev, m, h, w, opt, 1+repeat)
	if err != nil {
		return nil, err
	}
	r.Runs, r.CPU = runs[1:], cpu[1:]
	r.Seconds = Median(r.Runs)
	if r.CPUSeconds = Median(r.CPU); r.CPUSeconds == 0 {
		r.CPU = nil
	}
	r.FLOPs = job.Plan.Cost.FLOPs
	r.GFLOPs = float64(r.FLOPs) / r.Seconds / 1e9
	if peak > 0 {
		r.PeakShare = r.GFLOPs * 1e9 / peak
	}
	return r, r.profile(ctx, dev, m, h, w, opt, profile)
}

// profile takes a profile of the second of two runs: the first of an engine is
// slower.
func (r *NetReport) profile(ctx context.Context, dev *clrt.Device, m *model.Model, h, w int, opt exec.Options, p *exec.Profile) error {
	if p == nil {
		return nil
	}
	p.Pause(true)
	opt.Profiler = p
	bad := r.NonFinite
	_, _, _, err := r.runs(ctx, dev, m, h, w, opt, 2)
	r.NonFinite = bad
	return err
}

// runs does n runs in a context of their own.
func (r *NetReport) runs(ctx context.Context, dev *clrt.Device, m *model.Model, h, w int, opt exec.Options, n int) (job *exec.Job, took, cpu []float64, err error) {
	if job, err = exec.Prepare(m, h, w, dev.Info(), opt); err != nil {
		return nil, nil, nil, err
	}
	r.Strategy, r.Launches, r.PlannedBytes = job.Plan.Strategy, job.Plan.Cost.Launches, job.Plan.Peak
	r.Precision, r.Tuning = job.PrecisionName(), job.Tuning()
	r.Input, r.Output = job.Program.Tensors[job.Program.Input].Shape, job.Program.Tensors[job.Program.Output].Shape
	r.Algos = facts.SumAlgos(job.Explain())
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return nil, nil, nil, err
	}
	defer cl.Close()
	start := time.Now()
	e, err := job.Open(cl)
	if err != nil {
		return nil, nil, nil, err
	}
	defer e.Close()
	r.Prepare = time.Since(start).Seconds()
	in := tensorSource{r.Input, model.FormulaTensor("bench", "input", int(r.Input.Elems()))}
	for i := range n {
		if opt.Profiler != nil && i == n-1 {
			opt.Profiler.Pause(false)
		}
		out := &finiteSink{}
		start, before := time.Now(), usage.CPUSeconds()
		if err := e.Run(ctx, in, out, nil); err != nil {
			return nil, nil, nil, err
		}
		took, cpu = append(took, time.Since(start).Seconds()), append(cpu, usage.CPUSeconds()-before)
		if rows := int(out.rows.Load()); rows != r.Output.H {
			return nil, nil, nil, fmt.Errorf("%d of %d rows were delivered", rows, r.Output.H)
		}
		r.NonFinite = out.bad.Load()
	}
	r.PeakBytes = e.Peak()
	_, r.PeakResident = usage.Process()
	return job, took, cpu, nil
}

type tensorSource struct {
	model.Shape
	data []float32
}

// Rows implements exec.Source.
func (s tensorSource) Rows(int, int) (exec.Rows, error) { return s, nil }

func (s tensorSource) Row(y int, planes [][]float32) {
	for c, line := range planes {
		copy(line, s.data[(c*s.H+y)*s.W:][:s.W])
	}
}

func (s tensorSource) End() error { return nil }

// finiteSink counts rows and samples that are not finite.
type finiteSink struct{ rows, bad atomic.Int64 }

// Rows implements exec.Sink.
func (s *finiteSink) Rows(int, int) (exec.Rows, error) { return s, nil }

func (s *finiteSink) Row(_ int, planes [][]float32) {
	s.rows.Add(1)
	s.count(planes)
}

func (s *finiteSink) End() error { return nil }

func (s *finiteSink) count(planes [][]float32) {
	for _, line := range planes {
		var sum [4]float32 // 0, or NaN if a sample is not finite
		rest := line
		for ; len(rest) >= 4; rest = rest[4:] {
			sum[0] += rest[0] - rest[0]
			sum[1] += rest[1] - rest[1]
			sum[2] += rest[2] - rest[2]
			sum[3] += rest[3] - rest[3]
		}
		for _, v := range rest {
			sum[0] += v - v
		}
		if sum == [4]float32{} {
			continue
		}
		for _, v := range line {
			if v-v != 0 {
				s.bad.Add(1)
			}
		}
	}
}

// WriteText writes the report for people.
func (r *NetReport) WriteText(w io.Writer) error {
	line := func(name, format string, args ...any) { fmt.Fprintf(w, "%-8s%s\n", name, fmt.Sprintf(format, args...)) }
	line("net", "%s, %s, %s to %s, %.3f TFLOP", r.Model, r.Precision, r.Input, r.Output, float64(r.FLOPs)/1e12)
	line("device", "%s", r.Device.Name)
	line("plan", "%s, %d launches", r.Strategy, r.Launches)
	if t := r.Tuning.String(); t != "" {
		line("", "algorithms: %s", t)
	}
	for _, a := range r.Algos {
		line("", "%d convolutions by %s, %.1f %% of the work", a.Steps, a.Algo, 100*a.Share)
	}
	of := "one run"
	if n := len(r.Runs); n > 1 {
		of = fmt.Sprintf("median of %d runs, %.4f to %.4f", n, least(r.Runs), most(r.Runs))
	}
	line("time", "%.4f s (%s), after %.2f s to prepare", r.Seconds, of, r.Prepare)
	if r.CPUSeconds > 0 {
		line("", "%.4f processor seconds", r.CPUSeconds)
	}
	share := ""
	if r.PeakShare > 0 {
		share = fmt.Sprintf(", %.1f %% of the %.0f GFLOP/s FMA peak measured", 100*r.PeakShare, r.PeakFMA/1e9)
	}
	line("rate", "%.1f GFLOP/s%s", r.GFLOPs, share)
	line("memory", "%d bytes of device memory at most (%s), %d planned", r.PeakBytes, FormatBytes(r.PeakBytes), r.PlannedBytes)
	if r.PeakResident > 0 {
		line("", "%d bytes (%s) resident in the process at most", r.PeakResident, FormatBytes(r.PeakResident))
	}
	if r.NonFinite > 0 {
		line("note", "%d samples of the result are NaN or infinite", r.NonFinite)
	}
	if r.Profile != nil {
		fmt.Fprintln(w)
		return r.Profile.WriteTable(w)
	}
	return nil
}

// Median of a list that is not empty; of an even number, the mean of the middle two.
func Median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}

func least(v []float64) float64 { return slices.Min(v) }
func most(v []float64) float64  { return slices.Max(v) }

// FormatBytes gives a number of bytes in the largest fitting unit.
func FormatBytes(n int64) string {
	switch {
	case n == 0:
		return "0"
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}
