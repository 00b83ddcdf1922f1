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
// next.
type lanes struct {
	compute, up, down *clrt.Queue
	sent              *clrt.Event // what went down until the tick before the last
}

func newLanes(ctx *clrt.Context, q *clrt.Queue, shared bool) (l lanes, err error) {
	l = lanes{compute: q, up: q, down: q}
	if shared {
		return l, nil
	}
	if l.up, err = ctx.NewQueue(); err != nil {
		return lanes{compute: q, up: q, down: q}, err
	}
	if l.down, err = ctx.NewQueue(); err != nil {
		l.up.Close()
		l.up, l.down = q, q
	}
	return l, err
}

// await makes everything put into waiter from now on wait for all that is in on.
func (l *lanes) await(waiter, on *clrt.Queue) error {
	if waiter == on {
		return nil
	}
	ev, err := on.Marker()
	if err != nil {
		return err
	}
	defer ev.Close()
	return l.awaitEvent(waiter, on, ev)
}

func (l *lanes) awaitEvent(waiter, on *clrt.Queue, ev *clrt.Event) error {
	if err := on.Flush(); err != nil {
		return err
	}
	return waiter.Barrier(ev)
}

// tick orders the queues at the start of a tick: kernels behind the uploads made
// for them and behind the downloads of the tick before the last, uploads behind
// the kernels of the last tick.
func (l *lanes) tick() error {
	if l.up == l.compute {
		return nil
	}
	if err := l.await(l.compute, l.up); err != nil {
		return err
	}
	if l.sent != nil {
		err := l.compute.Barrier(l.sent)
		l.sent.Close()
		if l.sent = nil; err != nil {
			return err
		}
	}
	ev, err := l.down.Marker()
	if err != nil {
		return err
	}
	l.sent = ev
	if err := l.down.Flush(); err != nil {
		return err
	}
	return l.await(l.up, l.compute)
}

// section lets everything come to an end before anything of the next section
// starts: memory has new owners there.
func (l *lanes) section() error {
	return errors.Join(l.await(l.compute, l.down), l.await(l.compute, l.up),
		l.await(l.up, l.compute), l.await(l.down, l.compute))
}

// finish waits for all queues.
func (l *lanes) finish() error {
	if l.sent != nil {
		l.sent.Close()
		l.sent = nil
	}
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
