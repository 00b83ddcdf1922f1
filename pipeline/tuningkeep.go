package pipeline

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"enhance/internal/tune"
)

// keepEvery is how often findings go to the file while a device is measured.
const keepEvery = time.Second

// keeper adds findings to a device's file as they come, so that neither Ctrl-C nor
// a driver that takes the process with it costs what was measured before. Its
// caller holds the store's lock.
type keeper struct {
	store tune.Store

	mu      sync.Mutex
	table   *tune.Table // what was in the file, and what was found since
	found   int         // that were measured
	unsaved bool
	stopped bool // no more is to come: what still does is saved at once
	saved   time.Time
}

func newKeeper(store tune.Store, before *tune.Table) *keeper {
	k := &keeper{store: store, table: tune.New(before.Device), saved: time.Now()}
	maps.Copy(k.table.Choices, before.Choices)
	maps.Copy(k.table.Notes, before.Notes)
	return k
}

// add takes an outcome that was measured and checked; others are not kept. Where it
// cannot be saved, flush says so.
func (k *keeper) add(o *tune.Outcome) {
	if !o.Choice.Measured() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.table.Choices[o.Key] = o.Choice
	k.found++
	k.unsaved = true
	if k.stopped || time.Since(k.saved) >= keepEvery {
		k.save()
	}
}

// flush saves what is not saved yet.
func (k *keeper) flush() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.save()
}

func (k *keeper) save() error {
	if !k.unsaved {
		return nil
	}
	err := k.store.Save(k.table)
	if err == nil {
		k.unsaved, k.saved = false, time.Now()
	}
	return err
}

// guard saves when ctx ends, without waiting for the device to finish what it does:
// the process may not live to see it. It calls tell then with what was kept of so
// many tasks; release waits for that, and ends the watch.
func (k *keeper) guard(ctx context.Context, tasks int, tell func(string)) (release func()) {
	told := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(told)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.stopped = true
		switch err := k.save(); {
		case err != nil:
			tell(fmt.Sprintf("interrupted: what was measured is lost: %v", err))
		case k.found == 0:
			tell("interrupted before anything was measured")
		default:
			tell(fmt.Sprintf("interrupted: %d of %d kinds of convolution were measured, which is kept in %s", k.found, tasks, k.store.Path()))
		}
	})
	return func() {
		if !stop() {
			<-told
		}
	}
}
