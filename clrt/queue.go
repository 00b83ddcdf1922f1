package clrt

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Queue is an in-order command queue: each command starts when the one before has
// ended. Two queues of a context run beside each other;
// Barrier orders them.
type Queue struct {
	ctx     *Context
	ref     ref
	untimed bool
	watch   atomic.Pointer[Watch]

	mu      sync.Mutex
	seq     uint64     // number of the last asynchronous transfer
	pending []transfer // not known to have ended, oldest first
	events  map[*Event]struct{}
	maps    map[*byte][]mapping
}

// transfer is an asynchronous command that uses Go memory.
type transfer struct {
	seq   uint64
	event uintptr // the queue's own reference
	pin   *runtime.Pinner
}

// mapping is a mapped region. Regions of a buffer may begin at one address.
type mapping struct {
	buf *Buffer
	n   int64
}

// NewQueue makes a queue whose commands are timed: a [Watch] may be put on it, and its
// events have [Event.Times].
func (c *Context) NewQueue() (*Queue, error) {
	const profilingEnable = 2
	return c.newQueue(profilingEnable)
}

// NewUntimedQueue makes a queue that keeps no times. NVIDIA's driver takes half as
// long over events, waits and small transfers of such a queue.
func (c *Context) NewUntimedQueue() (*Queue, error) { return c.newQueue(0) }

func (c *Context) newQueue(properties uintptr) (*Queue, error) {
	if err := c.use(); err != nil {
		return nil, err
	}
	defer c.done()
	var code int32
	id := c.lib.call(symCreateCommandQueue, c.ref.id, c.dev.id, properties, uintptr(unsafe.Pointer(&code)))
	if err := check(symCreateCommandQueue, uintptr(code), ""); err != nil {
		return nil, err
	}
	q := &Queue{ctx: c, untimed: properties == 0, events: map[*Event]struct{}{}, maps: map[*byte][]mapping{}}
	q.ref.id = id
	c.register(q)
	return q, nil
}

// Context returns the context that owns the queue.
func (q *Queue) Context() *Context { return q.ctx }

// Close waits for the commands in the queue, unmaps what is still mapped,
// closes the queue's events and releases it. Later calls do nothing and return
// nil.
func (q *Queue) Close() error {
	if q == nil {
		return nil
	}
	first, last := q.ref.shut()
	if !first {
		return nil
	}
	q.ctx.unregister(q)
	if last {
		return q.destroy()
	}
	return nil
}

func (q *Queue) destroy() error {
	var errs []error
	for p, ms := range q.maps {
		for _, m := range ms {
			errs = append(errs, q.unmap(m.buf, p))
		}
	}
	errs = append(errs, q.finish())
	for e := range q.snapshotEvents() {
		errs = append(errs, e.Close())
	}
	if len(q.pending) > 0 {
		// The device may still use the memory: it stays pinned for good.
		abandoned.Store(q, nil)
	}
	errs = append(errs, check(symReleaseCommandQueue, q.ctx.lib.call(symReleaseCommandQueue, q.ref.id), ""))
	return errors.Join(errs...)
}

// abandoned keeps queues reachable that failed with transfers under way.
var abandoned sync.Map

func (q *Queue) snapshotEvents() map[*Event]struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	all := make(map[*Event]struct{}, len(q.events))
	for e := range q.events {
		all[e] = struct{}{}
	}
	return all
}

func (q *Queue) forget(e *Event) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.events, e)
}

// use counts a call on the queue in; done counts it out.
func (q *Queue) use() error {
	if q == nil || !q.ref.acquire() {
		return closedError("queue")
	}
	return nil
}

func (q *Queue) done() {
	if q.ref.leave() {
		_ = q.destroy()
	}
}

// begin counts a command on b in, after checking its range; end counts it out.
func (q *Queue) begin(op string, b *Buffer, off, n int64) error {
	if err := b.check(op, off, n); err != nil {
		return err
	}
	if err := q.use(); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if b.ctx != q.ctx {
		q.done()
		return fmt.Errorf("clrt: %s: buffer %q belongs to another context", op, b.purpose)
	}
	if !b.ref.acquire() {
		q.done()
		return closedError(fmt.Sprintf("buffer %q", b.purpose))
	}
	return nil
}

func (q *Queue) end(b *Buffer) {
	b.put()
	q.done()
}

// newEvent wraps the event of a command. mark is the number of the last
// transfer known to precede it.
func (q *Queue) newEvent(id uintptr, what string, mark uint64) *Event {
	e := &Event{q: q, what: what, mark: mark}
	e.ref.id = id
	q.mu.Lock()
	defer q.mu.Unlock()
	q.events[e] = struct{}{}
	return e
}

// mark returns the number of the last transfer in the queue: a command queued
// after this ends after it.
func (q *Queue) mark() uint64 {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.seq
}

// retire unpins the memory of all transfers up to number mark, which have
// ended.
func (q *Queue) retire(mark uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.retireLocked(mark)
}

func (q *Queue) retireLocked(mark uint64) {
	n := 0
	for n < len(q.pending) && q.pending[n].seq <= mark {
		t := &q.pending[n]
		t.pin.Unpin()
		q.ctx.lib.call(symReleaseEvent, t.event)
		*t = transfer{}
		n++
	}
	q.pending = q.pending[n:]
	if len(q.pending) == 0 {
		q.pending = nil
	}
}

// Flush hands the queued commands to the device without waiting.
func (q *Queue) Flush() error {
	if err := q.use(); err != nil {
		return err
	}
	defer q.done()
	return check(symFlush, q.ctx.lib.call(symFlush, q.ref.id), "")
}

// Finish waits until all queued commands have ended.
func (q *Queue) Finish() error {
	if err := q.use(); err != nil {
		return err
	}
	defer q.done()
	return q.finish()
}

func (q *Queue) finish() error {
	mark := q.mark()
	if err := check(symFinish, q.ctx.lib.call(symFinish, q.ref.id), ""); err != nil {
		return err
	}
	q.retire(mark)
	return nil
}

// Marker returns an event that ends when all commands queued before it have.
func (q *Queue) Marker() (*Event, error) {
	if err := q.use(); err != nil {
		return nil, err
	}
	defer q.done()
	mark := q.mark()
	var ev uintptr
	r := q.ctx.lib.call(symEnqueueMarkerWithWaitList, q.ref.id, 0, 0, uintptr(unsafe.Pointer(&ev)))
	if err := check(symEnqueueMarkerWithWaitList, r, ""); err != nil {
		return nil, err
	}
	return q.newEvent(ev, "marker", mark), nil
}

// Barrier makes the commands queued from now on wait for events, which may
// belong to other queues of the context. Flush those queues, or the commands
// waited for may never start.
func (q *Queue) Barrier(events ...*Event) error {
	if err := q.use(); err != nil {
		return err
	}
	defer q.done()
	ids, release, err := eventIDs(events)
	defer release()
	if err != nil {
		return err
	}
	r := q.ctx.lib.call(symEnqueueBarrierWithWaitList, q.ref.id, uintptr(len(ids)), uintptr(unsafe.Pointer(unsafe.SliceData(ids))), 0)
	return check(symEnqueueBarrierWithWaitList, r, "")
}

// eventIDs lists what a command is to wait for, nil if there is nothing, as OpenCL
// demands. The events are held until release is called.
func eventIDs(events []*Event) (ids []uintptr, release func(), err error) {
	release = func() {
		for _, e := range events[:len(ids)] {
			e.done()
		}
	}
	for _, e := range events {
		if err := e.use(); err != nil {
			return ids, release, err
		}
		ids = append(ids, e.ref.id)
	}
	return ids, release, nil
}

// Launch queues kernel k over global work-items in work-groups of local. Both
// have 1 to 3 dimensions; a nil local lets the driver choose. The event is the
// caller's to close.
func (q *Queue) Launch(k *Kernel, global, local []int) (*Event, error) {
	if err := q.use(); err != nil {
		return nil, err
	}
	defer q.done()
	mark := q.mark()
	var ev uintptr
	if err := k.enqueue(q, global, local, &ev); err != nil {
		return nil, err
	}
	q.watch.Load().shared(ev, KernelCommand, k.name, 0)
	return q.newEvent(ev, k.name, mark), nil
}

// LaunchQuiet is Launch without an event, which makes it cheaper.
func (q *Queue) LaunchQuiet(k *Kernel, global, local []int) error {
	if err := q.use(); err != nil {
		return err
	}
	defer q.done()
	w, ev := q.slot()
	if err := k.enqueue(q, global, local, ev); err != nil {
		return err
	}
	w.took(ev, KernelCommand, k.name, 0)
	return nil
}
