package exec

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

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
	if err := errors.Join(e.checkSource(src), e.checkSink(sink)); err != nil {
		return err
	}
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
	r := &run{engine: e, plan: e.Plan, queues: &e.queues, ctx: ctx, cancel: cancel,
		pace: pace{progress: progress, total: e.Plan.Cost.FLOPs}, next: handOver{free: free, left: make(chan struct{})}}
	pool := workers.NewPool(runtime.GOMAXPROCS(0))
	defer pool.Close()
	if e.queues.upload != e.queues.compute {
		r.uploads, r.fetches = newSender(), newSender()
	}
	r.feed = newFeeder(ctx, e, pool, src)
	r.drain = newDrain(e, pool, sink, cancel)
	if before := e.left; before != nil {
		<-before
	}
	e.left = r.next.left
	if err = errors.Join(r.sendTables(src), r.beginPicture(sink)); err == nil {
		err = r.moves()
	}
	return r.finish(err)
}

// finish ends a run whose moves ended with err.
func (r *run) finish(err error) error {
	for _, k := range r.pace.marks {
		k.ev.Close() // of those that an error left behind
	}
	if err != nil {
		r.cancel(nil) // a sender may wait for the source
	}
	if !r.next.done {
		close(r.next.left)
	}
	<-r.next.left
	r.uploads.close()
	r.fetches.close()
	if derr := r.drain.close(); err == nil {
		err = derr
	}
	if berr := r.bad.first(); err == nil {
		err = berr
	}
	if !r.next.done || r.next.free == nil { // else the queues are the next run's
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
	if err == nil && r.pace.progress != nil {
		r.pace.progress(r.pace.total, r.pace.total)
	}
	return err
}

// run is the state of one Run.
type run struct {
	engine    *Engine
	plan      *memplan.Plan
	queues    *queues
	ctx       context.Context
	cancel    context.CancelCauseFunc
	feed      *feeder
	drain     *drain
	uploads   *sender // to their queue
	fetches   *sender // downloads to theirs
	pace      pace
	section   int
	madeIn    map[int]bool   // tensors of the current section
	downloads []memplan.Move // downloads of the current strip, which start together at its end
	next      handOver
	bad       badSamples
}

// handOver is what a run does for the next one.
type handOver struct {
	free func()        // called when it may begin; nil: nobody waits
	done bool          // all is queued but the last downloads, and the next run may begin
	left chan struct{} // closed when those are queued too
}

// pace keeps the host a few marks ahead of the device, and tells of progress.
type pace struct {
	progress    Progress
	done, total int64 // operations queued, all
	launched    int
	marks       []mark
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
	begins := false
	for s := range r.plan.Sections {
		if !r.plan.Sections[s].Overlaps {
			if err := errors.Join(r.endSection(), r.queues.section()); err != nil {
				return err
			}
		}
		r.enter(s)
		for _, m := range r.plan.Sections[s].Moves {
			if err := context.Cause(r.ctx); err != nil {
				return err
			}
			var err error
			switch m.Kind {
			case memplan.Run:
				if err = r.step(m); err == nil && begins {
					begins = false
					err = r.queues.compute.Flush() // the device begins while the strip's other kernels are queued
				}
			case memplan.Upload:
				err = r.uploadRows(m)
			case memplan.Download:
				r.downloads = append(r.downloads, m)
			case memplan.LoadWeights:
				err = r.sendWeights(m)
			case memplan.NextStrip:
				begins = r.queues.upload != r.queues.compute
				err = r.queues.nextStrip(len(r.downloads) > 0, r.startDownloads)
			}
			if err != nil {
				return err
			}
		}
	}
	if err := errors.Join(r.askBad(), r.handOver()); err != nil {
		return err
	}
	for len(r.pace.marks) > 0 {
		if err := r.pace.reach(); err != nil {
			return err
		}
	}
	return nil
}

// handOver starts the last downloads and lets the next run begin, which queues nothing
// before they are in their queue.
func (r *run) handOver() error {
	if r.queues.download == r.queues.compute {
		if err := errors.Join(r.endSection(), r.queues.compute.Flush()); err != nil {
			return err
		}
		close(r.next.left)
	} else {
		r.queues.downloaded = true
		last, err := r.downloadNow()
		if err = errors.Join(err, r.queues.upload.Flush()); err != nil {
			return err
		}
		go func() {
			defer close(r.next.left)
			if _, err := last.wait(); err != nil {
				r.cancel(err)
			}
			last.close()
		}()
	}
	r.next.done = true
	r.feed.wait() // all that it made was taken
	if r.next.free != nil {
		r.next.free()
	}
	return nil
}

// poison fills the device's memory with NaN, if that is asked for.
func (r *run) poison() error {
	if !r.engine.opt.Poison {
		return nil
	}
	if err := r.queues.section(); err != nil {
		return err
	}
	for _, a := range r.engine.device.arenas {
		if err := r.queues.compute.Fill(a, 0, a.Size(), []byte{0xff, 0xff, 0xff, 0xff}); err != nil {
			return err
		}
	}
	return nil
}

// endSection starts the downloads of a section's last strip, and waits until all are in their queue.
func (r *run) endSection() error {
	if len(r.downloads) == 0 {
		return nil
	}
	return r.leave()
}

// downloadNow starts downloads behind all kernels so far.
func (r *run) downloadNow() (*sending, error) {
	if r.queues.download == r.queues.compute {
		return r.startDownloads(), nil
	}
	made, err := r.queues.mark(r.queues.compute)
	if err != nil {
		return nil, err
	}
	s := r.startDownloads(made)
	s.made = made
	return s, nil
}

// startDownloads starts the downloads of the strip that ends, which wait for after: the kernels
// that made the rows.
func (r *run) startDownloads(after ...*clrt.Event) *sending {
	moves := slices.Clone(r.downloads)
	r.downloads = r.downloads[:0]
	return r.fetches.send(func() (last *clrt.Event, err error) {
		for _, m := range moves {
			last.Close()
			if last, err = r.downloadRows(m, after); err != nil {
				return nil, err
			}
			after = nil
		}
		if r.queues.download != r.queues.compute && len(moves) > 0 {
			if last == nil { // the sink needs those of its rows
				return r.queues.mark(r.queues.download)
			}
			err = r.queues.download.Flush()
		}
		return last, err
	})
}

// enter notes which tensors section s makes.
func (r *run) enter(s int) {
	r.section = s
	r.madeIn = map[int]bool{}
	for i := r.plan.Sections[s].First; i <= r.plan.Sections[s].Last; i++ {
		r.madeIn[r.engine.Program.Steps[i].Dst.Tensor] = true
	}
}

func (r *run) step(m memplan.Move) error {
	r.engine.opt.Profiler.tag(computeQueue, int(m.Index))
	err := r.engine.launch(int(m.Index), int(m.Y0), int(m.Y1))
	if err != nil {
		return fmt.Errorf("step %s, rows %d to %d: %w", r.engine.Program.Steps[m.Index].Name, m.Y0, m.Y1, err)
	}
	return r.pace.launch(r.queues.compute, r.engine.Program.FLOPs(&r.engine.Program.Steps[m.Index], int(m.Y1-m.Y0)))
}

// launch notes a launch of so many operations and, now and then, waits for the device.
func (p *pace) launch(q *clrt.Queue, flops int64) error {
	p.done += flops
	if p.launched++; p.launched%paceLaunches != 0 {
		return nil
	}
	ev, err := q.Marker()
	if err != nil {
		return err
	}
	if err := q.Flush(); err != nil {
		return err
	}
	if p.marks = append(p.marks, mark{ev, p.done}); len(p.marks) > 2 {
		return p.reach()
	}
	return nil
}

// reach waits until the device has come to the oldest mark.
func (p *pace) reach() error {
	k := p.marks[0]
	p.marks = p.marks[1:]
	defer k.ev.Close()
	if err := k.ev.Wait(); err != nil {
		return err
	}
	if p.progress != nil {
		p.progress(k.done, p.total)
	}
	return nil
}
