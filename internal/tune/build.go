package tune

import (
	"errors"
	"sync"
	"time"

	"enhance/clrt"
	"enhance/conv"
)

// builder compiles programs in the order in which they are wanted, several at a
// time and each once.
type builder struct {
	ctx     *clrt.Context
	mu      sync.Mutex
	jobs    map[string]*building
	queue   []*building
	workers int // that run now
	most    int // that may run
	closed  bool
}

type building struct {
	source string
	done   chan struct{}
	prog   *clrt.Program
	err    error
}

var errHalted = errors.New("tune: stopped before this was compiled")

// newBuilder makes a builder of as many compilations at a time as the context is for.
func newBuilder(ctx *clrt.Context) *builder {
	return &builder{ctx: ctx, jobs: map[string]*building{}, most: ctx.Compilers()}
}

// want asks for a program, once.
func (b *builder) want(source string) *building {
	b.mu.Lock()
	defer b.mu.Unlock()
	if j := b.jobs[source]; j != nil {
		return j
	}
	j := &building{source: source, done: make(chan struct{})}
	b.jobs[source] = j
	b.queue = append(b.queue, j)
	if b.workers < b.most {
		b.workers++
		go b.work()
	}
	return j
}

func (b *builder) work() {
	for {
		b.mu.Lock()
		if len(b.queue) == 0 {
			b.workers--
			b.mu.Unlock()
			return
		}
		j := b.queue[0]
		b.queue = b.queue[1:]
		b.mu.Unlock()
		prog, err := b.ctx.Build(j.source, conv.BuildOptions)
		b.mu.Lock()
		if b.closed {
			if prog != nil {
				err = errors.Join(errHalted, prog.Close())
			}
			prog = nil
		}
		j.prog, j.err = prog, err
		b.mu.Unlock()
		close(j.done)
	}
}

// known reports whether a program was asked for before.
func (b *builder) known(source string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.jobs[source] != nil
}

// get waits for a program.
func (b *builder) get(source string) (*clrt.Program, error) {
	j := b.want(source)
	<-j.done
	return j.prog, j.err
}

// within waits for a program until some time, if it is not zero, and reports whether
// it was compiled, or failed, by then.
func (b *builder) within(source string, until time.Time) bool {
	j := b.want(source)
	select {
	case <-j.done:
		return true
	default:
	}
	var late <-chan time.Time
	if !until.IsZero() {
		late = time.After(time.Until(until))
	}
	select {
	case <-j.done:
		return true
	case <-late:
		return false
	}
}

// close releases all programs and leaves out what was not begun. What is being
// compiled nobody waits for: it is released, and in the cache, when it is done.
func (b *builder) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for _, j := range b.queue {
		j.err = errHalted
		close(j.done)
	}
	b.queue = nil
	var errs []error
	for _, j := range b.jobs {
		if j.prog != nil {
			errs = append(errs, j.prog.Close())
			j.prog = nil
		}
	}
	return errors.Join(errs...)
}
