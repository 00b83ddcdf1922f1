package pipeline

import (
	"context"
	"sync"
)

// memoryLimiter shares the host's memory between the photos of a batch that are under
// way. A photo always gets what it asks for when no other is under way: whether
// that is too much is for hostNeeds to say.
type memoryLimiter struct {
	total int64

	mu      sync.Mutex
	changed *sync.Cond
	used    int64
	fixed   int64 // what is held whatever is under way
	known   bool  // whether fixed is; until then there is one photo at a time
}

// newMemoryLimiter makes one. Unless known says that nothing is held whatever is under way,
// setFixed must be called before a second photo is let in.
func newMemoryLimiter(total int64, known bool) *memoryLimiter {
	l := &memoryLimiter{total: total, known: known}
	l.changed = sync.NewCond(&l.mu)
	return l
}

// setFixed tells what is held whatever is under way; the most of all calls counts.
func (l *memoryLimiter) setFixed(n int64) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fixed, l.known = max(l.fixed, n), true
	l.changed.Broadcast()
}

// affords reports whether several photos could be under way that take n bytes each.
func (l *memoryLimiter) affords(n int64) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.known && l.fixed+3*n <= l.total
}

// acquire waits for n bytes.
func (l *memoryLimiter) acquire(ctx context.Context, n int64) error {
	stop := context.AfterFunc(ctx, func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.changed.Broadcast()
	})
	defer stop()
	l.mu.Lock()
	defer l.mu.Unlock()
	for !l.fits(n) {
		if err := ctx.Err(); err != nil {
			return err
		}
		l.changed.Wait()
	}
	l.used += n
	return nil
}

func (l *memoryLimiter) fits(n int64) bool {
	switch {
	case l.used == 0:
		return true
	case !l.known:
		return false
	}
	return l.fixed+l.used+n <= l.total
}

// release gives back what acquire took.
func (l *memoryLimiter) release(n int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.used -= n
	l.changed.Broadcast()
}
