package ref

import (
	"context"
	"runtime"
	"sync"

	"enhance/internal/workers"
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

// each calls task for 0 to n-1, each once, in no certain order, with the number of the
// goroutine, which is below p.workers, and stops early with ctx's error when ctx is done.
func (p *pool) each(ctx context.Context, n int, task func(worker, i int)) error {
	workers.Each(p.workers, n, func(worker, i int) {
		if ctx.Err() == nil {
			task(worker, i)
		}
	})
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
