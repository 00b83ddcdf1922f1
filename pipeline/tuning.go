package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"enhance/clrt"
	"enhance/exec"
	"enhance/fuse"
	"enhance/tune"
)

// firstTuning is how long the tuning at a device's first use may take, compiling the
// kernels of the defaults, which the run needs in any case, included: with what comes
// before and after it a first run is to stay below ten seconds. What was not measured by then keeps its default, for good:
// results must not change from one run to the next.
const firstTuning = 5 * time.Second

func (s *Session) tell(text string) {
	if s.set.Tell != nil {
		s.set.Tell(text)
	}
}

func (s *Session) debug(text string) {
	if s.set.Debug != nil {
		s.set.Debug(text)
	}
}

// tuningStore is where the device's measurements are kept.
func (s *Session) tuningStore() tune.Store {
	return tune.In(clrt.CacheDir("tuning"), exec.TuningDevice(s.info))
}

// useTuning loads what was measured on the device. Before a run on a GPU it
// measures what is missing, and keeps it before it is used: where it cannot be
// kept, or another run could find less, the defaults hold. CPUs are measured only
// by [Session.Tune]: compiling a candidate takes longer there than a photo gains
// by it (docs/tuning.md).
func (s *Session) useTuning(ctx context.Context, h, w int, run bool) error {
	if s.set.NoTune || s.set.Profile != nil || s.info == nil || s.choice.Device == nil {
		return nil
	}
	store := s.tuningStore()
	if s.table == nil { // once, so that photos of a session have one table
		table, dropped := store.Load()
		if dropped != "" {
			s.debug("tuning results are not used: " + dropped)
		}
		s.table = table
	}
	if !run || s.info.Type == clrt.CPU && !s.tuneCPU || s.measured == [2]int{h, w} {
		return nil
	}
	s.measured = [2]int{h, w}
	tasks, err := s.tuneTasks(h, w, exec.Quick, s.table)
	if err != nil || len(tasks) == 0 {
		return err
	}
	how := search{first: true, until: time.Now().Add(s.tuneFor)}
	if how.pace, err = s.compileFirst(h, w); err == nil {
		_, err = s.measureInto(ctx, store, tasks, how)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		s.debug("defaults instead of tuned algorithms: " + err.Error())
	}
	return nil
}

// tuneTasks lists what a table, if there is one, has nothing about.
func (s *Session) tuneTasks(h, w int, e exec.Effort, t *tune.Table) ([]tune.Task, error) {
	known := func(key string) bool { _, ok := t.Lookup(key); return ok }
	return exec.TuneTasks(s.model, h, w, s.info, s.engineOptions(s.budget), e, known)
}

// compileFirst compiles what a run by the present choices needs, for later from the
// cache, so that the time left for tuning is known, and the pace of compiling.
func (s *Session) compileFirst(h, w int) (pace time.Duration, err error) {
	start := time.Now()
	job, err := s.prepare(s.model, h, w, s.budget)
	if err != nil {
		return 0, err
	}
	cl, err := s.newContext()
	if err != nil {
		return 0, err
	}
	n, err := job.Compile(cl)
	return time.Since(start) / time.Duration(n), errors.Join(err, cl.Close())
}

// missing are the tasks that a table has nothing about.
func missing(tasks []tune.Task, t *tune.Table) []tune.Task {
	var out []tune.Task
	for _, k := range tasks {
		if _, ok := t.Lookup(k.Key); !ok {
			out = append(out, k)
		}
	}
	return out
}

// late reports whether there is no time to compile what one task needs: the plain
// definition and a candidate.
func (h *search) late() bool {
	return !h.until.IsZero() && time.Until(h.until) < 2*h.pace
}

// search says how tasks are measured.
type search struct {
	first bool          // at a device's first use: the table is completed, nothing in it replaced
	until time.Time     // when to stop; zero: when done
	pace  time.Duration // of one compilation, as far as known
}

// measureInto measures tasks under the store's lock and adds what it finds to the
// table: at a first use also that there was no time for some, which settles them.
// Afterwards s.table is what is kept. Where ctx ends before, what was measured until
// then is kept for later all the same.
func (s *Session) measureInto(ctx context.Context, store tune.Store, tasks []tune.Task, how search) ([]tune.Outcome, error) {
	if err := s.closeEngine(); err != nil { // its memory counts too
		return nil, err
	}
	release, err := store.Lock(ctx, func() { s.tell("waiting for another process that uses the device for the first time") })
	if err != nil {
		return nil, err
	}
	defer release()
	table, _ := store.Load() // another process may have been here
	s.table = table
	if how.first {
		if tasks = missing(tasks, table); len(tasks) == 0 {
			return nil, nil
		}
		if !how.late() {
			s.tell(fmt.Sprintf("measuring %d kinds of convolution (%s) on %s, once for this device", len(tasks), s.precision(), s.deviceFacts().Name))
		}
	}
	start := time.Now()
	keep := newKeeper(store, table)
	found, err := s.measureTasks(ctx, tasks, how, keep)
	if how.first && err == nil {
		keep.settle(found)
	}
	if kept := keep.flush(); err == nil {
		err = kept
	}
	if err != nil {
		return found, err
	}
	s.table = keep.table
	if how.first && measured(found) == 0 {
		s.tell("compiling took all the time that there is for measuring: the default algorithms stay (enhance tune measures)")
		return found, nil
	}
	s.tell(fmt.Sprintf("%s, %.1f s; kept in %s", tuningSummary(found), time.Since(start).Seconds(), store.Path()))
	return found, nil
}

// measured counts the tasks that something was measured of.
func measured(found []tune.Outcome) (n int) {
	for i := range found {
		if found[i].Choice.Measured() {
			n++
		}
	}
	return n
}

// tuningSummary counts what came of tasks.
func tuningSummary(found []tune.Outcome) string {
	faster, most := 0, 1.0
	for i := range found {
		c := &found[i].Choice
		if c.Algo != c.Default {
			faster++
			most = max(most, c.Gain())
		}
	}
	s := fmt.Sprintf("measured %d of %d", measured(found), len(found))
	if faster > 0 {
		s += fmt.Sprintf(", %d faster than the default (by up to %.2f times)", faster, most)
	}
	return s
}

// measureTasks measures in a context of its own, within the budget. What it finds
// is kept as it comes.
func (s *Session) measureTasks(ctx context.Context, tasks []tune.Task, how search, keep *keeper) (found []tune.Outcome, err error) {
	if how.late() {
		found = tune.NoTime(tasks)
		for i := range found {
			s.debug(outcomeText(&found[i]))
		}
		return found, nil
	}
	cl, err := s.newContext()
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	opt := s.engineOptions(s.budget)
	m, err := tune.NewMeter(cl, opt.Caps(s.info), opt.Precision, tune.Defaults(s.info, s.budget))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	defer keep.guard(ctx, len(tasks), s.tell)()
	done := 0
	o := tune.Options{Until: how.until, Pace: how.pace, Done: func(out *tune.Outcome) {
		done++
		s.debug(outcomeText(out))
		keep.add(out)
		if s.set.Tuning != nil {
			s.set.Tuning(done, len(tasks))
		}
	}}
	return m.Run(ctx, tasks, o)
}

// ConvolutionName says which convolution an outcome is about: channels, rows and
// columns of its input, kernel and outputs, and what follows in the same kernel.
func ConvolutionName(o *tune.Outcome) string {
	if o.Task != nil {
		switch o.Task.Shape.Act {
		case fuse.LeakyReLU:
			return o.Shape + " leaky"
		case fuse.Sigmoid:
			return o.Shape + " sigmoid"
		}
	}
	return o.Shape
}

func outcomeText(o *tune.Outcome) string {
	c, name := &o.Choice, ConvolutionName(o)
	if !c.Measured() {
		return fmt.Sprintf("%-26s %s, not measured: %s", name, c.Algo, o.Problem)
	}
	text := fmt.Sprintf("%-26s %s, %.1f GFLOP/s", name, c.Algo, c.GFLOPs)
	if c.Algo != c.Default {
		text += fmt.Sprintf(", %.2f times as fast as %s", c.Gain(), c.Default)
	}
	return text
}

// TuneReport is what [Session.Tune] found.
type TuneReport struct {
	Model    ModelFacts         `json:"model"`
	Device   DeviceFacts        `json:"device"`
	Packed   [2]int             `json:"packed"` // rows and columns of the network's input
	File     string             `json:"file"`
	Seconds  float64            `json:"seconds"`
	Findings []PrecisionFinding `json:"precisions"`
}

// PrecisionFinding is the part of a report that is of one precision.
type PrecisionFinding struct {
	Precision string         `json:"precision"`
	Hash      string         `json:"hash"` // of the choices, as reports of runs have it
	Outcomes  []tune.Outcome `json:"convolutions"`
}

// Tune measures every distinct convolution of the session's network for a mosaic
// of so many rows and columns, thoroughly, in the session's precision or, for
// AutoPrecision, in all that the device offers, and keeps what it finds for later
// runs. within bounds each precision's time, 0 for no limit. Outcomes measured
// before are replaced.
func (s *Session) Tune(ctx context.Context, rows, cols int, within time.Duration) (*TuneReport, error) {
	start := time.Now()
	if s.info == nil || s.choice.Device == nil || s.set.Profile != nil {
		return nil, optionErrorf("device", "tuning measures on an OpenCL device itself: choose one that is here, without a profile")
	}
	if err := s.probe(); err != nil {
		return nil, err
	}
	h, w := s.model.Convention.PaddedSides((rows+1)/2, (cols+1)/2)
	r := &TuneReport{Packed: [2]int{h, w}, File: s.tuningStore().Path()}
	r.Model, r.Device = s.facts()
	precisions := s.offered()
	if s.set.Precision != AutoPrecision {
		if err := s.decidePrecision(ctx); err != nil {
			return nil, err
		}
		precisions = []Precision{s.chosen.precision}
	}
	for _, p := range precisions {
		s.chosen = &precisionChoice{precision: p}
		tasks, err := s.tuneTasks(h, w, exec.Thorough, nil)
		if err != nil {
			return r, err
		}
		var how search
		if within > 0 {
			how.until = time.Now().Add(within)
		}
		s.tell(fmt.Sprintf("%s: %d kinds of convolution", p, len(tasks)))
		found, err := s.measureInto(ctx, s.tuningStore(), tasks, how)
		if err != nil {
			return r, err
		}
		job, err := s.prepare(s.model, h, w, 0)
		if err != nil {
			return r, err
		}
		r.Findings = append(r.Findings, PrecisionFinding{p.String(), job.Tuning().Hash, found})
	}
	err := s.measureRates(ctx)
	r.Seconds = time.Since(start).Seconds()
	return r, err
}
