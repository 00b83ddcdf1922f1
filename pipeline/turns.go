package pipeline

import (
	"context"
	"sync"
)

// turns lets those who took a place have the device one at a time, in the order
// of their places.
type turns struct {
	mu   sync.Mutex
	last chan struct{} // closed when the last place is given up; nil: none was taken
}

// place is a place in the row.
type place struct {
	before, mine chan struct{}
	once         sync.Once
}

// take takes the next place.
func (t *turns) take() *place {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &place{before: t.last, mine: make(chan struct{})}
	t.last = p.mine
	return p
}

// wait returns when all places before were given up, or with ctx's error.
func (p *place) wait(ctx context.Context) error {
	if p.free() {
		return nil
	}
	select {
	case <-p.before:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// free reports whether wait would return at once.
func (p *place) free() bool {
	if p.before == nil {
		return true
	}
	select {
	case <-p.before:
		return true
	default:
		return false
	}
}

// leave gives the place up, waited for or not. Further calls do nothing.
func (p *place) leave() {
	p.once.Do(func() {
		if p.before == nil {
			close(p.mine)
			return
		}
		select {
		case <-p.before:
			close(p.mine)
		default: // those behind still wait for those before
			go func() {
				<-p.before
				close(p.mine)
			}()
		}
	})
}
