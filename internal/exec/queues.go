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
// that queues wait for each other once a strip and not for every transfer.
type queues struct {
	compute, upload, download *clrt.Queue

	computeDone   *clrt.Event // the kernels before the strip, which its uploads wait for
	uploadDone    *clrt.Event // the last upload since the strip began; nil: a marker will do
	uploading     bool        // uploads were queued since the strip began
	downloadDone  *clrt.Event // the downloads of the strip before
	downloadDone2 *clrt.Event // and of that before it, which uploads may send back
	downloaded    bool        // downloads were queued since the section began
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
	if l.upload == l.compute || l.uploading {
		return nil, nil
	}
	l.uploading = true
	if l.computeDone == nil {
		if l.computeDone, err = l.mark(l.compute); err != nil {
			return nil, err
		}
	}
	if l.downloadDone2 != nil {
		return []*clrt.Event{l.computeDone, l.downloadDone2}, nil
	}
	return []*clrt.Event{l.computeDone}, nil
}

// uploadQueued takes the event of an upload, nil if somebody else needs it.
func (l *queues) uploadQueued(ev *clrt.Event) {
	l.uploadDone.Close()
	l.uploadDone = ev
}

// nextStrip orders the queues between two strips. Kernels of the next wait for the
// uploads made for them and for the downloads of the strip before the last. If
// there are downloads, start puts those of the last strip, which wait for its kernels, into
// their queue, and gives the last one's event, or nil.
func (l *queues) nextStrip(downloads bool, start func(after ...*clrt.Event) (*clrt.Event, error)) error {
	if l.upload == l.compute {
		_, err := start()
		return err
	}
	l.computeDone.Close()
	l.computeDone = nil
	if !downloads && !l.uploading && l.downloadDone == nil { // nobody has to wait
		return nil
	}
	var err error
	if l.computeDone, err = l.mark(l.compute); err != nil {
		return err
	}
	if err := l.awaitTransfers(); err != nil {
		return err
	}
	if !downloads {
		return nil
	}
	l.downloaded = true
	if l.downloadDone, err = start(l.computeDone); err != nil {
		return err
	}
	if l.downloadDone == nil {
		l.downloadDone, err = l.mark(l.download)
		return err
	}
	return l.download.Flush()
}

// awaitTransfers makes kernels wait for the uploads since the last strip and for the downloads
// of the strip before it.
func (l *queues) awaitTransfers() (err error) {
	var waits []*clrt.Event
	if l.uploading {
		if l.uploadDone == nil {
			l.uploadDone, err = l.mark(l.upload)
		} else {
			err = l.upload.Flush()
		}
		if err != nil {
			return err
		}
		waits = append(waits, l.uploadDone)
	}
	if l.downloadDone != nil {
		waits = append(waits, l.downloadDone)
	}
	if len(waits) > 0 {
		err = l.compute.Barrier(waits...)
	}
	l.uploadDone.Close()
	l.downloadDone2.Close()
	l.uploadDone, l.downloadDone2, l.downloadDone, l.uploading = nil, l.downloadDone, nil, false
	return err
}

// section lets everything come to an end before anything of the next section
// starts: memory has new owners there. Kernels have waited for all uploads.
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

func (l *queues) reset() {
	l.computeDone.Close()
	l.uploadDone.Close()
	l.downloadDone.Close()
	l.downloadDone2.Close()
	l.computeDone, l.uploadDone, l.downloadDone, l.downloadDone2, l.uploading, l.downloaded = nil, nil, nil, nil, false, false
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
