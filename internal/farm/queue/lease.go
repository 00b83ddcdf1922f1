package queue

import (
	"context"
	"errors"
	"sync"
	"time"

	"enhance/internal/farm"
)

// Lease is a task that belongs to this worker until it is done, failed or released, or
// until the worker has been silent for the time of the policy. A goroutine of its own
// renews it.
type Lease struct {
	*farm.Task
	// Side is that of the photo's size class: its sides are no longer.
	Side int
	// Waiting is how many tasks of the photo's size class waited behind it.
	Waiting int64
	// Deliveries counts how often the task was leased, this time included.
	Deliveries uint64
	// Suspected says that a worker began the photo before and did not finish it.
	Suspected bool

	client *Client
	held   held
	stop   func()
}

// hold begins to renew a lease.
func (c *Client) hold(given *leased) (*Lease, error) {
	if given.Task == nil || given.Lease <= 0 {
		return nil, &farm.FormatError{What: "lease", Problem: "it has no task or no time"}
	}
	t, err := farm.ParseTask(given.Task.Encode())
	if err != nil {
		return nil, err
	}
	done := make(chan struct{})
	l := &Lease{Task: t, Side: given.Side, Waiting: given.Waiting, Deliveries: given.Delivery, Suspected: given.Suspected, client: c, held: given.held}
	c.mu.Lock()
	c.held[t.ID()] = l.held
	c.mu.Unlock()
	l.stop = sync.OnceFunc(func() {
		close(done)
		c.mu.Lock()
		delete(c.held, t.ID())
		c.mu.Unlock()
	})
	go func() {
		now := farm.Policy{Lease: max(given.Lease, time.Second)}
		tick := time.NewTicker(now.Heartbeat())
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				c.nc.Publish(c.subject("renew"), encodeMessage(&ask{Held: &l.held}, nil))
			}
		}
	}()
	return l, nil
}

// Begin records that this worker begins the photo, before it computes anything. If the
// photo is to be given up, it is, and why is returned.
func (l *Lease) Begin(ctx context.Context, worker string) (given *farm.Failure, err error) {
	a, err := l.client.ask(ctx, "begin", &ask{Held: &l.held, Worker: worker})
	if err != nil {
		return nil, err
	}
	if a.Given != nil {
		l.stop()
	}
	return a.Given, nil
}

// Fail says why the photo has no result. It is tried again later, unless that was the last
// attempt: then dead is true, and the photo is in the list of the dead.
func (l *Lease) Fail(ctx context.Context, worker string, f *farm.Failure) (dead bool, err error) {
	defer l.stop()
	short := *f
	short.Log = farm.Tail(f.Log)
	a, err := l.client.ask(ctx, "fail", &ask{Held: &l.held, Worker: worker, Failure: &short})
	if err != nil {
		return false, err
	}
	return a.Dead, nil
}

// Release gives the task back at once, as if it had not been taken.
func (l *Lease) Release(ctx context.Context) error {
	l.stop()
	_, err := l.client.ask(ctx, "release", &ask{Held: &l.held})
	return err
}

// Abandon stops to renew a lease that has ended.
func (l *Lease) Abandon() { l.stop() }

// Done takes the task out of the queue, for its result is published with this receipt, and
// waits for the answer.
func (l *Lease) Done(ctx context.Context, r *farm.Receipt) (err error) {
	defer l.stop()
	for i := range 3 { // a lost answer: the next asks again
		_, err = l.client.ask(ctx, "done", &ask{Held: &l.held, Receipt: r})
		switch {
		case i > 0 && errors.Is(err, ErrEnded): // by what was asked before
			return nil
		case err == nil || ctx.Err() != nil || errors.As(err, new(*RefusedError)) || errors.Is(err, ErrEnded):
			return err
		}
	}
	return err
}
