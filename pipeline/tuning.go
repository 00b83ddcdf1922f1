package pipeline

import (
	"context"
	"errors"
	"fmt"
	"time"

	"enhance/clrt"
	"enhance/internal/exec"
	"enhance/internal/tune"
	"enhance/pipeline/facts"
)

func (s *Settings) tell(text string) {
	if s.Tell != nil {
		s.Tell(text)
	}
}

func (s *Settings) debug(text string) {
	if s.Debug != nil {
		s.Debug(text)
	}
}

// tuningStore is where the device's measurements are kept.
func (d *device) tuningStore() tune.Store {
	return tune.In(clrt.CacheDir("tuning"), exec.TuningDevice(d.info))
}

// keepNotes changes the notes among the device's tuning results, if there is a place for them.
func (d *device) keepNotes(ctx context.Context, change func(notes map[string]string)) {
	store := d.tuningStore()
	release, err := store.Lock(ctx, nil)
	if err != nil {
		d.set.debug(err.Error())
		return
	}
	defer release()
	table, _ := store.Load()
	change(table.Notes)
	if err := store.Save(table); err != nil {
		d.set.debug(err.Error())
	}
}

// useTuning takes what [Session.Tune] has measured on the device: algorithms, and rates
// for the prices of plans. It reads the file once, so that photos of a session have one
// table.
func (s *Session) useTuning() error {
	if s.set.NoTune || s.device.profile != nil || s.device.info == nil || s.device.choice.Device == nil || s.choices.table != nil {
		return nil
	}
	table, dropped := s.device.tuningStore().Load()
	if dropped != "" {
		s.set.debug("tuning results are not used: " + dropped)
	}
	s.choices.table = table
	if text := table.Notes[s.ratesNote()]; text != "" {
		var err error
		if s.choices.rates, err = exec.ParseRates(text); err != nil {
			s.set.debug(err.Error())
		}
	}
	return nil
}

// measureInto measures tasks with those options under the store's lock and adds what it
// finds to the device's table, which it returns too. If ctx ends first, what was measured
// until then is kept for later all the same.
func (s *Session) measureInto(ctx context.Context, tasks []tune.Task, opt exec.Options, until time.Time) ([]tune.Outcome, *tune.Table, error) {
	if err := s.runner.closeEngine(); err != nil { // its memory counts too
		return nil, nil, err
	}
	store := s.device.tuningStore()
	release, err := store.Lock(ctx, func() { s.set.tell("waiting for another process that measures the device") })
	if err != nil {
		return nil, nil, err
	}
	defer release()
	before, _ := store.Load() // another process may have been here
	start := time.Now()
	saver := newTuningSaver(store, before)
	found, err := s.measureTasks(ctx, tasks, opt, until, saver)
	if kept := saver.flush(); err == nil {
		err = kept
	}
	if err != nil {
		return found, nil, err
	}
	s.set.tell(fmt.Sprintf("%s, %.1f s; kept in %s", tuningSummary(found), time.Since(start).Seconds(), store.Path()))
	return found, saver.table, nil
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
func (s *Session) measureTasks(ctx context.Context, tasks []tune.Task, opt exec.Options, until time.Time, saver *tuningSaver) (found []tune.Outcome, err error) {
	cl, err := s.device.newContext()
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	m, err := tune.NewMeter(cl, opt.Caps(s.device.info), opt.Precision, tune.Defaults(s.device.info, s.budget.Bytes()))
	if err != nil {
		return nil, err
	}
	defer m.Close()
	defer saver.guard(ctx, len(tasks), s.set.tell)()
	done := 0
	o := tune.Options{Until: until, Groups: tune.Groups, Done: func(out *tune.Outcome) {
		done++
		s.set.debug(outcomeText(out))
		saver.add(out)
		if s.set.Tuning != nil {
			s.set.Tuning(done, len(tasks))
		}
	}}
	return m.Run(ctx, tasks, o)
}

func outcomeText(o *tune.Outcome) string {
	c, name := &o.Choice, o.Name()
	if !c.Measured() {
		return fmt.Sprintf("%-26s %s, not measured: %s", name, c.Algo, o.Problem)
	}
	text := fmt.Sprintf("%-26s %s, %.1f GFLOP/s", name, c.Algo, c.GFLOPs)
	if c.Algo != c.Default {
		text += fmt.Sprintf(", %.2f times as fast as %s", c.Gain(), c.Default)
	}
	return text
}

// Tune measures every distinct convolution of the session's network for a mosaic
// of so many rows and columns, thoroughly, in the session's precision or, for
// AutoPrecision, in all that the device offers, and keeps what it finds for later
// runs. within bounds each precision's time, 0 for no limit. Outcomes measured
// before are replaced.
func (s *Session) Tune(ctx context.Context, rows, cols int, within time.Duration) (*facts.TuneReport, error) {
	start := time.Now()
	if err := s.hasNetwork(); err != nil {
		return nil, err
	}
	if s.device.info == nil || s.device.choice.Device == nil || s.device.profile != nil {
		return nil, optionErrorf("device", "tuning measures on an OpenCL device itself: choose one that is here, without a profile")
	}
	if err := s.probe(ctx, nil); err != nil {
		return nil, err
	}
	h, w := s.model.Convention.PaddedSides((rows+1)/2, (cols+1)/2)
	r := &facts.TuneReport{Packed: [2]int{h, w}, File: s.device.tuningStore().Path()}
	r.Model, r.Device = s.facts()
	precisions := s.offered()
	if s.set.Precision != AutoPrecision {
		if err := s.decidePrecision(ctx); err != nil {
			return nil, err
		}
		precisions = []Precision{s.choices.chosen.precision}
	}
	table := s.choices.table
	for _, p := range precisions {
		opt := s.optionsIn(p, s.budget)
		opt.Tuned = table
		tasks, err := exec.TuneTasks(s.model, h, w, s.device.info, opt)
		if err != nil {
			return r, err
		}
		var until time.Time
		if within > 0 {
			until = time.Now().Add(within)
		}
		s.set.tell(fmt.Sprintf("%s: %d kinds of convolution", p, len(tasks)))
		var found []tune.Outcome
		if found, table, err = s.measureInto(ctx, tasks, opt, until); err != nil {
			return r, err
		}
		opt.Tuned, opt.Budget = table, Budget{}
		job, err := s.prepare(s.model, h, w, opt)
		if err != nil {
			return r, err
		}
		f := facts.TunedPrecision{Precision: p.String(), Hash: job.Tuning().Hash}
		for i := range found {
			f.Outcomes = append(f.Outcomes, found[i].Facts())
		}
		r.Findings = append(r.Findings, f)
	}
	s.choices.table = table
	err := s.measureRates(ctx)
	r.Seconds = time.Since(start).Seconds()
	return r, err
}

// ratesNote is the key of a device's rates among the notes of its tuning table.
func (s *Session) ratesNote() string { return fmt.Sprintf("rates shared=%v", s.device.shared()) }

// measureRates measures the device, uses what it finds and keeps it for later runs.
func (s *Session) measureRates(ctx context.Context) error {
	if err := s.runner.closeEngine(); err != nil { // its memory counts too
		return err
	}
	cl, err := s.device.newContext()
	if err != nil {
		return err
	}
	r, err := exec.MeasureRates(cl, s.device.shared(), s.budget.Bytes())
	if err = errors.Join(err, cl.Close()); err != nil {
		return err
	}
	s.choices.rates = r
	store := s.device.tuningStore()
	release, err := store.Lock(ctx, nil)
	if err != nil {
		return err
	}
	defer release()
	table, _ := store.Load()
	table.Notes[s.ratesNote()] = r.String()
	return store.Save(table)
}
