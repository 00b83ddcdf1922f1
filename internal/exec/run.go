package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"enhance/clrt"
	"enhance/internal/workers"
	"enhance/memplan"
)

// Progress is told how many of total floating-point operations are done.
type Progress func(done, total int64)

// paceLaunches is how many launches are queued between marks that the host waits for:
// enough to keep the device busy, little enough to stop soon when asked to.
const paceLaunches = 24

// Run computes one picture. It returns when all rows are with the sink, or with
// the first error of source, sink, device or ctx.
func (e *Engine) Run(ctx context.Context, src Source, sink Sink, progress Progress) error {
	return e.RunAhead(ctx, src, sink, progress, nil)
}

// RunAhead is Run that says when the next run may begin: free, if not nil, is called
// once the device has the source's last row and all kernels are queued, while they
// and the sink are still at work. A run that fails before may not come to that.
func (e *Engine) RunAhead(ctx context.Context, src Source, sink Sink, progress Progress, free func()) (err error) {
	e.running.Add(1)
	defer e.running.Done()
	defer func() {
		if err != nil {
			e.failed.Store(true)
		}
	}()
	end, err := e.opt.Profiler.begin(e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r := &run{Engine: e, ctx: ctx, cancel: cancel, progress: progress, total: e.Plan.Cost.FLOPs, free: free, left: make(chan struct{})}
	pool := workers.NewPool(runtime.GOMAXPROCS(0), inChunks+outChunks)
	defer pool.Close()
	r.feed = newFeeder(ctx, e, pool, src)
	r.drain = newDrain(e, pool, sink, cancel)
	if before := e.left; before != nil {
		<-before
	}
	e.left = r.left
	return r.finish(r.moves())
}

// finish ends a run whose moves ended with err.
func (r *run) finish(err error) error {
	for _, k := range r.marks {
		k.ev.Close() // of those that an error left behind
	}
	if !r.handed {
		close(r.left)
	}
	<-r.left
	if derr := r.drain.close(); err == nil {
		err = derr
	}
	if !r.handed || r.free == nil { // else the queues are the next run's
		ferr := r.queues.finish() // also after an error: memory handed to the device must be free of it
		if err == nil {
			err = ferr
		}
	}
	r.cancel(nil)
	r.feed.wait()
	if cause := context.Cause(r.ctx); err == nil && cause != nil && cause != context.Canceled {
		err = cause
	}
	if err == nil && r.progress != nil {
		r.progress(r.total, r.total)
	}
	return err
}

// run is the state of one Run.
type run struct {
	*Engine
	ctx         context.Context
	cancel      context.CancelCauseFunc
	feed        *feeder
	drain       *drain
	progress    Progress
	done, total int64 // operations queued, all
	launched    int
	marks       []mark
	section     int
	madeIn      map[int]bool   // tensors of the current section
	downloads   []memplan.Move // downloads of the current strip, which start together at its end

	free   func()
	handed bool          // all is queued but the last downloads, and the next run may begin
	left   chan struct{} // closed when those are queued too
}

// mark is a point in the queue and the operations queued before it.
type mark struct {
	ev   *clrt.Event
	done int64
}

func (r *run) moves() error {
	if err := r.poison(); err != nil {
		return err
	}
	for s := range r.Plan.Sections {
		if !r.Plan.Sections[s].Overlaps {
			if err := errors.Join(r.endSection(), r.queues.section()); err != nil {
				return err
			}
		}
		r.enter(s)
		for _, m := range r.Plan.Sections[s].Moves {
			if err := context.Cause(r.ctx); err != nil {
				return err
			}
			var err error
			switch m.Kind {
			case memplan.Run:
				err = r.step(m)
			case memplan.Upload:
				err = r.uploadRows(m)
			case memplan.Download:
				r.downloads = append(r.downloads, m)
			case memplan.LoadWeights:
				err = r.sendWeights(m)
			case memplan.NextStrip:
				err = r.queues.nextStrip(len(r.downloads) > 0, r.startDownloads)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := r.handOver(); err != nil {
		return err
	}
	for len(r.marks) > 0 {
		k := r.marks[0]
		r.marks = r.marks[1:]
		if err := r.reach(k); err != nil {
			return err
		}
	}
	return nil
}

// handOver starts the last downloads and lets the next run begin. Downloads wait for
// room on the host, so that on queues of their own a goroutine starts them; the next
// run queues nothing before it has.
func (r *run) handOver() error {
	if r.download == r.compute {
		if err := errors.Join(r.endSection(), r.compute.Flush()); err != nil {
			return err
		}
		close(r.left)
	} else {
		r.downloaded = true
		if err := errors.Join(r.await(r.download, r.compute), r.upload.Flush()); err != nil {
			return err
		}
		go func() {
			defer close(r.left)
			ev, err := r.startDownloads()
			if err = errors.Join(err, ev.Close()); err != nil {
				r.cancel(err)
			}
		}()
	}
	r.handed = true
	r.feed.wait() // all that it made was taken
	if r.free != nil {
		r.free()
	}
	return nil
}

// poison fills the device's memory with NaN, if that is asked for.
func (r *run) poison() error {
	if !r.opt.Poison {
		return nil
	}
	if err := r.queues.section(); err != nil {
		return err
	}
	for _, a := range r.arenas {
		if err := r.q.Fill(a, 0, a.Size(), []byte{0xff, 0xff, 0xff, 0xff}); err != nil {
			return err
		}
	}
	return nil
}

// endSection starts the downloads of a section's last strip.
func (r *run) endSection() error {
	if len(r.downloads) == 0 {
		return nil
	}
	r.downloaded = true
	ev, err := r.downloadNow()
	ev.Close()
	return err
}

// downloadNow starts downloads behind all kernels so far.
func (r *run) downloadNow() (*clrt.Event, error) {
	if err := r.await(r.download, r.compute); err != nil {
		return nil, err
	}
	return r.startDownloads()
}

// startDownloads starts the downloads of the strip that ends, which wait for after: the kernels
// that made the rows. It gives the last one's event, or nil if somebody else needs that.
func (r *run) startDownloads(after ...*clrt.Event) (last *clrt.Event, err error) {
	for _, m := range r.downloads {
		last.Close()
		if last, err = r.downloadRows(m, after); err != nil {
			return nil, err
		}
		after = nil
	}
	r.downloads = r.downloads[:0]
	return last, nil
}

// enter notes which tensors section s makes.
func (r *run) enter(s int) {
	r.section = s
	r.madeIn = map[int]bool{}
	for i := r.Plan.Sections[s].First; i <= r.Plan.Sections[s].Last; i++ {
		r.madeIn[r.Program.Steps[i].Dst.Tensor] = true
	}
}

func (r *run) step(m memplan.Move) error {
	r.opt.Profiler.tag(computeQueue, int(m.Index))
	err := r.launch(int(m.Index), int(m.Y0), int(m.Y1))
	if err != nil {
		return fmt.Errorf("step %s, rows %d to %d: %w", r.Program.Steps[m.Index].Name, m.Y0, m.Y1, err)
	}
	r.done += r.Program.FLOPs(&r.Program.Steps[m.Index], int(m.Y1-m.Y0))
	if r.launched++; r.launched%paceLaunches != 0 {
		return nil
	}
	ev, err := r.q.Marker()
	if err != nil {
		return err
	}
	if err := r.q.Flush(); err != nil {
		return err
	}
	r.marks = append(r.marks, mark{ev, r.done})
	if len(r.marks) > 2 {
		k := r.marks[0]
		r.marks = r.marks[1:]
		return r.reach(k)
	}
	return nil
}

// reach waits until the device has come to a mark.
func (r *run) reach(k mark) error {
	defer k.ev.Close()
	if err := k.ev.Wait(); err != nil {
		return err
	}
	if r.progress != nil {
		r.progress(k.done, r.total)
	}
	return nil
}
