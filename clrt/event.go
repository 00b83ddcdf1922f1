package clrt

import (
	"fmt"
	"unsafe"
)

// Event stands for a command in a queue.
type Event struct {
	q    *Queue
	ref  ref
	what string
	mark uint64 // transfers up to this number precede the command or are it
}

const (
	eventCommandExecutionStatus = 0x11D3

	profilingQueued = 0x1280
	profilingSubmit = 0x1281
	profilingStart  = 0x1282
	profilingEnd    = 0x1283
)

func (e *Event) use() error {
	if e == nil || !e.ref.acquire() {
		return closedError("event")
	}
	return nil
}

func (e *Event) done() {
	if e.ref.leave() {
		_ = e.destroy()
	}
}

func (e *Event) destroy() error {
	return check(symReleaseEvent, e.q.ctx.lib.call(symReleaseEvent, e.ref.id), e.what)
}

// Wait waits until the command has ended. The error says whether it failed.
func (e *Event) Wait() error {
	if err := e.use(); err != nil {
		return err
	}
	defer e.done()
	if err := waitEvent(e.q.ctx.lib, e.ref.id, e.what); err != nil {
		return err
	}
	e.q.retire(e.mark)
	return nil
}

// waitEvent waits for one event and, where its command failed, says how.
func waitEvent(lib *library, id uintptr, what string) error {
	r := lib.call(symWaitForEvents, 1, uintptr(unsafe.Pointer(&id)))
	if int32(r) == codeExecStatusErrorInWaitList {
		status, err := eventStatus(lib, id)
		if err == nil && status < 0 {
			return &Error{Call: symWaitForEvents.String(), Code: status, Detail: what + " failed on the device"}
		}
	}
	return check(symWaitForEvents, r, what)
}

// eventStatus returns CL_COMPLETE (0), a state before it (positive) or the
// error code of a failed command (negative).
func eventStatus(lib *library, id uintptr) (int32, error) {
	v, err := lib.word(symGetEventInfo, id, eventCommandExecutionStatus, 4)
	return int32(v), err
}

// Times waits for the command and returns when it was queued by the host,
// submitted to the device, started and ended, in ns of the device's clock.
func (e *Event) Times() (queued, submitted, started, ended uint64, err error) {
	if err = e.Wait(); err != nil {
		return 0, 0, 0, 0, err
	}
	if err = e.use(); err != nil {
		return 0, 0, 0, 0, err
	}
	defer e.done()
	var t [4]uint64
	for i, param := range []uint32{profilingQueued, profilingSubmit, profilingStart, profilingEnd} {
		v, err := e.q.ctx.lib.word(symGetEventProfilingInfo, e.ref.id, param, 8)
		if err != nil {
			return 0, 0, 0, 0, fmt.Errorf("profiling %s: %w", e.what, err)
		}
		t[i] = v
	}
	return t[0], t[1], t[2], t[3], nil
}

// Close gives the event up; the command itself goes on, and memory of a
// transfer stays pinned until it ends. Closing the queue closes its events.
// Later calls do nothing and return nil.
func (e *Event) Close() error {
	if e == nil {
		return nil
	}
	first, last := e.ref.shut()
	if !first {
		return nil
	}
	e.q.forget(e)
	if last {
		return e.destroy()
	}
	return nil
}
