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

// measureRates measures the device, uses what it finds and keeps it for later runs.
func (s *Session) measureRates(ctx context.Context) error {
	if err := s.closeEngine(); err != nil { // its memory counts too
		return err
	}
	cl, err := s.newContext()
	if err != nil {
		return err
	}
	r, err := exec.MeasureRates(cl, s.shared(), s.budget.Bytes())
	if err = errors.Join(err, cl.Close()); err != nil {
		return err
	}
	s.rates = r
	store := s.tuningStore()
	release, err := store.Lock(ctx, nil)
	if err != nil {
		return err
	}
	defer release()
	table, _ := store.Load()
	table.Notes[s.ratesNote()] = r.String()
	return store.Save(table)
}
