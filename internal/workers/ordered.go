package workers

import "sync/atomic"

// Ordered runs jobs side by side and hands their results to emit in the order in which
// the jobs came, one at a time, from the jobs' goroutines: the caller of Do goes on
// meanwhile. Its methods are for one goroutine.
type Ordered[T any] struct {
	emit    func(T) error
	limit   int
	pending []chan struct{} // by job: closed when its result is out
	last    chan struct{}
	failed  atomic.Pointer[error]
}

// NewOrdered makes an Ordered. Do waits for the oldest job while more than limit are
// running or wait for their results to be emitted.
func NewOrdered[T any](limit int, emit func(T) error) *Ordered[T] {
	return &Ordered[T]{emit: emit, limit: limit}
}

// Do starts a job, first waiting for the oldest if too many are in flight. It returns
// the first error of emit so far; after one nothing is emitted any more.
func (o *Ordered[T]) Do(job func() T) error {
	for len(o.pending) > o.limit {
		<-o.pending[0]
		o.pending = o.pending[1:]
	}
	if err := o.err(); err != nil {
		return err
	}
	before, out := o.last, make(chan struct{})
	o.pending, o.last = append(o.pending, out), out
	go func() {
		defer close(out)
		r := job()
		if before != nil {
			<-before
		}
		if o.err() != nil {
			return
		}
		if err := o.emit(r); err != nil {
			o.failed.Store(&err)
		}
	}()
	return nil
}

func (o *Ordered[T]) err() error {
	if e := o.failed.Load(); e != nil {
		return *e
	}
	return nil
}

// Wait returns when every job has ended, with the first error of emit.
func (o *Ordered[T]) Wait() error {
	for _, out := range o.pending {
		<-out
	}
	o.pending = nil
	return o.err()
}
