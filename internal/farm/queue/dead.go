package queue

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
)

// DeadOf calls each for the photos that were given up, of all orders if order is "", until
// it returns false.
func (q *Queue) DeadOf(ctx context.Context, order string, each func(seq uint64, d *Dead) bool) error {
	subject := "farm.dead.>"
	if order != "" {
		subject = "farm.dead." + order + ".*"
	}
	s, err := q.js.Stream(ctx, deadStream)
	if err != nil {
		return failed("list the dead", err)
	}
	for seq := uint64(1); ; {
		m, err := s.GetMsg(ctx, seq, jetstream.WithGetMsgSubject(subject))
		switch {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return nil
		case err != nil:
			return failed("list the dead", err)
		}
		var d Dead
		if err := json.Unmarshal(m.Data, &d); err != nil {
			d = Dead{Failure: farm.Failure{Kind: farm.Hopeless, Class: farm.Input, Reason: "its record cannot be read: " + err.Error()}}
		}
		if !each(m.Sequence, &d) {
			return nil
		}
		seq = m.Sequence + 1
	}
}

// Retry submits the dead of an order again, or of all orders if order is "", with a clean
// record, and reports how many.
func (q *Queue) Retry(ctx context.Context, order string) (n int64, err error) {
	s, err := q.js.Stream(ctx, deadStream)
	if err != nil {
		return 0, failed("list the dead", err)
	}
	type item struct {
		seq uint64
		d   *Dead
	}
	var items []item // at most some: the list changes as it is worked off
	for {
		items = items[:0]
		err := q.DeadOf(ctx, order, func(seq uint64, d *Dead) bool {
			if d.Task != nil && strings.HasPrefix(d.Subject, "farm.task.") {
				items = append(items, item{seq, d})
			}
			return len(items) < window
		})
		if err != nil || len(items) == 0 {
			q.wake()
			return n, err
		}
		for _, i := range items {
			if err := q.forgetAttempts(ctx, i.d.Task); err != nil {
				return n, err
			}
			for { // without an ID: the queue remembers the first submission
				_, err := q.js.Publish(ctx, i.d.Subject, i.d.Task.Encode(), jetstream.WithExpectStream(tasksStream))
				if err == nil {
					break
				}
				if !isFull(err) {
					return n, failed("submit "+i.d.Task.Photo, err)
				}
				if err := sleep(ctx, time.Second, nil); err != nil {
					return n, err
				}
			}
			if err := unlist(ctx, s, i.seq, i.d.Task); err != nil {
				return n, err
			}
			n++
		}
	}
}

// unlist takes a photo off the list of the dead, unless it was given up once more since: then it has a later entry.
func unlist(ctx context.Context, dead jetstream.Stream, entry uint64, t *farm.Task) error {
	err := dead.Purge(ctx, jetstream.WithPurgeSubject(deadSubject(t.Order, t.ID())), jetstream.WithPurgeSequence(entry+1))
	return failed("take a photo off the list of the dead", err)
}

// Cancel takes an order's tasks out of the queue. Photos that are being computed are
// finished.
func (q *Queue) Cancel(ctx context.Context, order string) (n int64, err error) {
	if _, err := q.Order(ctx, order); err != nil {
		return 0, err
	}
	key, before := "cancelled."+order, []byte("0")
	if e, err := q.orders.Get(ctx, key); err == nil {
		before = e.Value()
	} else if !errors.Is(err, jetstream.ErrKeyNotFound) {
		return 0, failed("cancel the order", err)
	}
	if _, err := q.orders.Put(ctx, key, before); err != nil {
		return 0, failed("cancel the order", err)
	}
	waiting, err := q.waiting(ctx, order)
	if err != nil {
		return 0, err
	}
	if err := q.tasks.Purge(ctx, jetstream.WithPurgeSubject("farm.task.*."+order)); err != nil {
		return 0, failed("cancel the order", err)
	}
	left, err := q.waiting(ctx, order)
	if err != nil {
		return 0, err
	}
	n = max(0, waiting-left)
	taken, _ := strconv.ParseInt(string(before), 10, 64)
	_, err = q.orders.Put(ctx, key, strconv.AppendInt(nil, taken+n, 10))
	return n, failed("note how many photos were cancelled", err)
}

// waiting counts an order's tasks, leased ones included.
func (q *Queue) waiting(ctx context.Context, order string) (n int64, err error) {
	info, err := q.tasks.Info(ctx, jetstream.WithSubjectFilter("farm.task.*."+order))
	if err != nil {
		return 0, failed("count the tasks", err)
	}
	for _, k := range info.State.Subjects {
		n += int64(k)
	}
	return n, nil
}
