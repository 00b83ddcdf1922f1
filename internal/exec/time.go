package exec

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"enhance/clrt"
	"enhance/internal/usage"
	"enhance/model"
	"enhance/pipeline/facts"
)

// Time runs a network on the formula input of h×w packed samples: once without
// counting, then repeat times. If opt has a profile, it takes one run more; else
// the parameters are taken out of m, to be held once.
func Time(ctx context.Context, dev *clrt.Device, m *model.Model, name string, h, w int, opt Options, repeat int) (*facts.Timing, error) {
	profile := opt.Profiler
	opt.Profiler, opt.TakeWeights = nil, profile == nil
	r := &facts.Timing{Model: name, Device: dev.Info()}
	job, runs, cpu, err := timeRuns(r, ctx, dev, m, h, w, opt, 1+repeat)
	if err != nil {
		return nil, err
	}
	r.Runs, r.CPU = runs[1:], cpu[1:]
	r.Seconds = facts.Median(r.Runs)
	if r.CPUSeconds = facts.Median(r.CPU); r.CPUSeconds == 0 {
		r.CPU = nil
	}
	r.FLOPs = job.Plan.Cost.FLOPs
	r.GFLOPs = float64(r.FLOPs) / r.Seconds / 1e9
	if profile == nil {
		return r, nil
	}
	profile.Pause(true)
	opt.Profiler = profile
	again := *r // the profile is of the second of two runs: the first of an engine is slower
	_, _, _, err = timeRuns(&again, ctx, dev, m, h, w, opt, 2)
	return r, err
}

// timeRuns does n runs in a context of their own.
func timeRuns(r *facts.Timing, ctx context.Context, dev *clrt.Device, m *model.Model, h, w int, opt Options, n int) (job *Job, took, cpu []float64, err error) {
	if job, err = Prepare(m, h, w, dev.Info(), opt); err != nil {
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
	in := PlanesSource{&Planes{r.Input, model.FormulaTensor("bench", "input", int(r.Input.Elems()))}}
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

// finiteSink counts rows and samples that are not finite.
type finiteSink struct{ rows, bad atomic.Int64 }

// Rows implements Sink.
func (s *finiteSink) Rows(int, int) (Rows, error) { return s, nil }

func (s *finiteSink) Row(_ int, planes [][]float32) {
	s.rows.Add(1)
	s.count(planes)
}

func (s *finiteSink) End() error { return nil }

// count looks at two samples at a time: the exponent of one that is not finite is all ones, so that adding one
// to it carries into the sign, which was cleared.
func (s *finiteSink) count(planes [][]float32) {
	const sign, one = 0x8000_0000_8000_0000, 0x0080_0000_0080_0000
	for _, line := range planes {
		var found [4]uint64
		pairs := unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(line))), len(line)/2)
		for ; len(pairs) >= 4; pairs = pairs[4:] {
			found[0] |= pairs[0]&^sign + one
			found[1] |= pairs[1]&^sign + one
			found[2] |= pairs[2]&^sign + one
			found[3] |= pairs[3]&^sign + one
		}
		for _, v := range pairs {
			found[0] |= v&^sign + one
		}
		if (found[0]|found[1]|found[2]|found[3])&sign == 0 && len(line)%2 == 0 {
			continue
		}
		for _, v := range line {
			if v-v != 0 {
				s.bad.Add(1)
			}
		}
	}
}
