package pipeline

import (
	"context"
	"errors"
	"fmt"

	"enhance/clrt"
	"enhance/exec"
)

// ratesNote is the key of a device's rates among the notes of its tuning table.
func (s *Session) ratesNote() string { return fmt.Sprintf("rates shared=%v", s.shared()) }

// shared reports whether runs plan for memory that host and device share.
func (s *Session) shared() bool {
	return (s.info.Unified || s.info.Type == clrt.CPU) && !s.discrete()
}

// useRates takes what was measured of the device for the prices of plans. Before a
// run on a GPU it measures what is missing, once for the device; CPUs are measured
// by [Session.Tune]. Rates change plans, never pictures, so that a device that
// cannot be measured is merely planned for by rough figures.
func (s *Session) useRates(ctx context.Context, run bool) error {
	if s.rates != nil || s.set.NoTune || s.set.Profile != nil || s.info == nil || s.choice.Device == nil {
		return nil
	}
	table, _ := s.tuningStore().Load() // what is wrong with it, useTuning has told
	if text := table.Notes[s.ratesNote()]; text != "" {
		r, err := exec.ParseRates(text)
		if err == nil {
			s.rates = r
			return nil
		}
		s.debug(err.Error())
	}
	if !run || s.info.Type == clrt.CPU {
		return nil
	}
	err := s.measureRates(ctx)
	if err != nil && ctx.Err() == nil {
		s.debug("rough figures instead of measured rates: " + err.Error())
		return nil
	}
	return err
}

// measureRates measures the device, uses what it finds and keeps it for later runs.
func (s *Session) measureRates(ctx context.Context) error {
	if err := s.closeEngine(); err != nil { // its memory counts too
		return err
	}
	cl, err := s.newContext()
	if err != nil {
		return err
	}
	r, err := exec.MeasureRates(cl, s.shared(), s.budget)
	if err = errors.Join(err, cl.Close()); err != nil {
		return err
	}
	s.rates = r
	store := s.tuningStore()
	release, err := store.Lock(ctx, nil)
	if err != nil { // no cache: every session measures
		return ctx.Err()
	}
	defer release()
	table, _ := store.Load()
	table.Notes[s.ratesNote()] = r.String()
	if err := store.Save(table); err != nil {
		s.debug(err.Error())
	}
	return nil
}
