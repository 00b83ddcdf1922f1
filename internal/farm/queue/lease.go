package queue

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
	"enhance/internal/printable"
)

// Lease is a task that belongs to this worker until it is done, failed or released, or
// until the worker has been silent for the time of the policy. A goroutine of its own
// renews it.
type Lease struct {
	*farm.Task
	// Waiting is how many tasks of the photo's size class waited behind it.
	Waiting int64
	// Deliveries counts how often the task was leased, this time included.
	Deliveries uint64

	queue    *Queue
	msg      jetstream.Msg
	stop     func()
	attempts farm.Attempts
	revision uint64
}

// Take leases a task of one of the offers that accept takes, large photos first. It waits for one
// without asking often: submitters wake workers, and how long it waits between two looks
// doubles to a third of a lease. With giveUp it returns nil after some looks.
func (q *Queue) Take(ctx context.Context, accept func(Offer) bool, giveUp bool) (*Lease, error) {
	longest := max(q.policy.Heartbeat(), 250*time.Millisecond)
	for wait := 250 * time.Millisecond; ; wait = min(2*wait, longest) {
		ring := q.woken.channel()
		l, err := q.TakeNow(ctx, accept)
		if l != nil || err != nil {
			return l, err
		}
		if giveUp && wait >= time.Second {
			return nil, nil
		}
		if err := sleep(ctx, wait, ring); err != nil {
			return nil, err
		}
	}
}

// Left counts the tasks of the offers that accept takes, leased ones included.
func (q *Queue) Left(ctx context.Context, accept func(Offer) bool) (n int64, err error) {
	for _, offer := range q.offers.list() {
		if !accept(offer) {
			continue
		}
		c, err := q.offers.consumer(ctx, q.js, offer)
		if err != nil {
			return 0, failed("count the tasks", err)
		}
		info, err := c.Info(ctx)
		if err != nil {
			return 0, failed("count the tasks", err)
		}
		n += int64(info.NumPending) + int64(info.NumAckPending)
	}
	return n, nil
}

// TakeNow is Take without waiting: nil if no task is there or the server is away.
func (q *Queue) TakeNow(ctx context.Context, accept func(Offer) bool) (*Lease, error) {
	for _, offer := range q.offers.list() {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if !accept(offer) {
			continue
		}
		c, err := q.offers.consumer(ctx, q.js, offer)
		if err != nil {
			continue
		}
		batch, err := c.FetchNoWait(1)
		if err != nil {
			continue
		}
		for msg := range batch.Messages() {
			if l := q.lease(ctx, msg); l != nil {
				return l, nil
			}
		}
	}
	return nil, nil
}

// lease begins to renew a lease. What is no task is buried and nil returned.
func (q *Queue) lease(ctx context.Context, msg jetstream.Msg) *Lease {
	l := &Lease{queue: q, msg: msg}
	if meta, err := msg.Metadata(); err == nil {
		l.Waiting, l.Deliveries = int64(meta.NumPending), meta.NumDelivered
	}
	var err error
	if l.Task, err = farm.ParseTask(msg.Data()); err != nil {
		text := printable.Line(string(msg.Data()[:min(len(msg.Data()), 512)]))
		d := &Dead{Failure: farm.Failure{Kind: farm.Hopeless, Reason: err.Error(), Log: text}}
		if q.bury(ctx, "stray", farm.Hash(string(msg.Data()))[:32], d) == nil {
			msg.DoubleAck(ctx)
		}
		return nil
	}
	done := make(chan struct{})
	l.stop = sync.OnceFunc(func() { close(done) })
	go func() {
		t := time.NewTicker(q.policy.Heartbeat())
		defer t.Stop()
		for {
			select {
			case <-done:
				return
			case <-t.C:
				msg.InProgress()
			}
		}
	}()
	return l
}

// Begin records that this worker begins the photo, before it computes anything. If the
// photo is to be given up, it is, and why is returned.
func (l *Lease) Begin(ctx context.Context, worker string) (given *farm.Failure, err error) {
	if err := l.readAttempts(ctx); err != nil {
		return nil, err
	}
	if f := l.attempts.Dead(&l.queue.policy); f != nil {
		return f, l.giveUp(ctx, f)
	}
	l.attempts = append(l.attempts, farm.Attempt{Worker: worker})
	return nil, l.writeAttempts(ctx)
}

// Suspected reports whether a worker began the photo before and did not finish it.
func (l *Lease) Suspected(ctx context.Context) (bool, error) {
	err := l.readAttempts(ctx)
	return l.attempts.Alone(), err
}

func (l *Lease) readAttempts(ctx context.Context) error {
	e, err := l.queue.begun.Get(ctx, l.ID())
	l.attempts, l.revision = nil, 0
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil
	case err != nil:
		return failed("read the attempts", err)
	}
	l.revision = e.Revision()
	l.attempts, err = farm.ParseAttempts(e.Value())
	return err
}

// writeAttempts replaces the record unless another worker has changed it.
func (l *Lease) writeAttempts(ctx context.Context) (err error) {
	if l.revision == 0 {
		l.revision, err = l.queue.begun.Create(ctx, l.ID(), l.attempts.Encode())
	} else {
		l.revision, err = l.queue.begun.Update(ctx, l.ID(), l.attempts.Encode(), l.revision)
	}
	return failed("note the attempt", err)
}

// Fail says why the photo has no result. It is tried again later, unless that was the last
// attempt: then dead is true, and the photo is in the list of the dead.
func (l *Lease) Fail(ctx context.Context, worker string, f *farm.Failure) (dead bool, err error) {
	defer l.stop()
	f.Log = farm.Tail(f.Log)
	if err := l.readAttempts(ctx); err != nil { // another worker may have begun it meanwhile
		return false, errors.Join(err, l.msg.Nak())
	}
	l.attempts = slices.DeleteFunc(l.attempts, func(a farm.Attempt) bool { return a.Worker == worker && a.Failure == nil })
	if f.Kind.Blames() {
		l.attempts = append(l.attempts, farm.Attempt{Worker: worker, Failure: f})
	}
	if given := l.attempts.Dead(&l.queue.policy); given != nil {
		return true, l.giveUp(ctx, given)
	}
	if len(l.attempts) == 0 {
		err = l.queue.begun.Purge(ctx, l.ID())
	} else {
		err = l.writeAttempts(ctx)
	}
	if f.Kind == farm.Stopped {
		err = errors.Join(err, l.msg.Nak(), l.queue.nc.Flush())
		l.queue.wake()
		return false, err
	}
	return false, errors.Join(err, l.msg.NakWithDelay(farm.Wait(max(1, len(l.attempts)))))
}

// Release gives the task back at once, as if it had not been taken.
func (l *Lease) Release() error {
	l.stop()
	return l.msg.Nak()
}

// giveUp puts the photo into the list of the dead and takes the task out of the queue.
func (l *Lease) giveUp(ctx context.Context, f *farm.Failure) error {
	if err := l.queue.bury(ctx, l.Order, l.ID(), &Dead{Task: l.Task, Failure: *f, Subject: l.msg.Subject()}); err != nil {
		return err
	}
	return l.Done(ctx)
}

// Done takes the task out of the queue, for its result is published, and waits for the
// answer.
func (l *Lease) Done(ctx context.Context) error {
	defer l.stop()
	var err error
	for range 3 { // a lost answer: the next asks again
		try, cancel := context.WithTimeout(ctx, answerTime)
		err = l.msg.DoubleAck(try)
		cancel()
		if err == nil || ctx.Err() != nil || errors.Is(err, jetstream.ErrMsgAlreadyAckd) {
			break
		}
	}
	if err == nil && l.revision != 0 {
		err = l.queue.begun.Purge(ctx, l.ID())
	}
	return failed("acknowledge "+l.Photo, err)
}

// Dead is a photo that was given up.
type Dead struct {
	Task    *farm.Task   `json:"task,omitempty"` // nil: the message was no task
	Failure farm.Failure `json:"failure"`
	Subject string       `json:"subject,omitempty"` // where the task waited
}

// bury adds to the list of the dead.
func (q *Queue) bury(ctx context.Context, order, id string, d *Dead) error {
	data, err := json.Marshal(d)
	if err == nil {
		_, err = q.js.Publish(ctx, "farm.dead."+order+"."+id, data)
	}
	return failed("list a photo as given up", err)
}
