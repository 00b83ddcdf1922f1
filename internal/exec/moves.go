package exec

import (
	"errors"

	"enhance/clrt"
	"enhance/internal/planar"
	"enhance/memplan"
)

// slots calls do for the at most two runs of consecutive slots that rows
// [y0,y1) of a ring occupy: byte offset in its buffer, first row, rows.
func slots(ring planar.Ring, rowBytes int64, y0, y1 int, do func(off int64, y, n int) error) error {
	for y := y0; y < y1; {
		slot := y % ring.Rows
		n := min(y1-y, ring.Rows-slot)
		if err := do(ring.Base+int64(slot)*rowBytes, y, n); err != nil {
			return err
		}
		y += n
	}
	return nil
}

// uploadRows has rows of a tensor copied to the device.
func (r *run) uploadRows(m memplan.Move) error {
	t := r.plan.Rings[m.Index].Tensor
	after, err := r.queues.beginUploads()
	if err != nil {
		return err
	}
	local := r.madeIn[t] && r.plan.Rings[m.Index].Last == r.section // not for the next one
	if local {
		if err := r.leave(); err != nil {
			return err
		}
	}
	s := r.uploads.send(func() (*clrt.Event, error) {
		r.engine.opt.Profiler.tag(uploadQueue, t)
		if t == r.engine.Program.Input {
			return nil, r.feedRows(m, after)
		}
		if local {
			if err := errors.Join(r.queues.await(r.queues.upload, r.queues.download), r.queues.await(r.queues.upload, r.queues.compute)); err != nil {
				return nil, err
			}
		}
		return r.copySpilled(t, m, after, r.queues.upload.WriteAsync)
	})
	if r.queues.upload == r.queues.compute {
		_, err := s.wait()
		s.close()
		return err
	}
	r.queues.uploads = append(r.queues.uploads, s)
	if !local {
		return nil
	}
	if _, err := s.wait(); err != nil {
		return err
	}
	return r.queues.await(r.queues.compute, r.queues.upload)
}

// feedRows copies rows of the input to the device. The feeder needs the events.
func (r *run) feedRows(m memplan.Move, after []*clrt.Event) error {
	ring, rowBytes := r.engine.device.rings[m.Index], r.feed.rowBytes
	return chunks(int(m.Y0), int(m.Y1), func(y0, y1 int) error {
		chunk, err := r.feed.next(y0, y1)
		if err != nil {
			return err
		}
		return errors.Join(slots(ring, rowBytes, y0, y1, func(off int64, y, n int) error {
			at := int64(y-y0) * rowBytes
			ev, err := r.queues.upload.WriteAsync(ring.Buf, off, chunk.bytes[at:at+int64(n)*rowBytes], after...)
			if err != nil {
				return err
			}
			after = nil
			r.feed.sent(chunk, ev)
			return nil
		}), r.queues.upload.Flush())
	})
}

// copySpilled copies rows of a spilled tensor, by Queue.WriteAsync back to the device or by Queue.ReadAsync to the host.
func (r *run) copySpilled(t int, m memplan.Move, after []*clrt.Event, copyRows func(*clrt.Buffer, int64, []byte, ...*clrt.Event) (*clrt.Event, error)) (last *clrt.Event, err error) {
	ring, rowBytes := r.engine.device.rings[m.Index], planar.RowBytes(r.engine.Program.Tensors[t], r.engine.opt.Precision)
	err = slots(ring, rowBytes, int(m.Y0), int(m.Y1), func(off int64, y, n int) error {
		place := r.plan.HostOffset[t] + int64(y)*rowBytes
		return r.engine.host.spill.each(place, int64(n)*rowBytes, func(before int64, rows []byte) error {
			ev, err := copyRows(ring.Buf, off+before, rows, after...)
			if err == nil {
				after = nil
				last.Close()
				last = ev
			}
			return err
		})
	})
	return last, err
}

// leave starts all downloads so far and waits until they are in their queue: rows made
// in this section, which are needed again, may still be on their way down.
func (r *run) leave() error {
	r.queues.downloaded = true
	s, err := r.downloadNow()
	if err == nil {
		_, err = s.wait()
		s.close()
	}
	return err
}

// downloadRows starts a download. It gives the event of its end, or nil if somebody else
// needs that.
func (r *run) downloadRows(m memplan.Move, after []*clrt.Event) (last *clrt.Event, err error) {
	t := r.plan.Rings[m.Index].Tensor
	r.engine.opt.Profiler.tag(downloadQueue, t)
	if t == r.engine.Program.Output {
		if len(after) > 0 {
			if err := r.queues.download.Barrier(after...); err != nil {
				return nil, err
			}
		}
		return nil, r.drain.download(r.engine.device.rings[m.Index], int(m.Y0), int(m.Y1))
	}
	return r.copySpilled(t, m, after, r.queues.download.ReadAsync)
}
