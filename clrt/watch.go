package clrt

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"
)

// Command is a command of a watched queue that has ended. The four times are ns
// of the device's clock: when the host queued it, when it was handed to the
// device, when it began and when it ended.
type Command struct {
	Kind  CommandKind
	Name  string // the kernel, or the purpose of the buffer
	Tag   int    // what [Watch.Tag] said when it was queued
	Bytes int64  // of a transfer, copy or fill
	Host  time.Time
	// Host lies between the call that queued the command and its return: with
	// Queued it relates the device's clock to the host's.

	Queued, Submitted, Started, Ended uint64
}

// CommandKind says what a command does.
type CommandKind uint8

// The kinds of commands that a Watch tells of. Markers and barriers do nothing
// on the device and are not among them.
const (
	KernelCommand CommandKind = iota
	WriteCommand              // host to device
	ReadCommand               // device to host
	CopyCommand               // within the device
	FillCommand
)

func (k CommandKind) String() string {
	return [...]string{"kernel", "write", "read", "copy", "fill"}[k]
}

// Watch tells what the commands of a queue took. The queue keeps an event for
// each, and looks which have ended when more are queued: nobody waits, and what
// is kept is bounded.
type Watch struct {
	q      *Queue
	report func(*Command)

	mu      sync.Mutex
	tag     int
	pending []watched
	queued  int
	err     error
}

// watched is a command that is not known to have ended.
type watched struct {
	event uintptr
	Command
}

const (
	// watchEvery is the number of commands after which the watch looks which
	// have ended.
	watchEvery = 1024
	// watchMost is the number of commands under way at which it waits for some:
	// far more than a caller that paces itself has.
	watchMost = 4096
)

// Watch begins to tell report of every command queued from now on, in the order
// in which they were queued, until the Watch is closed. The calls come from
// the goroutines that use the queue, one at a time; report must not use the queue.
// A queue has one Watch at a time; one that keeps no times can have none.
func (q *Queue) Watch(report func(*Command)) (*Watch, error) {
	if q.untimed {
		return nil, errors.New("clrt: the queue keeps no times to watch")
	}
	w := &Watch{q: q, report: report}
	if !q.watch.CompareAndSwap(nil, w) {
		return nil, errors.New("clrt: the queue is watched already")
	}
	return w, nil
}

// Tag marks the commands queued from now on. A nil Watch ignores it.
func (w *Watch) Tag(tag int) {
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tag = tag
}

// Queued counts the commands queued so far under the Watch.
func (w *Watch) Queued() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.queued
}

// Settle waits for all commands watched so far and tells of them.
func (w *Watch) Settle() error {
	if w == nil {
		return nil
	}
	if err := w.q.Finish(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sweep()
	return w.err
}

// Close settles and ends the Watch. A nil Watch may be closed.
func (w *Watch) Close() error {
	if w == nil {
		return nil
	}
	w.q.watch.CompareAndSwap(w, nil)
	err := w.Settle()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.pending { // of a queue that failed
		w.q.ctx.lib.call(symReleaseEvent, c.event)
	}
	w.pending = nil
	return err
}

// slot is where the event of the next command goes: nil if nobody watches.
func (q *Queue) slot() (*Watch, *uintptr) {
	w := q.watch.Load()
	if w == nil {
		return nil, nil
	}
	return w, new(uintptr)
}

// took counts a command in whose event the Watch takes over.
func (w *Watch) took(event *uintptr, kind CommandKind, name string, bytes int64) {
	if w == nil || *event == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending = append(w.pending, watched{*event, Command{Kind: kind, Name: name, Tag: w.tag, Bytes: bytes, Host: time.Now()}})
	if w.queued++; w.queued%watchEvery == 0 {
		if len(w.pending) >= watchMost {
			id := w.pending[len(w.pending)/2].event
			w.q.ctx.lib.call(symFlush, w.q.ref.id)
			w.q.ctx.lib.call(symWaitForEvents, 1, uintptr(unsafe.Pointer(&id))) // a failure shows in its status
		}
		w.sweep()
	}
}

// shared is took for an event that the caller keeps too.
func (w *Watch) shared(event uintptr, kind CommandKind, name string, bytes int64) {
	if w == nil {
		return
	}
	if err := check(symRetainEvent, w.q.ctx.lib.call(symRetainEvent, event), name); err != nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.err = errors.Join(w.err, err)
		return
	}
	w.took(&event, kind, name, bytes)
}

// sweep tells of the commands that have ended, oldest first.
func (w *Watch) sweep() {
	lib := w.q.ctx.lib
	n := 0
	for n < len(w.pending) {
		c := &w.pending[n]
		status, err := eventStatus(lib, c.event)
		if err == nil && status > 0 {
			break
		}
		if err == nil && status == 0 {
			err = c.times(lib, c.event)
		}
		if err != nil && w.err == nil {
			w.err = fmt.Errorf("profiling %s %s: %w", c.Kind, c.Name, err)
		}
		if err == nil && status == 0 { // a failed command is reported to whoever waits for it
			w.report(&c.Command)
		}
		lib.call(symReleaseEvent, c.event)
		n++
	}
	w.pending = append(w.pending[:0], w.pending[n:]...)
}

// times asks for the times of an event that has ended.
func (c *Command) times(lib *library, event uintptr) error {
	for _, t := range []struct {
		param uint32
		to    *uint64
	}{{profilingQueued, &c.Queued}, {profilingSubmit, &c.Submitted}, {profilingStart, &c.Started}, {profilingEnd, &c.Ended}} {
		v, err := lib.word(symGetEventProfilingInfo, event, t.param, 8)
		if err != nil {
			return err
		}
		*t.to = v
	}
	return nil
}
