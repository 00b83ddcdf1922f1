package pipeline

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"enhance/clrt"
	"enhance/colour"
	"enhance/exec"
	"enhance/internal/workers"
	"enhance/memplan"
	"enhance/model"
	"enhance/model/ref"
	"enhance/raw"
	"enhance/trace"
)

// run is the making of one picture.
type run struct {
	*Session
	ctx    context.Context
	job    *Job
	photo  *raw.Photo
	meta   *raw.Meta
	report *Report
	start  time.Time
	waited time.Duration // for its turn
	place  *place
	within Budget // for the device

	// What it may hold of the picture, see batch.go: decoded blocks (0: the least)
	// and developed batches; and who else wants to know what the session holds.
	blocks, batches int
	ledger          *ledger

	geo     geometry
	ahead   *ahead
	balance *balance
	lens    *lens
	plan    *exec.Job // nil on the host executor
	compare *comparison
}

// do goes through the stations in order: everything that can be refused is
// refused before the device is touched. From makePlan until the network has run it
// is this run's turn, and nobody else's, to use the session's state and device;
// photos before it may still be encoded then, photos behind it be decoded.
func (r *run) do() (err error) {
	w, h, uw, uh := outputSize(r.geo, r.meta.Orientation)
	r.report.Output.Width, r.report.Output.Height = uw, uh
	var out *target
	if r.job.DryRun {
		if err = r.job.Output.check(r.reads()); err != nil {
			return err
		}
	} else {
		if r.set.PlanOnly {
			return errPlanOnly
		}
		if out, err = openTarget(r.ctx, &r.job.Output, r.reads()); err != nil {
			return err
		}
		r.addCurrent(out)
		defer func() {
			out.abort() // nothing after commit
			r.dropCurrent(out)
		}()
	}
	if r.job.Reference != "" {
		if r.compare, err = openReference(r.job.Reference, uw, uh, r.job.Output.Bits); err != nil {
			return err
		}
	}
	if r.meta.Linear {
		return r.withoutNetwork(out, w, h)
	}
	r.ahead = newAhead(r.ctx, r.photo, r.geo.region, r.blocks, &r.mosaics, r.stages())
	defer r.ahead.close()
	display := r.model.Convention.Output == model.OutputDisplaySRGB
	count := func() (*[3]colour.Histogram, error) { return histograms(r.ahead) }
	if r.balance, err = decideBalance(r.meta, count, r.job, display, r.report); err != nil {
		return r.photoError(err)
	}
	if r.lens, err = newLens(r.photo.Lens(), r.geo, &r.model.Convention, r.balance.gains, r.report); err != nil {
		return r.photoError(err)
	}
	if r.report.Noise, err = r.decideNoise(); err != nil {
		return r.photoError(err)
	}
	if err := r.awaitTurn(); err != nil {
		return err
	}
	if err := r.decide(); err != nil {
		return err
	}
	if r.job.Planned != nil {
		r.job.Planned(r.report)
	}
	if r.job.DryRun {
		return nil
	}
	err = r.make(out, w, h)
	r.report.Host.notePeak(r.report)
	return err
}

// reads are the files that the run is made from: no output may replace them.
func (r *run) reads() []string {
	files := []string{r.job.Reference}
	if r.job.Reader == nil {
		files = append(files, r.job.Input)
	}
	if filepath.Ext(r.set.Model) != "" { // the built-in ones are no files
		files = append(files, r.set.Model)
	}
	return files
}

// awaitTurn waits until the photos before have left the device.
func (r *run) awaitTurn() error {
	start := time.Now()
	defer r.stages().Begin("wait for the device")()
	err := r.place.wait(r.ctx)
	r.waited = time.Since(start)
	r.report.Seconds.Wait = r.waited.Seconds()
	return err
}

// decide plans the run.
func (r *run) decide() error {
	defer r.stages().Begin("plan")()
	r.report.Plan.within(r.within)
	r.report.Plan.Precision = r.precision().String()
	if err := r.makePlan(); err != nil {
		return err
	}
	if err := r.fitHost(); err != nil {
		return err
	}
	if err := r.describePlan(r.job.Output.Overwrite); err != nil {
		return err
	}
	r.report.Seconds.Plan = (time.Since(r.start) - r.waited).Seconds()
	return nil
}

// photoError names the photo in errors of reading it.
func (r *run) photoError(err error) error {
	var option *raw.OptionError
	var file *FileError
	if errors.As(err, &option) || errors.As(err, &file) || Classify(err) == ClassInterrupted {
		return err
	}
	return &FileError{Path: r.job.Input, Err: err}
}

// makePlan decides how the network runs.
func (r *run) makePlan() error {
	f := &r.report.Plan
	f.Packed = [2]int{r.geo.h, r.geo.w}
	if r.info == nil {
		return r.planHost(f)
	}
	if err := r.ready(r.ctx); err != nil {
		return err
	}
	f.PrecisionWhy = r.precisionWhy()
	if e := r.engine; e != nil && r.h == r.geo.h && r.w == r.geo.w {
		r.plan = e.Job
	} else {
		job, err := r.prepareWithin(r.model, r.geo.h, r.geo.w, r.within)
		if err != nil {
			return err
		}
		r.plan = job
	}
	f.fill(r.plan)
	return nil
}

// planHost states what the host executor will hold. It knows whole planes only.
func (r *run) planHost(f *PlanFacts) error {
	samples, _, err := r.model.Graph.PeakActivations(r.geo.h, r.geo.w)
	if err != nil {
		return err
	}
	f.Strategy, f.Sections, f.Ticks, f.Rows = "whole planes on the host", 1, 1, r.geo.out.Y1
	f.Precision = "fp32"
	f.Peak = 4 * samples
	info, err := r.model.Info(2*r.geo.h, 2*r.geo.w)
	if err != nil {
		return err
	}
	f.FLOPs = info.FLOPs
	if f.Peak > r.within.Bytes() {
		return r.explainBudget(&memplan.BudgetError{Budget: r.within, Minimum: f.Peak}, r.model, r.geo.h, r.geo.w)
	}
	return nil
}

// make runs the network and writes the picture.
func (r *run) make(out *target, w, h int) error {
	var tap func([]uint16) error
	if r.compare != nil {
		tap = r.compare.row
	}
	enc, err := encoder(out, &r.job.Output, r.meta, w, h, tap, r.report)
	if err != nil {
		return err
	}
	conv := &r.model.Convention
	lev := newLevels(r.meta, conv, r.balance.gains, r.report.Noise)
	if r.report.Noise != nil && r.report.Noise.Source == noiseFile {
		lev.shading = r.photo.Gains()
	}
	src := newSource(r.ahead, r.geo, conv, lev)
	dev := newDeveloper(r.geo, conv, r.balance, enc, r.batches, &r.pictures, r.stages())
	dev.lens = r.lens
	defer dev.abandon()
	if r.info == nil {
		err = r.onHost(src, dev)
	} else {
		err = r.onDevice(src, dev)
	}
	r.place.leave()
	sec := &r.report.Seconds
	sec.Decode, sec.Pack = r.ahead.busy().Seconds(), src.busy.sum.Seconds()
	switch { // the engine may only know that somebody stopped it
	case r.ctx.Err() != nil:
		return r.ctx.Err()
	case src.err != nil:
		return r.photoError(src.err)
	case dev.failure() != nil:
		return dev.failure()
	case err != nil:
		return err
	}
	return r.deliver(dev, out)
}

// deliver finishes the picture and its file.
func (r *run) deliver(dev *developer, out *target) error {
	finish := time.Now()
	defer r.stages().Begin("finish")()
	if err := dev.finish(); err != nil {
		return err
	}
	end := r.stages().Begin("flush")
	err := out.commit()
	end()
	if err != nil {
		return err
	}
	sec := &r.report.Seconds
	sec.Finish = time.Since(finish).Seconds()
	sec.Develop, sec.Encode = dev.develop.sum.Seconds(), dev.encode.Seconds()
	return r.judge()
}

// judge finishes the comparison with the reference.
func (r *run) judge() (err error) {
	if r.compare == nil {
		return nil
	}
	if r.report.Reference, err = r.compare.result(); err != nil {
		return err
	}
	got := float64(r.report.Reference.CPSNR)
	if r.job.MinPSNR > 0 && !(got >= r.job.MinPSNR) {
		return &QualityError{CPSNR: got, Want: r.job.MinPSNR}
	}
	return nil
}

// onDevice runs the network through OpenCL.
func (r *run) onDevice(src *source, dev *developer) error {
	start := time.Now()
	end := r.stages().Begin("prepare")
	err := r.openEngine()
	end()
	if err != nil {
		return err
	}
	r.report.Seconds.Prepare = time.Since(start).Seconds()
	start = time.Now()
	e, handed := r.engine, false
	err = e.RunAhead(r.ctx, src, dev, r.job.Progress, func() {
		handed = true
		r.notePeak(e)
		r.place.leave() // from here on the session is the next photo's
	})
	r.report.Seconds.Run = time.Since(start).Seconds()
	switch {
	case handed && clrt.OutOfMemory(err):
		return &MemoryError{Need: r.report.Plan.Peak, Err: err}
	case handed:
		return err
	}
	r.notePeak(e)
	if err != nil {
		r.closeEngine() // its state is unknown
	}
	return r.memoryError(err, r.plan, r.model, r.geo.h, r.geo.w)
}

// notePeak reports what an engine holds, which is all that it will hold.
func (r *run) notePeak(e *exec.Engine) {
	peak := e.Peak()
	r.report.Memory = MemoryFacts{Measured: true, Peak: peak, AsPlanned: peak == r.report.Plan.Peak}
	if peak != r.report.Plan.Peak {
		r.report.warn("device memory peaked at %d bytes where %d were planned: please report this", peak, r.report.Plan.Peak)
	}
}

// openEngine makes r.engine the engine of r.plan.
func (r *run) openEngine() error {
	if r.engine != nil && r.engine.Job == r.plan && !r.engine.Failed() {
		return nil
	}
	if err := r.closeEngine(); err != nil {
		return err
	}
	e, plan, err := r.openPlan(r.plan, r.model, r.geo.h, r.geo.w, r.say)
	if err != nil {
		return err
	}
	r.engine, r.h, r.w = e, r.geo.h, r.geo.w
	if plan == r.plan {
		return nil
	}
	r.plan = plan
	r.report.Plan.fill(plan)
	if err := r.hostNeeds(); err != nil { // more may be spilled now
		return err
	}
	return r.describePlan(true)
}

// say adds a warning that came during the run, and tells it at once.
func (r *run) say(text string) {
	r.report.warn("%s", text)
	if r.job.Say != nil {
		r.job.Say(text)
	}
}

func (s *Session) closeEngine() error {
	if s.engine == nil {
		return nil
	}
	e := s.engine
	s.engine = nil
	return e.Close()
}

// planes is how many the network takes.
func (s *Session) planes() int { return 4 + s.model.Convention.NoisePlanes }

// onHost runs the network in plain Go over whole planes.
func (r *run) onHost(src *source, dev *developer) error {
	start := time.Now()
	defer func() { r.report.Seconds.Run = time.Since(start).Seconds() }()
	h, w := r.geo.h, r.geo.w
	in := make([]float32, r.planes()*h*w)
	for y := 0; y < h; y += outRows {
		last := min(y+outRows, h)
		rows, err := src.Rows(y, last)
		if err != nil {
			return err
		}
		workers.Each(workers.Count(last-y, time.Duration(16*w)), last-y, func(_, i int) {
			planes := make([][]float32, r.planes())
			for c := range planes {
				planes[c] = in[(c*h+y+i)*w:][:w]
			}
			rows.Row(y+i, planes)
		})
		if err := rows.End(); err != nil {
			return err
		}
	}
	opt := ref.Options{}
	if r.job.Progress != nil {
		opt.Progress = r.job.Progress
	}
	result, shape, err := ref.Run(r.ctx, r.model, in, h, w, opt)
	if err != nil {
		return err
	}
	for y := 0; y < shape.H; y += outRows {
		end := min(y+outRows, shape.H)
		rows, err := dev.Rows(y, end)
		if err != nil {
			return err
		}
		workers.Each(workers.Count(end-y, time.Duration(20*shape.W)), end-y, func(_, i int) {
			planes := make([][]float32, shape.C)
			for c := range planes {
				planes[c] = result[(c*shape.H+y+i)*shape.W:][:shape.W]
			}
			rows.Row(y+i, planes)
		})
		if err := rows.End(); err != nil {
			return err
		}
	}
	return nil
}

// stages times what the host does, if the session is profiled.
func (s *Session) stages() *trace.Stages { return s.set.Profiler.Stages() }
