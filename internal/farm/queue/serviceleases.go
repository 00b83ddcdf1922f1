package queue

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
	"enhance/internal/printable"
)

// secretKey has what proves leases. It outlives the process, so that a worker keeps its
// leases while the server is started again.
const secretKey = "secret"

// serviceSecret reads the secret, and makes it if there is none.
func (q *Queue) serviceSecret(ctx context.Context) ([]byte, error) {
	fresh := make([]byte, sha256.Size)
	rand.Read(fresh)
	if _, err := q.orders.Create(ctx, secretKey, fresh); err == nil {
		return fresh, nil
	} else if !errors.Is(err, jetstream.ErrKeyExists) {
		return nil, failed("make the secret of leases", err)
	}
	e, err := q.orders.Get(ctx, secretKey)
	if err != nil {
		return nil, failed("read the secret of leases", err)
	}
	return e.Value(), nil
}

// lease proves a lease. What is no task is buried and nil returned.
func (s *Service) lease(ctx context.Context, m jetstream.Msg) (*leased, error) {
	t, err := farm.ParseTask(m.Data())
	if err != nil {
		text := printable.Line(string(m.Data()[:min(len(m.Data()), 512)]))
		d := &Dead{Failure: farm.Failure{Kind: farm.Hopeless, Class: farm.Input, Reason: err.Error(), Log: text}}
		if s.bury(ctx, "stray", farm.Hash(string(m.Data()))[:32], d) == nil {
			m.DoubleAck(ctx)
		}
		return nil, nil
	}
	meta, err := m.Metadata()
	if err != nil {
		return nil, failed("read a lease", err)
	}
	l := &leased{held: held{Ack: m.Reply(), Task: t, Message: meta.Sequence.Stream, Delivery: meta.NumDelivered}, Waiting: int64(meta.NumPending), Lease: s.policy.Lease}
	l.Proof = s.prove(&l.held)
	s.proofs.leased(&l.held)
	a, _, err := s.attempts(ctx, t)
	if err != nil {
		return nil, errors.Join(err, m.Nak())
	}
	l.Suspected = a.Alone()
	return l, nil
}

// JetStream's acknowledgements (ADR-15 of its makers).
const (
	ackDone  = "+ACK"
	ackRenew = "+WPI"
	ackBack  = "-NAK"
)

func (s *Service) answerRenew(_ context.Context, r *ask, _ *answer) error {
	if err := s.check(r.Held); err != nil {
		return err
	}
	return s.nc.Publish(r.Held.Ack, []byte(ackRenew))
}

func (s *Service) answerRelease(_ context.Context, r *ask, _ *answer) error {
	if err := s.check(r.Held); err != nil {
		return err
	}
	return s.back(r.Held, 0)
}

// back gives a task back to the queue, for others at once or after a while.
func (s *Service) back(h *held, after time.Duration) error {
	text := ackBack
	if after > 0 {
		text = fmt.Sprintf(`%s {"delay": %d}`, ackBack, after)
	}
	return failed("give a task back", s.nc.Publish(h.Ack, []byte(text)))
}

// acknowledge takes the task out of the queue.
func (s *Service) acknowledge(ctx context.Context, h *held) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	_, err := s.nc.RequestWithContext(ctx, h.Ack, []byte(ackDone))
	return failed("acknowledge "+h.Task.Photo, err)
}

// attempts is the record of a task's attempts, and its revision, 0 if there is none.
func (s *Service) attempts(ctx context.Context, t *farm.Task) (a farm.Attempts, revision uint64, err error) {
	e, err := s.begun.Get(ctx, t.ID())
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, 0, nil
	case err != nil:
		return nil, 0, failed("read the attempts", err)
	}
	a, err = farm.ParseAttempts(e.Value())
	return a, e.Revision(), err
}

// noteAttempts replaces the record unless another worker has changed it.
func (s *Service) noteAttempts(ctx context.Context, t *farm.Task, a farm.Attempts, revision uint64) (err error) {
	if revision == 0 {
		_, err = s.begun.Create(ctx, t.ID(), a.Encode())
	} else {
		_, err = s.begun.Update(ctx, t.ID(), a.Encode(), revision)
	}
	return failed("note the attempt", err)
}

// forgetAttempts removes the record, without the mark that a bucket keeps of what was removed.
func (q *Queue) forgetAttempts(ctx context.Context, t *farm.Task) error {
	err := q.begunStream.Purge(ctx, jetstream.WithPurgeSubject("$KV."+begunBucket+"."+t.ID()))
	return failed("forget the attempts", err)
}

// answerBegin records that the worker begins the photo, before it computes anything. If the
// photo is to be given up, it is, and why is answered.
func (s *Service) answerBegin(ctx context.Context, r *ask, a *answer) error {
	if err := errors.Join(s.checkTask(ctx, r.Held), checkWorker(s.users, r.key, r.Worker)); err != nil {
		return err
	}
	all, revision, err := s.attempts(ctx, r.Held.Task)
	if err != nil {
		return err
	}
	if f := all.Dead(&s.policy); f != nil {
		a.Given = f
		return s.giveUp(ctx, r.Held, f)
	}
	return s.noteAttempts(ctx, r.Held.Task, append(all, farm.Attempt{Worker: r.Worker}), revision)
}

// answerFail takes why the photo has no result. It is tried again later, unless that was the
// last attempt: then it is given up.
func (s *Service) answerFail(ctx context.Context, r *ask, a *answer) error {
	if err := errors.Join(s.checkTask(ctx, r.Held), checkWorker(s.users, r.key, r.Worker)); err != nil {
		return err
	}
	f := r.Failure
	if f == nil {
		return refused("it says nothing of the failure")
	}
	f.Log, f.Reason = farm.Tail(f.Log), farm.Tail(f.Reason)
	all, revision, err := s.attempts(ctx, r.Held.Task)
	if err != nil {
		return errors.Join(err, s.back(r.Held, 0))
	}
	all = slices.DeleteFunc(all, func(a farm.Attempt) bool { return a.Worker == r.Worker && a.Failure == nil })
	if f.Kind.Blames() {
		all = append(all, farm.Attempt{Worker: r.Worker, Failure: f})
	}
	if given := all.Dead(&s.policy); given != nil {
		a.Dead = true
		return s.giveUp(ctx, r.Held, given)
	}
	if len(all) > 0 {
		err = s.noteAttempts(ctx, r.Held.Task, all, revision)
	} else if revision != 0 {
		err = s.forgetAttempts(ctx, r.Held.Task)
	}
	if f.Kind == farm.Stopped {
		err = errors.Join(err, s.back(r.Held, 0), s.nc.Flush())
		s.wake()
		return err
	}
	return errors.Join(err, s.back(r.Held, farm.Wait(max(1, len(all)))))
}

// giveUp puts the photo into the list of the dead and takes the task out of the queue.
func (s *Service) giveUp(ctx context.Context, h *held, f *farm.Failure) error {
	if err := s.bury(ctx, h.Task.Order, h.Task.ID(), &Dead{Task: h.Task, Failure: *f, Subject: subjectOf(h.Ack), Message: h.Message}); err != nil {
		return err
	}
	err := s.acknowledge(ctx, h)
	if err == nil {
		s.proofs.ended(h)
	}
	return errors.Join(err, s.forgetAttempts(ctx, h.Task))
}

// subjectOf is where a lease's task waited, by the name of the consumer in
// $JS.ACK.STREAM.ORDER-SIDE....
func subjectOf(ack string) string {
	parts := strings.Split(ack, ".")
	if len(parts) < 4 {
		return ""
	}
	order, side, _ := strings.Cut(parts[3], "-")
	return "farm.task." + side + "." + order
}

// answerDone takes the task out of the queue, for its result is published: the receipt must
// be one of the task's. A photo that was given up meanwhile is no longer.
func (s *Service) answerDone(ctx context.Context, r *ask, _ *answer) error {
	if err := s.checkProof(r.Held); err != nil {
		return err
	}
	if err := s.checkReceipt(ctx, r.Held.Task, r.Receipt); err != nil {
		return err
	}
	err := s.checkTask(ctx, r.Held)
	if errors.Is(err, ErrEnded) {
		return s.unbury(ctx, r.Held)
	}
	if err != nil {
		return err
	}
	if err := s.acknowledge(ctx, r.Held); err != nil {
		return err
	}
	s.proofs.ended(r.Held)
	err = s.forgetAttempts(ctx, r.Held.Task)
	if e := s.unbury(ctx, r.Held); !errors.Is(e, ErrEnded) {
		err = errors.Join(err, e)
	}
	return err
}

// unbury takes a photo off the list of the dead, if it was given up from the message that was leased: ErrEnded if not.
func (s *Service) unbury(ctx context.Context, h *held) error {
	subject := deadSubject(h.Task.Order, h.Task.ID())
	m, err := s.dead.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return ErrEnded
	}
	if err == nil {
		var d Dead
		if json.Unmarshal(m.Data, &d) != nil || d.Message != h.Message {
			return ErrEnded
		}
		err = s.dead.Purge(ctx, jetstream.WithPurgeSubject(subject))
	}
	return failed("take a photo off the list of the dead", err)
}

// checkReceipt refuses a receipt that cannot be that of a task's result. Whether the picture
// is right only computing it again can tell.
func (s *Service) checkReceipt(ctx context.Context, t *farm.Task, r *farm.Receipt) error {
	if r == nil {
		return refused("%s has no receipt", t.Photo)
	}
	if _, err := farm.ParseReceipt(r.Encode()); err != nil {
		return refused("the receipt of %s: %v", t.Photo, err)
	}
	o, err := s.orderOf(ctx, t.Order)
	switch {
	case err != nil:
		return err
	case r.Order.LookID() != o.LookID() || r.Extension != o.Extension:
		return refused("the receipt of %s is of other settings", t.Photo)
	case t.Content != "" && r.Photo != t.Content:
		return refused("the receipt of %s is of another photo", t.Photo)
	}
	return nil
}

// Dead is a photo that was given up.
type Dead struct {
	Task    *farm.Task   `json:"task,omitempty"` // nil: the message was no task
	Failure farm.Failure `json:"failure"`
	Subject string       `json:"subject,omitempty"` // where the task waited
	Message uint64       `json:"message,omitempty"` // which message in the stream of tasks it was
}

func deadSubject(order, id string) string { return "farm.dead." + order + "." + id }

// bury adds to the list of the dead.
func (q *Queue) bury(ctx context.Context, order, id string, d *Dead) error {
	data, err := json.Marshal(d)
	if err == nil {
		_, err = q.js.Publish(ctx, deadSubject(order, id), data)
	}
	return failed("list a photo as given up", err)
}
