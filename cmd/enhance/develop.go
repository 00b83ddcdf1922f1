package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"enhance/internal/hostmemory"
	"enhance/internal/printable"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

// runDevelop is the main command: photos in, pictures out.
func runDevelop(c *call) error {
	o, err := newOrder(c)
	switch {
	case err != nil:
		return err
	case c.listDevices:
		return listDevices(c)
	}
	ts, err := o.targets()
	if err == nil {
		err = o.keepFiles(ts)
	}
	if err != nil {
		return err
	}
	if len(ts) == 0 {
		return c.nothing()
	}
	done, err := o.openStdinPhoto()
	if err != nil {
		return err
	}
	defer done()
	boundHeap(c.set.HostMemory)
	if err := o.times.open(o.overwrite); err != nil {
		return err
	}
	defer o.times.close(false)
	if err := o.page.open(o, ts); err != nil {
		return err
	}
	defer o.page.close()
	made, err := o.makers()
	if err != nil {
		return err
	}
	b := &batch{order: o, makers: made, targets: ts, many: len(ts) > 1 || o.batch(), outcomes: newOutcomes(len(ts))}
	if b.receipts, err = o.openReceipts(); err != nil {
		return err
	}
	defer b.receipts.close()
	ctx, stop := interruptibleWith(c.env, b.abandon)
	defer stop()
	defer made.Leave()
	if code := b.run(ctx); code != exitOK {
		return ended(code)
	}
	return nil
}

// makers are what develops the order's photos: a server, if there is one for them.
func (o *order) makers() (makers, error) {
	o.tellNotices(o.verbose)
	o.compileApart()
	o.set.Profiler, o.set.Began = o.times.profiler, began
	if s := o.server(); s != nil {
		return s, nil
	}
	o.warmUpFirst()
	return pipeline.NewBatch(o.set)
}

// boundHeap lets the collector of garbage know how much memory there may be, or
// there is: its default is to let the heap double. GOMEMLIMIT has the last word.
func boundHeap(b pipeline.Budget) {
	limit, known := b.Bytes(), b.Limited()
	if !b.Decided() {
		limit, known = hostmemory.Attainable()
	}
	if known && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit)
	}
}

// batch develops photos.
type batch struct {
	*order
	makers  makers
	targets []target
	many    bool

	ordered  *ordered
	lines    *photoLines // nil: every photo has a paragraph
	progress *overall
	printed  []map[string]bool
	start    time.Time

	receipts *receipts // of the directory of pictures

	mu       sync.Mutex // of the rest: an interrupt may end the program at any time
	outcomes outcomes
}

func (b *batch) run(ctx context.Context) int {
	n := len(b.targets)
	b.progress = newOverall(b.newMeter(), n)
	b.ordered = newOrdered(b.progress.clear)
	b.start = time.Now()
	b.printed = make([]map[string]bool, n)
	if b.many && !b.verbose && !b.dryRun {
		b.lines = newPhotoLines()
	}
	if text := b.makers.Note(); text != "" && b.many && !b.quiet {
		item(b.stderr, "note", "%s", text)
	}
	b.makers.Run(ctx, n, b.job, b.done)
	b.progress.end()
	if b.lines != nil {
		b.lines.end(b.sayTo())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outcomes.ended { // the program is about to
		return exitInterrupted
	}
	if !b.many && b.outcomes.finished == 0 {
		fmt.Fprintln(b.stderr, "enhance: interrupted")
	}
	clear(b.outcomes.begun) // every photo that was begun has ended
	b.end()
	end := b.makers.Leave
	if b.times.wanted() { // the peaks below want the device for themselves
		end = b.makers.Close
	}
	b.failed(end())
	profiles, err := b.times.finish(b.stderr, b.json)
	if err == nil {
		b.wrote(b.stderr, b.times.path, "the timeline, for ui.perfetto.dev")
	}
	b.failed(err)
	b.failed(b.page.finish(b))
	if b.json {
		b.failed(b.writeResults(profiles))
	}
	return b.outcomes.code
}

// failed takes an error, if it is one, for what the program ends with, unless there was another.
// b.mu is held.
func (b *batch) failed(err error) {
	if err != nil && b.outcomes.code == exitOK {
		b.outcomes.code = b.exit(err)
	}
}

// job is photo i's order; false passes over it.
func (b *batch) job(i int) (pipeline.Job, bool) {
	o, t := b.order, b.targets[i]
	if o.skipExisting && t.out != "-" && exists(t.out) && b.receipts.knowsOf(o, &t) {
		return pipeline.Job{}, false
	}
	b.mu.Lock()
	b.outcomes.begun[i] = true
	b.mu.Unlock()
	job := o.job
	job.Input, job.Output = t.shown(), o.outputTo(t)
	job.Show = o.page.show(i)
	if t.err != nil {
		job.Reader, job.Size = failing{t.err}, 1
	}
	job.Progress = func(done, total int64) { b.progress.set(i, done, total) }
	printed := map[string]bool{}
	b.printed[i] = printed
	if b.lines != nil {
		if i == 0 { // while it runs, what is printed of the others waits
			job.Planned = func(r *pipeline.Report) { b.lines.head(b.ordered.of(i, b.sayTo()), r) }
		}
		return job, true
	}
	job.Planned = func(r *pipeline.Report) {
		to := b.ordered.of(i, b.sayTo())
		if o.verbose || o.dryRun {
			writePlanned(to, r, o.verbose)
		} else {
			writePlannedShort(to, r)
		}
		b.wrote(to, o.planSVG, "the drawing of the plan")
		for _, text := range r.Warnings {
			printed[text] = true
		}
	}
	job.Say = func(text string) {
		printed[text] = true
		if !o.quiet {
			item(b.ordered.of(i, b.stderr), "note", "%s", printable.Line(text))
		}
	}
	return job, true
}

// done takes what became of photo i.
func (b *batch) done(i int, rep *pipeline.Report, err error) {
	defer b.ordered.done(i)
	b.progress.done(i)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outcomes.ended {
		return
	}
	defer func() { b.page.add(i, &b.targets[i], &b.outcomes.results[i]) }()
	b.outcomes.finished = i + 1
	o, t, say := b.order, b.targets[i], b.ordered.of(i, b.stderr)
	r := &b.outcomes.results[i]
	*r = result{Report: rep, Input: t.path, Status: status(err)}
	if rep == nil && err == nil {
		r.Skip = true
		if !o.quiet {
			item(say, "photo", "%s: skipped, %s exists", printable.Text(t.shown()), printable.Text(t.out))
		}
		return
	}
	if (err == nil || r.Status == exitQuality) && !o.dryRun {
		switch to := b.ordered.of(i, b.sayTo()); {
		case b.lines != nil:
			b.lines.done(to, rep)
		case o.verbose:
			writeDone(to, rep, b.printed[i])
		default:
			writeDoneShort(to, rep, b.printed[i])
		}
	}
	if err == nil {
		return
	}
	text := message(err, t.shown())
	if b.many {
		text = strings.Replace(text, existsAdvice, ": give -y to replace it, or --skip-existing to keep it", 1)
	}
	r.Error, r.Report = strings.TrimPrefix(text, "enhance: "), decided(rep)
	if r.Interrupted = r.Status == exitInterrupted; r.Interrupted {
		b.outcomes.code = exitInterrupted
		if b.many { // once for all is enough
			return
		}
	}
	if b.lines != nil && rep != nil {
		b.lines.notes(rep)
	}
	fmt.Fprintln(say, text)
	if b.outcomes.code != exitInterrupted {
		b.outcomes.code = r.Status
	}
}

// decided is a report without a plan that was not finished, whose zeros say nothing.
func decided(rep *pipeline.Report) *pipeline.Report {
	if rep == nil || rep.Plan.Strategy != "" {
		return rep
	}
	r := *rep
	r.Plan = facts.Plan{}
	return &r
}

// sayTo is where facts about a photo go: a dry run's are what was asked for.
func (b *batch) sayTo() io.Writer {
	switch {
	case b.dryRun && !b.json:
		return b.text()
	case b.quiet:
		return io.Discard
	}
	return b.stderr
}
