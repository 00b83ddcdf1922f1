package exec

import (
	"errors"

	"enhance/clrt"
)

// queues are the command queues of an engine. On a device with memory of its own, copies
// to and from it run beside the kernels, in queues of their own; on a device
// that shares the host's memory all three are one queue, whose order does what
// the waits below do.
//
// The plan (see memplan.NextStrip) leaves room for this: what is uploaded in a strip is
// read in the next, and what is downloaded in a strip is not overwritten in the
// next. The downloads of a strip start together when its kernels have ended, so
// that queues wait for each other once a strip and not for every transfer. Goroutines put transfers
// into their queues (see sender), and the host waits for them between strips only.
type queues struct {
	compute, upload, download *clrt.Queue

	computeDone *clrt.Event // the kernels before the strip, which its uploads wait for
	uploads     []*sending  // since the strip began
	downloads   *sending    // those of the strip before
	downloads2  *sending    // and of that before it, which uploads may send back
	downloaded  bool        // downloads were queued since the section began
}

func newQueues(shared bool, newQueue func() (*clrt.Queue, error)) (l queues, err error) {
	q, err := newQueue()
	l = queues{compute: q, upload: q, download: q}
	if shared || err != nil {
		return l, err
	}
	if l.upload, err = newQueue(); err != nil {
		l.upload = q
		return l, err
	}
	if l.download, err = newQueue(); err != nil {
		l.upload.Close()
		l.upload, l.download = q, q
	}
	return l, err
}

// mark is an event that ends with all that is in q, which is handed to the device.
func (l *queues) mark(q *clrt.Queue) (*clrt.Event, error) {
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
func (l *queues) await(waiter, on *clrt.Queue) error {
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

// beginUploads must precede the uploads of a strip, and they its kernels. It gives what the
// first of them must wait for, as they overwrite what the kernels of the strip before
// read and may send back what had left before that; the others are behind it.
func (l *queues) beginUploads() (after []*clrt.Event, err error) {
	if l.upload == l.compute || len(l.uploads) > 0 {
		return nil, nil
	}
	if l.computeDone == nil {
		if l.computeDone, err = l.mark(l.compute); err != nil {
			return nil, err
		}
	}
	if l.downloads2 == nil {
		return []*clrt.Event{l.computeDone}, nil
	}
	last, err := l.downloads2.wait() // it was waited for between strips
	return []*clrt.Event{l.computeDone, last}, err
}

// nextStrip orders the queues between two strips. Kernels of the next wait for the
// uploads made for them and for the downloads of the strip before the last. If
// there are downloads, start has those of the last strip, which wait for its kernels, put into
// their queue.
func (l *queues) nextStrip(downloads bool, start func(after ...*clrt.Event) *sending) (err error) {
	if l.upload == l.compute {
		_, err := start().wait()
		return err
	}
	was, before := l.computeDone, l.downloads
	l.computeDone, l.downloads = nil, nil
	defer was.Close()                                       // transfers that begin after it are in their queues by then
	if !downloads && len(l.uploads) == 0 && before == nil { // nobody has to wait
		return nil
	}
	if l.computeDone, err = l.mark(l.compute); err != nil {
		before.close()
		return err
	}
	if downloads {
		l.downloaded = true
		l.downloads = start(l.computeDone)
	}
	return l.awaitTransfers(before)
}

// awaitTransfers makes kernels wait for the uploads since the last strip and for the downloads
// of the strip before it.
func (l *queues) awaitTransfers(downloads *sending) (err error) {
	var waits []*clrt.Event
	for i, s := range l.uploads {
		ev, serr := s.wait()
		if err = errors.Join(err, serr); i == len(l.uploads)-1 && err == nil {
			if ev == nil {
				ev, err = l.mark(l.upload)
				s.last = ev
			} else {
				err = l.upload.Flush()
			}
			waits = append(waits, ev)
		}
	}
	if downloads != nil {
		last, derr := downloads.wait()
		err = errors.Join(err, derr)
		waits = append(waits, last)
	}
	if err == nil && len(waits) > 0 {
		err = l.compute.Barrier(waits...)
	}
	l.closeUploads()
	l.downloads2.close()
	l.downloads2 = downloads
	return err
}

// section lets everything come to an end before anything of the next section
// starts: memory has new owners there. Kernels have waited for all uploads, and all
// downloads are in their queue.
func (l *queues) section() error {
	if l.upload == l.compute {
		return nil
	}
	fell := l.downloaded
	l.reset()
	if !fell {
		return nil
	}
	return l.await(l.compute, l.download)
}

func (l *queues) closeUploads() {
	for _, s := range l.uploads {
		s.close()
	}
	l.uploads = l.uploads[:0]
}

func (l *queues) reset() {
	l.closeUploads()
	l.downloads.close()
	l.downloads2.close()
	l.computeDone.Close() // which all of these wait for
	l.computeDone, l.downloads, l.downloads2, l.downloaded = nil, nil, nil, false
}

// finish waits for all queues.
func (l *queues) finish() error {
	l.reset()
	err := errors.Join(l.compute.Flush(), l.upload.Flush(), l.download.Flush(), l.compute.Finish())
	if l.upload != l.compute {
		err = errors.Join(err, l.upload.Finish(), l.download.Finish())
	}
	return err
}

func (l *queues) close() error {
	if l.upload == nil || l.upload == l.compute {
		return nil
	}
	return errors.Join(l.upload.Close(), l.download.Close())
}
