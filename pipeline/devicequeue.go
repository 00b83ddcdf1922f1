package pipeline

import (
	"context"
	"sync"
)

// deviceQueue lets runs have the device one at a time, in the order in which they joined.
type deviceQueue struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last to join has left; nil: nobody joined
}

// queueEntry is a run in the queue.
type queueEntry struct {
	before, mine chan struct{}
	once         sync.Once
}

// join adds a run at the end.
func (q *deviceQueue) join() *queueEntry {
	q.mu.Lock()
	defer q.mu.Unlock()
	e := &queueEntry{before: q.last, mine: make(chan struct{})}
	q.last = e.mine
	return e
}

// wait returns when all that joined before have left, or with ctx's error.
func (e *queueEntry) wait(ctx context.Context) error {
	if e.free() {
		return nil
	}
	select {
	case <-e.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// free reports whether wait would return at once.
func (e *queueEntry) free() bool {
	if e.before == nil {
		return true
	}
	select {
	case <-e.before:
		return true
	default:
		return false
	}
}

// leave takes the run out of the queue, whether it waited or not. Further calls do nothing.
func (e *queueEntry) leave() {
	e.once.Do(func() {
		if e.before == nil {
			close(e.mine)
			return
		}
		select {
		case <-e.before:
			close(e.mine)
		default: // those behind still wait for those before
			go func() {
				<-e.before
				close(e.mine)
			}()
		}
	})
}
