package exec

import (
	"sync"
	"sync/atomic"
)

// crew is goroutines that share out the rows of chunks, those of several chunks at
// a time: once awake they go on with the next chunk, where starting afresh for each
// would take longer than to convert its rows.
type crew struct {
	workers int
	work    chan *rowsJob // each as often as there should be workers at it
	going   sync.WaitGroup
}

// rowsJob is rows [y0,y1) to be done, in any order.
type rowsJob struct {
	y1   int
	do   func(worker, y int)
	end  func()
	next atomic.Int64 // row
	left atomic.Int64 // rows that are not done
	done chan struct{}
}

func newCrew(workers int) *crew {
	c := &crew{workers: workers, work: make(chan *rowsJob, (inChunks+outChunks)*workers)}
	for k := range workers {
		c.going.Go(func() {
			for j := range c.work {
				j.share(k)
			}
		})
	}
	return c
}

// start has do called for rows y0 to y1-1, with the number of the worker, and then
// end. done is closed after that.
func (c *crew) start(y0, y1 int, do func(worker, y int), end func()) (done <-chan struct{}) {
	j := &rowsJob{y1: y1, do: do, end: end, done: make(chan struct{})}
	j.next.Store(int64(y0))
	j.left.Store(int64(y1 - y0))
	for range min(y1-y0, c.workers) {
		c.work <- j
	}
	return j.done
}

func (j *rowsJob) share(worker int) {
	for {
		y := int(j.next.Add(1)) - 1
		if y >= j.y1 {
			return
		}
		j.do(worker, y)
		if j.left.Add(-1) == 0 {
			j.end()
			close(j.done)
		}
	}
}

// close returns when the goroutines have ended; nothing must be started any more.
func (c *crew) close() {
	close(c.work)
	c.going.Wait()
}
