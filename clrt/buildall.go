package clrt

import (
	"errors"
	"runtime"
	"sync"
)

// BuildAll is Build for several sources, on GPUs several at a time: their compilers
// take half a second and more for a large kernel, on one core. On CPUs they are
// built one after another, as the driver itself compiles on all cores or holds a
// lock. Programs come in the order of sources; if any fails there are none, and the
// error is that of the first which did.
func (c *Context) BuildAll(sources []string, options string) ([]*Program, error) {
	progs, errs := make([]*Program, len(sources)), make([]error, len(sources))
	at := 1
	if c.dev.info.Type != CPU {
		at = max(1, min(runtime.NumCPU(), 8))
	}
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(at, len(sources)) {
		wg.Go(func() {
			for i := range next {
				progs[i], errs[i] = c.Build(sources[i], options)
			}
		})
	}
	for i := range sources {
		next <- i
	}
	close(next)
	wg.Wait()
	for _, err := range errs {
		if err == nil {
			continue
		}
		for _, p := range progs {
			err = errors.Join(err, p.Close())
		}
		return nil, err
	}
	return progs, nil
}
