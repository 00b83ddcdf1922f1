package exec

import (
	"errors"

	"enhance/clrt"
)

// lanes are the queues of an engine. On a device with memory of its own, copies
// to and from it run beside the kernels, in queues of their own; on a device
// that shares the host's memory all three are one queue, whose order does what
// the waits below do.
//
// The plan (see memplan.Tick) leaves room for this: what is uploaded in a tick is
// read in the next, and what is downloaded in a tick is not overwritten in the
// next. The downloads of a tick start together when its kernels have ended, so
// that queues wait for each other once a tick and not for every transfer.
type lanes struct {
	compute, up, down *clrt.Queue

	worked *clrt.Event // the kernels before the tick, which its uploads wait for
	risen  *clrt.Event // the last upload since the tick began; nil: a marker will do
	rising bool        // uploads were queued since the tick began
	sent   *clrt.Event // the downloads of the tick before
	gone   *clrt.Event // and of that before it, which uploads may send back
	fell   bool        // downloads were queued since the section began
}

func newLanes(q *clrt.Queue, shared bool, newQueue func() (*clrt.Queue, error)) (l lanes, err error) {
	l = lanes{compute: q, up: q, down: q}
	if shared {
		return l, nil
	}
	if l.up, err = newQueue(); err != nil {
		return lanes{compute: q, up: q, down: q}, err
	}
	if l.down, err = newQueue(); err != nil {
		l.up.Close()
		l.up, l.down = q, q
	}
	return l, err
}

// mark is an event that ends with all that is in q, which is handed to the device.
func (l *lanes) mark(q *clrt.Queue) (*clrt.Event, error) {
	ev, err := q.Marker()
	if err != nil {
		return nil, err
	}
	if err := q.Flush(); err != nil {
		ev.Close()
		return nil, err
	}
	return ev, nil
}

// await makes everything put into waiter from now on wait for all that is in on.
func (l *lanes) await(waiter, on *clrt.Queue) error {
	if waiter == on {
		return nil
	}
	ev, err := l.mark(on)
	if err != nil {
		return err
	}
	defer ev.Close()
	return waiter.Barrier(ev)
}

// rise must precede the uploads of a tick, and they its kernels. It gives what the
// first of them must wait for, as they overwrite what the kernels of the tick before
// read and may send back what had left before that; the others are behind it.
func (l *lanes) rise() (after []*clrt.Event, err error) {
	if l.up == l.compute || l.rising {
		return nil, nil
	}
	l.rising = true
	if l.worked == nil {
		if l.worked, err = l.mark(l.compute); err != nil {
			return nil, err
		}
	}
	if l.gone != nil {
		return []*clrt.Event{l.worked, l.gone}, nil
	}
	return []*clrt.Event{l.worked}, nil
}

// rose takes the event of an upload, nil if somebody else needs it.
func (l *lanes) rose(ev *clrt.Event) {
	l.risen.Close()
	l.risen = ev
}

// tick orders the queues between two ticks. Kernels of the next wait for the
// uploads made for them and for the downloads of the tick before the last. If
// anything leaves, leave puts the downloads of the last tick, which wait for its
// kernels, into their queue, and gives the last one's event, or nil.
func (l *lanes) tick(leaves bool, leave func(after ...*clrt.Event) (*clrt.Event, error)) error {
	if l.up == l.compute {
		_, err := leave()
		return err
	}
	l.worked.Close()
	l.worked = nil
	if !leaves && !l.rising && l.sent == nil { // nobody has to wait
		return nil
	}
	var err error
	if l.worked, err = l.mark(l.compute); err != nil {
		return err
	}
	if err := l.gather(); err != nil {
		return err
	}
	if !leaves {
		return nil
	}
	l.fell = true
	if l.sent, err = leave(l.worked); err != nil {
		return err
	}
	if l.sent == nil {
		l.sent, err = l.mark(l.down)
		return err
	}
	return l.down.Flush()
}

// gather makes kernels wait for the uploads since the last tick and for the downloads
// of the tick before it.
func (l *lanes) gather() (err error) {
	var waits []*clrt.Event
	if l.rising {
		if l.risen == nil {
			l.risen, err = l.mark(l.up)
		} else {
			err = l.up.Flush()
		}
		if err != nil {
			return err
		}
		waits = append(waits, l.risen)
	}
	if l.sent != nil {
		waits = append(waits, l.sent)
	}
	if len(waits) > 0 {
		err = l.compute.Barrier(waits...)
	}
	l.risen.Close()
	l.gone.Close()
	l.risen, l.gone, l.sent, l.rising = nil, l.sent, nil, false
	return err
}

// section lets everything come to an end before anything of the next section
// starts: memory has new owners there. Kernels have waited for all uploads.
func (l *lanes) section() error {
	if l.up == l.compute {
		return nil
	}
	fell := l.fell
	l.forget()
	if !fell {
		return nil
	}
	return l.await(l.compute, l.down)
}

func (l *lanes) forget() {
	l.worked.Close()
	l.risen.Close()
	l.sent.Close()
	l.gone.Close()
	l.worked, l.risen, l.sent, l.gone, l.rising, l.fell = nil, nil, nil, nil, false, false
}

// finish waits for all queues.
func (l *lanes) finish() error {
	l.forget()
	err := errors.Join(l.compute.Flush(), l.up.Flush(), l.down.Flush(), l.compute.Finish())
	if l.up != l.compute {
		err = errors.Join(err, l.up.Finish(), l.down.Finish())
	}
	return err
}

func (l *lanes) close() error {
	if l.up == nil || l.up == l.compute {
		return nil
	}
	return errors.Join(l.up.Close(), l.down.Close())
}
