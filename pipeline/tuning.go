package pipeline

import (
	"context"
	"fmt"
	"time"

	"enhance/internal/exec"
	"enhance/internal/tune"
	"enhance/pipeline/facts"
)

func (s *Settings) tell(text string) {
	if s.Tell != nil {
		s.Tell(text)
	}
}

// useTuning takes what [Session.Tune] has measured on the device: algorithms, and rates
// for the prices of plans. It reads the file once, so that photos of a session have one
// table.
func (s *Session) useTuning() error {
	if s.set.NoTune || s.device.profile != nil || s.device.info == nil || s.device.choice.Device == nil || s.choices.table != nil {
		return nil
	}
	s.choices.table, s.choices.rates = s.device.findings().Measured(s.device.shared())
	return nil
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
	r := &facts.TuneReport{Packed: [2]int{h, w}, File: s.device.findings().Store().Path()}
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
		if err := s.runner.closeEngine(); err != nil { // its memory counts too
			return r, err
		}
		if found, table, err = s.device.findings().MeasureAlgorithms(ctx, tasks, opt, until); err != nil {
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

// measureRates measures the device, uses what it finds and keeps it for later runs.
func (s *Session) measureRates(ctx context.Context) error {
	if err := s.runner.closeEngine(); err != nil { // its memory counts too
		return err
	}
	r, err := s.device.findings().MeasureRates(ctx, s.device.shared(), s.budget.Bytes())
	if r != nil {
		s.choices.rates = r
	}
	return err
}
