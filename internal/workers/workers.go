// Package workers shares out work among goroutines:
//
//   - [Each] does n pieces of work and returns when all are done.
//   - [Pool] keeps goroutines that do the pieces of several jobs at a time.
//   - [Ordered] does jobs side by side and emits their results in order.
//
// [Count] says how many goroutines short pieces of work are worth.
package workers

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// wakeTime is about how long waking one more goroutine takes. They are woken one
// after the other, so that k of them do a work of T in k·wakeTime + T/k: least for
// the square root of T/wakeTime.
const wakeTime = 8 * time.Microsecond

// Count is how many goroutines should share n pieces of work of about so long each.
func Count(n int, each time.Duration) int {
	best := math.Sqrt(float64(n) * float64(each) / float64(wakeTime))
	return max(1, min(runtime.GOMAXPROCS(0), n, int(best)))
}

// Each calls do for 0 to n-1, each once and in no certain order, from at most workers
// goroutines, and returns when all calls have returned. worker is the number of the
// goroutine, from 0: calls with the same number do not overlap.
func Each(workers, n int, do func(worker, i int)) {
	if workers == 1 {
		for i := range n {
			do(0, i)
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for k := range min(workers, n) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(k, i)
			}
		})
	}
	group.Wait()
}

// Pool is goroutines that stay: once awake they go on with the next job, where waking
// new ones for each would take longer than a short job does.
type Pool struct {
	workers int
	wake    chan struct{} // as many as goroutines should look for work
	running sync.WaitGroup
	lock    sync.Mutex
	open    []*job // those with calls that nobody has begun
}

// job is calls of do for next to end-1.
type job struct {
	end  int
	do   func(worker, i int)
	next atomic.Int64
	left atomic.Int64 // calls that have not returned
	done chan struct{}
}

// NewPool starts a pool.
func NewPool(workers int) *Pool {
	p := &Pool{workers: workers, wake: make(chan struct{}, workers)}
	for k := range workers {
		p.running.Go(func() {
			for range p.wake {
				for j := p.first(); j != nil; j = p.first() {
					j.run(k)
				}
			}
		})
	}
	return p
}

// Workers is the number of goroutines.
func (p *Pool) Workers() int { return p.workers }

// Start has do called for first to end-1, as Each does, and closes done when all calls
// have returned. Jobs are begun in the order in which they were started. Only some goroutines are woken:
// those that are awake do what is left before they sleep, so that many jobs one after another wake all
// and Start, which takes wakeTime for each, is short.
func (p *Pool) Start(first, end int, do func(worker, i int)) (done <-chan struct{}) {
	j := &job{end: end, do: do, done: make(chan struct{})}
	j.next.Store(int64(first))
	j.left.Store(int64(end - first))
	if first >= end {
		close(j.done)
		return j.done
	}
	p.lock.Lock()
	p.open = append(p.open, j)
	p.lock.Unlock()
	for range min(end-first, max(2, (p.workers+3)/4)) {
		select {
		case p.wake <- struct{}{}:
		default: // all will look
		}
	}
	return j.done
}

// first is the first job with calls that nobody has begun, nil if there is none.
func (p *Pool) first() *job {
	p.lock.Lock()
	defer p.lock.Unlock()
	for len(p.open) > 0 {
		if j := p.open[0]; j.next.Load() < int64(j.end) {
			return j
		}
		p.open[0] = nil
		p.open = p.open[1:]
	}
	return nil
}

func (j *job) run(worker int) {
	for {
		i := int(j.next.Add(1)) - 1
		if i >= j.end {
			return
		}
		j.do(worker, i)
		if j.left.Add(-1) == 0 {
			close(j.done)
		}
	}
}

// Close returns when all jobs have ended, and the goroutines. Nothing may be started any more.
func (p *Pool) Close() {
	close(p.wake)
	p.running.Wait()
}
