package clrt

import (
	"fmt"
	"runtime"
	"sort"
	"unsafe"
)

// Write copies p to b from byte off on and waits for it.
func (q *Queue) Write(b *Buffer, off int64, p []byte) error {
	return q.blocking(symEnqueueWriteBuffer, "write", b, off, p)
}

// Read copies bytes of b from off on to p and waits for it.
func (q *Queue) Read(b *Buffer, off int64, p []byte) error {
	return q.blocking(symEnqueueReadBuffer, "read", b, off, p)
}

func (q *Queue) blocking(s symbol, op string, b *Buffer, off int64, p []byte) error {
	if err := q.begin(op, b, off, int64(len(p))); err != nil {
		return err
	}
	defer q.end(b)
	if len(p) == 0 {
		return nil
	}
	mark := q.mark()
	w, ev := q.slot()
	r := q.ctx.lib.call(s, q.ref.id, b.ref.id, 1, uintptr(off), uintptr(len(p)),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), 0, 0, uintptr(unsafe.Pointer(ev)))
	if r := int32(r); r != 0 {
		return rangeError(s, r, b, off, int64(len(p)))
	}
	w.took(ev, transferKind(s), b.purpose, int64(len(p)))
	q.retire(mark) // the queue is in order, so all before has ended too
	return nil
}

// transferKind says which way a transfer goes.
func transferKind(s symbol) CommandKind {
	if s == symEnqueueReadBuffer {
		return ReadCommand
	}
	return WriteCommand
}

func rangeError(s symbol, code int32, b *Buffer, off, n int64) error {
	return &Error{Call: s.String(), Code: code, Detail: fmt.Sprintf("%d bytes at %d of buffer %q", n, off, b.purpose)}
}

// WriteAsync queues the copy of p to b from byte off on, to begin when the events
// after, which may belong to other queues of the context (see Barrier), have ended. p
// must not change until the command has ended; it is pinned until a Wait on this or a
// later event of the queue, a blocking command or Finish has seen that.
func (q *Queue) WriteAsync(b *Buffer, off int64, p []byte, after ...*Event) (*Event, error) {
	return q.async(symEnqueueWriteBuffer, "write", b, off, p, after)
}

// ReadAsync queues the copy of bytes of b from off on to p, to begin when the events
// after have ended. The bytes are there when the command has ended; p is pinned as by
// WriteAsync.
func (q *Queue) ReadAsync(b *Buffer, off int64, p []byte, after ...*Event) (*Event, error) {
	return q.async(symEnqueueReadBuffer, "read", b, off, p, after)
}

// sweepEvery is the number of transfers after which the queue asks which have
// ended, so that a caller that never waits pins only what is under way.
const sweepEvery = 64

func (q *Queue) async(s symbol, op string, b *Buffer, off int64, p []byte, after []*Event) (*Event, error) {
	if err := q.begin(op, b, off, int64(len(p))); err != nil {
		return nil, err
	}
	defer q.end(b)
	if len(p) == 0 {
		if err := q.Barrier(after...); err != nil {
			return nil, err
		}
		return q.Marker()
	}
	ids, release, err := eventIDs(after)
	defer release()
	if err != nil {
		return nil, err
	}
	lib := q.ctx.lib
	pin := new(runtime.Pinner)
	pin.Pin(unsafe.SliceData(p))

	// One lock over command and entry: transfers are numbered in queue order.
	q.mu.Lock()
	defer q.mu.Unlock()
	var ev uintptr
	r := lib.call(s, q.ref.id, b.ref.id, 0, uintptr(off), uintptr(len(p)),
		uintptr(unsafe.Pointer(unsafe.SliceData(p))), uintptr(len(ids)), uintptr(unsafe.Pointer(unsafe.SliceData(ids))), uintptr(unsafe.Pointer(&ev)))
	if r := int32(r); r != 0 {
		pin.Unpin()
		return nil, rangeError(s, r, b, off, int64(len(p)))
	}
	if r := lib.call(symRetainEvent, ev); int32(r) != 0 { // one reference is too few for both
		id := [1]uintptr{ev}
		lib.call(symWaitForEvents, 1, uintptr(unsafe.Pointer(&id))) // until then the memory is the driver's
		lib.call(symReleaseEvent, ev)
		pin.Unpin()
		return nil, check(symRetainEvent, r, op+" of buffer "+b.purpose)
	}
	q.watch.Load().shared(ev, transferKind(s), b.purpose, int64(len(p)))
	q.seq++
	q.pending = append(q.pending, transfer{q.seq, ev, pin})
	if q.seq%sweepEvery == 0 {
		q.sweepLocked()
	}
	e := &Event{q: q, what: op + " of buffer " + b.purpose, mark: q.seq}
	e.ref.id = ev
	q.events[e] = struct{}{}
	return e, nil
}

// sweepLocked retires the transfers that the driver says have ended. It hands
// the queue to the device first, as a driver may start nothing before that.
func (q *Queue) sweepLocked() {
	if int32(q.ctx.lib.call(symFlush, q.ref.id)) != 0 {
		return // the next command will hear of it
	}
	// The queue is in order: all before one that has ended have too.
	ended := sort.Search(len(q.pending), func(i int) bool {
		status, err := eventStatus(q.ctx.lib, q.pending[i].event)
		return err != nil || status > 0
	})
	if ended > 0 {
		q.retireLocked(q.pending[ended-1].seq)
	}
}

// Copy queues the copy of n bytes of src from srcOff on to dst from dstOff on.
// Within one buffer the two must not overlap.
func (q *Queue) Copy(dst *Buffer, dstOff int64, src *Buffer, srcOff, n int64) error {
	if err := q.begin("copy", src, srcOff, n); err != nil {
		return err
	}
	defer q.end(src)
	if err := q.begin("copy", dst, dstOff, n); err != nil {
		return err
	}
	defer q.end(dst)
	if n == 0 {
		return nil
	}
	w, ev := q.slot()
	r := q.ctx.lib.call(symEnqueueCopyBuffer, q.ref.id, src.ref.id, dst.ref.id,
		uintptr(srcOff), uintptr(dstOff), uintptr(n), 0, 0, uintptr(unsafe.Pointer(ev)))
	if r := int32(r); r != 0 {
		return &Error{Call: symEnqueueCopyBuffer.String(), Code: r, Detail: fmt.Sprintf(
			"%d bytes at %d of buffer %q to %d of buffer %q", n, srcOff, src.purpose, dstOff, dst.purpose)}
	}
	w.took(ev, CopyCommand, dst.purpose, n)
	return nil
}

// Fill queues the filling of n bytes of b from byte off on with a pattern of
// 1, 2, 4, 8, 16, 32, 64 or 128 bytes; off and n are multiples of its length.
func (q *Queue) Fill(b *Buffer, off, n int64, pattern []byte) error {
	l := int64(len(pattern))
	if l == 0 || l > 128 || l&(l-1) != 0 {
		return fmt.Errorf("clrt: fill: a pattern has 1, 2, 4, 8, 16, 32, 64 or 128 bytes, not %d", l)
	}
	if off%l != 0 || n%l != 0 {
		return fmt.Errorf("clrt: fill: offset %d and length %d are not multiples of the pattern's %d bytes", off, n, l)
	}
	if err := q.begin("fill", b, off, n); err != nil {
		return err
	}
	defer q.end(b)
	if n == 0 {
		return nil
	}
	w, ev := q.slot()
	r := q.ctx.lib.call(symEnqueueFillBuffer, q.ref.id, b.ref.id,
		uintptr(unsafe.Pointer(unsafe.SliceData(pattern))), uintptr(l), uintptr(off), uintptr(n), 0, 0, uintptr(unsafe.Pointer(ev)))
	if r := int32(r); r != 0 {
		return rangeError(symEnqueueFillBuffer, r, b, off, n)
	}
	w.took(ev, FillCommand, b.purpose, n)
	return nil
}

const (
	mapRead  = 1
	mapWrite = 2
)

// Map waits for the commands before and returns n bytes of b from off on as
// memory of the host, to be read and, with write, to be written. The bytes are
// valid until Unmap, and no command may use them meanwhile.
func (q *Queue) Map(b *Buffer, write bool, off, n int64) ([]byte, error) {
	if n == 0 {
		return nil, fmt.Errorf("clrt: map: no bytes")
	}
	if err := q.begin("map", b, off, n); err != nil {
		return nil, err
	}
	defer q.end(b)
	flags := uintptr(mapRead)
	if write {
		flags |= mapWrite
	}
	mark := q.mark()
	var code int32
	addr := q.ctx.lib.call(symEnqueueMapBuffer, q.ref.id, b.ref.id, 1, flags, uintptr(off), uintptr(n),
		0, 0, 0, uintptr(unsafe.Pointer(&code)))
	if code != 0 {
		return nil, rangeError(symEnqueueMapBuffer, code, b, off, n)
	}
	q.retire(mark)
	// The address is the driver's, not Go's, so the conversion is harmless.
	p := *(**byte)(unsafe.Pointer(&addr))
	b.maps.Add(1)
	q.mu.Lock()
	defer q.mu.Unlock()
	q.maps[p] = append(q.maps[p], mapping{b, n})
	return unsafe.Slice(p, n), nil
}

// Unmap gives back p, which Map on the same queue returned for b. Commands
// queued after it in this queue see what was written.
func (q *Queue) Unmap(b *Buffer, p []byte) error {
	if err := q.begin("unmap", b, 0, int64(len(p))); err != nil {
		return err
	}
	defer q.end(b)
	key := unsafe.SliceData(p)
	if !q.takeMapping(key, mapping{b, int64(len(p))}) {
		return fmt.Errorf("clrt: unmap: the %d bytes are not a mapped region of buffer %q", len(p), b.purpose)
	}
	return q.unmap(b, key)
}

func (q *Queue) takeMapping(key *byte, want mapping) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, m := range q.maps[key] {
		if m != want {
			continue
		}
		q.maps[key] = append(q.maps[key][:i], q.maps[key][i+1:]...)
		if len(q.maps[key]) == 0 {
			delete(q.maps, key)
		}
		return true
	}
	return false
}

func (q *Queue) unmap(b *Buffer, p *byte) error {
	r := q.ctx.lib.call(symEnqueueUnmapMemObject, q.ref.id, b.ref.id, uintptr(unsafe.Pointer(p)), 0, 0, 0)
	if err := check(symEnqueueUnmapMemObject, r, b.purpose); err != nil {
		return err
	}
	b.maps.Add(-1)
	return nil
}
