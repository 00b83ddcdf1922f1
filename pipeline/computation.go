package pipeline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/trace"
	"enhance/internal/workers"
	"enhance/memplan"
	"enhance/model"
	"enhance/model/ref"
	"enhance/pipeline/facts"
)

// runner keeps the engine that ran last, and what it found out about the device.
type runner struct {
	engine *exec.Engine // nil: none
	holds  atomic.Int64 // bytes of the host's memory that it holds; runs without a network ask while it is others' turn
	sides  [2]int       // rows and columns of its input
	found  Budget       // what the device was found to have, if that is less than it says
	// openJob replaces exec's Job.OpenWhen in tests.
	openJob func(*exec.Job, *clrt.Context, func() error) (*exec.Engine, error)
}

// serves reports whether the engine that ran last does the computation.
func (r *runner) serves(c *computation) bool {
	e := r.engine
	return e != nil && e.Model == c.net && r.sides == [2]int{c.h, c.w} && e.Job.Serves(c.samples, c.picture) && precisionOf(e.Job) == c.session.precision()
}

func (r *runner) closeEngine() error {
	if r.engine == nil {
		return nil
	}
	e := r.engine
	r.engine = nil
	defer r.holds.Store(0)
	return e.Close()
}

// computation is a network over one input, on the session's device or on the host: what
// runs over photos and over tensors share.
type computation struct {
	session  *Session
	ctx      context.Context
	net      *model.Model  // the session's, or part of it
	h, w     int           // padded sides of the input
	samples  bool          // the source has stored samples, see exec.SampleSource
	picture  *fuse.Picture // the sink takes that picture's codes, see exec.PixelSink; nil: planes
	within   Budget        // for the device; the session's if nothing else is decided before makePlan
	plan     *exec.Job     // nil on the host executor
	prepared bool          // its engine is open
	progress func(done, total int64)

	// Facts of the report, and who is told what comes up.
	facts   *facts.Plan
	memory  *facts.Memory
	seconds *facts.Seconds
	warn    func(text string)
}

// computation begins one of a network over an input of h×w packed samples, whose facts go
// to those of a report.
func (s *Session) computation(ctx context.Context, net *model.Model, h, w int, plan *facts.Plan, memory *facts.Memory, seconds *facts.Seconds) computation {
	return computation{session: s, ctx: ctx, net: net, h: h, w: w, facts: plan, memory: memory, seconds: seconds}
}

// makePlan decides how the network runs; rows are those of its result that are wanted.
func (c *computation) makePlan(rows int) error {
	s, f := c.session, c.facts
	c.prepared = false
	if !c.within.Decided() {
		c.within = s.allowed()
	}
	c.avoidWrong(s.precision().storage())
	s.choices.samples, s.choices.picture = c.samples, c.picture
	noteBudget(f, c.within)
	f.Precision, f.Packed = s.precision().String(), [2]int{c.h, c.w}
	if s.device.info == nil {
		return c.planHost(rows)
	}
	if err := s.ready(c.ctx, c.compileAhead); err != nil {
		return s.patchTooLarge(err, c.net, c.h, c.w)
	}
	if s.runner.serves(c) {
		c.plan = s.runner.engine.Job
	} else {
		job, err := s.planPrecisely(c.ctx, c.net, c.h, c.w, c.within)
		if err != nil {
			return err
		}
		if c.plan = job; s.device.cl == nil && s.device.early != nil {
			job.Preload(s.device.choice.Device)
		}
	}
	notePlan(f, c.plan)
	f.PrecisionWhy = s.precisionWhy()
	return nil
}

// makesPixels reports whether the device makes the picture's codes.
func (c *computation) makesPixels() bool { return c.plan != nil && c.plan.MakesPixels() }

// planHost states what the host executor will hold. It knows whole planes only.
func (c *computation) planHost(rows int) error {
	samples, _, err := c.net.Graph.PeakActivations(c.h, c.w)
	if err != nil {
		return err
	}
	f := c.facts
	f.Strategy, f.Precision, f.Sections, f.Strips, f.Rows, f.Peak = "whole planes on the host", "fp32", 1, 1, rows, 4*samples
	if f.FLOPs, err = c.net.Graph.FLOPs(c.h, c.w); err != nil {
		return err
	}
	if f.Peak > c.within.Bytes() {
		return c.session.explainBudget(&memplan.BudgetError{Budget: c.within, Minimum: f.Peak}, c.net, c.h, c.w)
	}
	return nil
}

// prepare opens the engine, and meanwhile checks the plan's photo kernels:
// makesPixels says afterwards what the sink must take. replanned is called if the plan had to be made
// again.
func (c *computation) prepare(replanned func() error) error {
	if c.session.device.info == nil || c.prepared {
		return nil
	}
	start := time.Now()
	defer c.session.stages().Begin("prepare")()
	if err := c.openChecked(replanned); err != nil {
		return err
	}
	c.seconds.Prepare, c.prepared = time.Since(start).Seconds(), true
	return nil
}

// openChecked opens the engine of a plan whose kernels are right.
func (c *computation) openChecked(replanned func() error) error {
	checks, err := c.beginChecks()
	if err != nil {
		return err
	}
	if checks == nil && !c.avoids() {
		return c.openEngine(replanned, nil)
	}
	err = c.openEngine(replanned, func() error {
		err := checks.Take()
		if err == nil && c.avoids() {
			err = errors.New("pipeline: a kernel of the plan is wrong")
		}
		return err
	})
	if terr := checks.Take(); terr != nil || !c.avoids() {
		return cmp.Or(terr, err)
	}
	// Whatever became of the engine, the plan is not to be run. The next has less to check.
	if err := c.session.runner.closeEngine(); err != nil {
		return err
	}
	c.avoidWrong(c.plan.Precision())
	if err := c.makePlan(c.facts.Rows); err != nil {
		return err
	}
	if err := replanned(); err != nil {
		return err
	}
	return c.openEngine(replanned, nil)
}

// compute runs the network. replanned is called if the plan had to be made again, free, if
// not nil, when the session's device is no longer used.
func (c *computation) compute(src exec.Source, sink exec.Sink, replanned func() error, free func()) error {
	if c.session.device.info == nil {
		start := time.Now()
		defer func() { c.seconds.Run = time.Since(start).Seconds() }()
		return c.onHost(src, sink)
	}
	if err := c.prepare(replanned); err != nil {
		return err
	}
	start := time.Now()
	var err error
	e, handed := c.session.runner.engine, false
	var hand func()
	if free != nil {
		hand = func() {
			handed = true
			c.notePeak(e)
			free() // from here on the session is the next photo's
		}
	}
	err = e.RunAhead(c.ctx, src, sink, c.progress, hand)
	c.seconds.Run = time.Since(start).Seconds()
	switch {
	case handed && clrt.OutOfMemory(err):
		return &MemoryError{Need: c.facts.Peak, Err: err}
	case handed:
		return err
	}
	c.notePeak(e)
	if err != nil {
		c.session.runner.closeEngine() // its state is unknown
	}
	return c.session.memoryError(err, c.plan, c.net, c.h, c.w)
}

// notePeak reports what an engine holds, which is all that it will hold.
func (c *computation) notePeak(e *exec.Engine) {
	peak := e.Peak()
	*c.memory = facts.Memory{Measured: true, Peak: peak, AsPlanned: peak == c.facts.Peak}
	if peak != c.facts.Peak {
		c.warn(fmt.Sprintf("device memory peaked at %d bytes where %d were planned: please report this", peak, c.facts.Peak))
	}
}

// openEngine opens the engine of c.plan. Its memory is taken when ready, if not nil, has
// returned.
func (c *computation) openEngine(replanned, ready func() error) error {
	s, r := c.session, c.session.runner
	if r.engine != nil && r.engine.Job == c.plan && !r.engine.Failed() {
		return nil
	}
	if err := r.closeEngine(); err != nil {
		return err
	}
	defer s.tellSlow()()
	if await := s.set.AwaitKernels; await != nil && s.compiles(c.plan) {
		await(c.ctx)
		s.host.asked.plan = nil // they are there now
	}
	s.host.compiled = s.compiles(c.plan)
	e, plan, err := s.openPlan(c.plan, c.net, c.h, c.w, c.warn, ready)
	if err != nil {
		return err
	}
	r.engine, r.sides = e, [2]int{c.h, c.w}
	r.holds.Store(s.engineBytes(plan))
	if plan == c.plan {
		return nil
	}
	c.plan = plan
	notePlan(c.facts, plan)
	return replanned()
}

// onHost runs the network in plain Go over whole planes.
func (c *computation) onHost(src exec.Source, sink exec.Sink) error {
	h, w, channels := c.h, c.w, c.net.Graph.Nodes[0].C
	in := make([]float32, channels*h*w)
	for y := 0; y < h; y += outRows {
		last := min(y+outRows, h)
		rows, err := src.Rows(y, last)
		if err != nil {
			return err
		}
		workers.Each(workers.Count(last-y, time.Duration(16*w)), last-y, func(_, i int) {
			planes := make([][]float32, channels)
			for k := range planes {
				planes[k] = in[(k*h+y+i)*w:][:w]
			}
			rows.Row(y+i, planes)
		})
		if err := rows.End(); err != nil {
			return err
		}
	}
	opt := ref.Options{}
	if c.progress != nil {
		opt.Progress = c.progress
	}
	result, shape, err := ref.Run(c.ctx, c.net, in, h, w, opt)
	if err != nil {
		return err
	}
	for y := 0; y < shape.H; y += outRows {
		end := min(y+outRows, shape.H)
		rows, err := sink.Rows(y, end)
		if err != nil {
			return err
		}
		workers.Each(workers.Count(end-y, time.Duration(20*shape.W)), end-y, func(_, i int) {
			planes := make([][]float32, shape.C)
			for k := range planes {
				planes[k] = result[(k*shape.H+y+i)*shape.W:][:shape.W]
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
func (s *Session) stages() *trace.Stages { return s.profile.Stages() }
