package queue

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
)

// window is how many tasks a submitter has under way.
const window = 256

// Sized is a task and the size class of its photo.
type Sized struct {
	*farm.Task
	Class int
}

// Submitted counts what became of tasks.
type Submitted struct {
	Accepted   int64 `json:"accepted"`
	Duplicates int64 `json:"duplicates"` // that were submitted a short time before and wait still
	Waited     bool  `json:"waited"`     // the queue was full for a while
}

// Submit streams the tasks of an order into the queue. It holds no more than a window of them:
// where the queue is full it waits. progress, if not nil, is told how many are in.
func (q *Queue) Submit(ctx context.Context, order string, tasks iter.Seq[Sized], progress func(Submitted)) (Submitted, error) {
	info, err := q.tasks.Info(ctx)
	if err != nil {
		return Submitted{}, failed("look at the queue", err)
	}
	s := submission{Queue: q, order: order, progress: progress, before: info.State.LastSeq}
	for t := range tasks {
		if err := s.add(ctx, t); err != nil {
			return s.counts, err
		}
	}
	return s.counts, s.settle(ctx, 0)
}

// SetTotal notes how many photos an order has in all.
func (q *Queue) SetTotal(ctx context.Context, order string, photos int64) error {
	return q.setTotal(ctx, order, photos)
}

// submission is one Submit.
type submission struct {
	*Queue
	order    string
	progress func(Submitted)
	before   uint64 // the queue's last message when this submission began
	counts   Submitted
	pending  []pending // the oldest first
	offered  [len(farm.Sides)]bool
	told     time.Time // when it was last said what is waited for
}

type pending struct {
	task   Sized
	answer jetstream.PubAckFuture
}

func (s *submission) add(ctx context.Context, t Sized) error {
	if !s.offered[t.Class] {
		if err := s.offer(ctx, Offer{s.order, t.Class}); err != nil {
			return err
		}
		s.offered[t.Class] = true
	}
	if err := s.settle(ctx, window-1); err != nil {
		return err
	}
	answer, err := s.js.PublishAsync(taskSubject(t.Class, s.order), t.Encode(), jetstream.WithMsgID(t.ID()), jetstream.WithExpectStream(tasksStream))
	if err != nil {
		return s.again(ctx, t, t.ID())
	}
	s.pending = append(s.pending, pending{t, answer})
	return nil
}

// settle waits until no more than some tasks are under way.
func (s *submission) settle(ctx context.Context, most int) error {
	for len(s.pending) > most {
		p := s.pending[0]
		s.pending = s.pending[1:]
		select {
		case ack := <-p.answer.Ok():
			if err := s.answered(ctx, p.task, p.task.ID(), ack); err != nil {
				return err
			}
		case <-p.answer.Err():
			if err := s.again(ctx, p.task, p.task.ID()); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if most == 0 {
		s.wake()
	}
	return nil
}

// answered takes the answer to the task that was published under an ID. The queue remembers
// IDs for a while after their tasks are gone, made or cancelled: such a task is submitted
// anew, for its result may be gone, too.
func (s *submission) answered(ctx context.Context, t Sized, id string, ack *jetstream.PubAck) error {
	if ack.Duplicate && ack.Sequence <= s.before {
		switch _, err := s.tasks.GetMsg(ctx, ack.Sequence); {
		case errors.Is(err, jetstream.ErrMsgNotFound):
			return s.again(ctx, t, t.ID()+"-"+strconv.FormatUint(ack.Sequence, 10))
		case err != nil: // the server went away in between
			return s.again(ctx, t, id)
		}
	}
	s.count(ack)
	return nil
}

// count counts a task that is in the queue, and wakes idle workers now and then.
func (s *submission) count(ack *jetstream.PubAck) {
	if ack.Duplicate {
		s.counts.Duplicates++
	} else {
		s.counts.Accepted++
	}
	if n := s.counts.Accepted; n < 8 || n%(window/4) == 0 {
		s.wake()
	}
	if s.progress != nil {
		s.progress(s.counts)
	}
}

// again publishes a task until it is in: the queue was full, or the server away. The ID
// keeps it from being there twice.
func (s *submission) again(ctx context.Context, t Sized, id string) error {
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, 2*time.Second) {
		ack, err := s.js.Publish(ctx, taskSubject(t.Class, s.order), t.Encode(), jetstream.WithMsgID(id), jetstream.WithExpectStream(tasksStream))
		if err == nil {
			return s.answered(ctx, t, id, ack)
		}
		var api *jetstream.APIError
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case isFull(err):
			s.counts.Waited = true
			s.wake()
			s.tell(err)
		case errors.As(err, &api):
			return failed("submit "+t.Photo, err)
		case gone(s.nc) != nil:
			return gone(s.nc)
		}
		if err := sleep(ctx, wait, nil); err != nil {
			return err
		}
	}
}

// tellPeriod is how often a submission says what it waits for.
const tellPeriod = time.Minute

// tell says what the submission waits for.
func (s *submission) tell(err error) {
	if !s.told.IsZero() && time.Since(s.told) < tellPeriod {
		return
	}
	s.told = time.Now()
	if atBound(err) {
		s.say(fmt.Sprintf("the queue has as many photos as it takes (%d submitted so far): the submission waits until workers have made some", s.counts.Accepted+s.counts.Duplicates))
		return
	}
	s.say(fmt.Sprintf("%v: the submission waits", ErrDisk))
}

// isFull reports whether the queue takes no more: the stream has as many tasks as it may, or
// the server's disk has no room.
func isFull(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == 10077 || api.ErrorCode == 10023 || api.ErrorCode == 10047 || api.ErrorCode == 10012) // store failed, no resources, no storage, no store for a consumer
}

// atBound reports whether that is for the bounds of the stream of tasks.
func atBound(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (strings.Contains(api.Description, "maximum messages") || strings.Contains(api.Description, "maximum bytes"))
}

// wake has idle workers look for tasks.
func (q *Queue) wake() { q.nc.Publish(wakeSubject, nil) }
