package queue

import (
	"context"
	"sync"
	"time"
)

// alarm wakes all who wait.
type alarm struct {
	mu   sync.Mutex
	next chan struct{} // closed when it rings
}

func newAlarm() *alarm { return &alarm{next: make(chan struct{})} }

// ring wakes those who wait now.
func (a *alarm) ring() {
	a.mu.Lock()
	defer a.mu.Unlock()
	close(a.next)
	a.next = make(chan struct{})
}

// channel is closed by the next ring.
func (a *alarm) channel() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next
}

// sleep waits for d, a ring of the channel (nil: none), or the end of ctx, whose error it
// returns.
func sleep(ctx context.Context, d time.Duration, ring <-chan struct{}) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ring:
	case <-ctx.Done():
	}
	return ctx.Err()
}
