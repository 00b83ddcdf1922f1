package clrt

import (
	"errors"
	"sync"
)

// BuildAll is Build for several sources, as many at a time as [Context.Compilers] says: a
// large kernel takes a compiler half a second and more, on one core. Programs come in
// the order of sources; if any fails there are none, and the error is that of the
// first which did.
func (c *Context) BuildAll(sources []string, options string) ([]*Program, error) {
	progs, errs := make([]*Program, len(sources)), make([]error, len(sources))
	at := c.Compilers()
	if c.compiler != nil && at > 1 {
		at *= 2 // none waits for work while its last program is loaded here
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
