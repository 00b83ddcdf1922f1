package ref

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// pool spreads tasks over goroutines and counts the work they report.
type pool struct {
	workers  int
	mu       sync.Mutex
	done     int64
	total    int64
	progress func(done, total int64)
}

func newPool(o Options, total int64) *pool {
	p := &pool{workers: o.Workers, total: total, progress: o.Progress}
	if p.workers < 1 {
		p.workers = runtime.GOMAXPROCS(0)
	}
	return p
}

// each calls task(0) ... task(n-1), each once, in no certain order, and stops
// early with ctx's error when ctx is done.
func (p *pool) each(ctx context.Context, n int, task func(i int)) error {
	return p.eachWorker(ctx, n, func() func(int) { return task })
}

// eachWorker is each for tasks with scratch memory: start is called once in
// every goroutine and returns its task function.
func (p *pool) eachWorker(ctx context.Context, n int, start func() func(i int)) error {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(p.workers, n) {
		group.Go(func() {
			task := start()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				task(i)
			}
		})
	}
	group.Wait()
	return ctx.Err()
}

// worked reports work that was done.
func (p *pool) worked(flops int64) {
	if p.progress == nil || flops == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done += flops
	p.progress(p.done, p.total)
}
