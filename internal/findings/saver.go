package findings

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"enhance/internal/tune"
)

// saveEvery is how often findings go to the file while a device is measured.
const saveEvery = time.Second

// saver adds findings to a device's file as they come, so that neither Ctrl-C nor
// a driver that takes the process with it costs what was measured before. Its
// caller holds the store's lock.
type saver struct {
	store tune.Store

	mu      sync.Mutex
	table   *tune.Table // what was in the file, and what was found since
	found   int         // that were measured
	unsaved bool
	stopped bool // no more is to come: what still does is saved at once
	saved   time.Time
}

func newSaver(store tune.Store, before *tune.Table) *saver {
	s := &saver{store: store, table: tune.New(before.Device), saved: time.Now()}
	maps.Copy(s.table.Choices, before.Choices)
	maps.Copy(s.table.Notes, before.Notes)
	return s
}

// add takes an outcome that was measured and checked; others are not kept. Where it
// cannot be saved, flush says so.
func (s *saver) add(o *tune.Outcome) {
	if !o.Choice.Measured() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.table.Choices[o.Key] = o.Choice
	s.found++
	s.unsaved = true
	if s.stopped || time.Since(s.saved) >= saveEvery {
		s.save()
	}
}

// flush saves what is not saved yet.
func (s *saver) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.save()
}

func (s *saver) save() error {
	if !s.unsaved {
		return nil
	}
	err := s.store.Save(s.table)
	if err == nil {
		s.unsaved, s.saved = false, time.Now()
	}
	return err
}

// guard saves when ctx ends, without waiting for the device to finish what it does:
// the process may not live to see it. It calls tell then with what was kept of so
// many tasks; release waits for that, and ends the watch.
func (s *saver) guard(ctx context.Context, tasks int, tell func(string)) (release func()) {
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.stopped = true
		switch err := s.save(); {
		case err != nil:
			tell(fmt.Sprintf("interrupted: what was measured is lost: %v", err))
		case s.found == 0:
			tell("interrupted before anything was measured")
		default:
			tell(fmt.Sprintf("interrupted: %d of %d kinds of convolution were measured, which is kept in %s", s.found, tasks, s.store.Path()))
		}
	})
	return func() {
		if !stop() {
			<-told
		}
	}
}
