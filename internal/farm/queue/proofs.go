package queue

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"enhance/internal/farm"
)

// A proof says that the service gave a lease. It is good for as long as the lease, which no clock
// decides:
//
//   - The task's message is in the stream. It goes when the task is done or given up, and when
//     the same photo is submitted again it has another message.
//   - The service has given no later lease of that message. It remembers the last one of each
//     message. A service that was started anew remembers none: until the task is leased again,
//     an earlier lease counts, as that of the worker which lost its server does.

// prove is what only this farm's service can say of a lease: HMAC-SHA-256 (RFC 2104) of the
// subject that acknowledges it, of the message and the delivery, and of the task.
func (s *Service) prove(h *held) string {
	m := hmac.New(sha256.New, s.secret)
	fmt.Fprintf(m, "%d:%s%d:%d:%s", len(h.Ack), h.Ack, h.Message, h.Delivery, h.Task.Encode())
	return hex.EncodeToString(m.Sum(nil))
}

// checkProof refuses leases that the service did not give.
func (s *Service) checkProof(h *held) error {
	if h == nil || h.Task == nil || !hmac.Equal([]byte(h.Proof), []byte(s.prove(h))) {
		return refused("the lease is not one of this farm's")
	}
	return nil
}

// check is checkProof, with ErrEnded for a lease that another has followed.
func (s *Service) check(h *held) error {
	err := s.checkProof(h)
	if err == nil && s.proofs.followed(h) {
		err = ErrEnded
	}
	return err
}

// checkTask is check, with ErrEnded for a task that is no longer in the queue.
func (s *Service) checkTask(ctx context.Context, h *held) error {
	if err := s.check(h); err != nil {
		return err
	}
	m, err := s.tasks.GetMsg(ctx, h.Message)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return ErrEnded
	}
	if err != nil {
		return failed("look a task up", err)
	}
	if t, err := farm.ParseTask(m.Data); err != nil || t.ID() != h.Task.ID() { // the stream was made anew
		return ErrEnded
	}
	return nil
}

// proofs has the last delivery of each message that is leased.
type proofs struct {
	mu   sync.Mutex
	last map[uint64]uint64
	most int // of last, before those that are gone are looked for
}

// leased notes a lease.
func (p *proofs) leased(h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last == nil {
		p.last = map[uint64]uint64{}
	}
	p.last[h.Message] = max(p.last[h.Message], h.Delivery)
}

// followed reports whether a later lease of the message was given.
func (p *proofs) followed(h *held) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.last[h.Message] > h.Delivery
}

// ended forgets a message that is gone.
func (p *proofs) ended(h *held) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.last, h.Message)
}

// before forgets all messages before the first that the stream has, such as those of orders that were cancelled.
func (p *proofs) before(first uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.last) <= p.most {
		return
	}
	for m := range p.last {
		if m < first {
			delete(p.last, m)
		}
	}
	p.most = 2*len(p.last) + 1024
}
