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

	"enhance/pipeline"
)

// runDevelop is the main job: photos in, pictures out.
func runDevelop(e *env, args []string) int {
	o, err := parse(args)
	switch {
	case err != nil:
		return e.fail(err, "")
	case o.help:
		printHelp(e.stdout)
		return exitOK
	case o.version:
		fmt.Fprintln(e.stdout, "enhance", version())
		return exitOK
	case o.listDevices:
		return listDevices(e, o.json)
	}
	ts, err := o.targets()
	if err == nil {
		err = o.keepFiles(ts)
	}
	if err != nil {
		return e.fail(err, "")
	}
	boundHeap(o.settings.HostMemory)
	if err := o.profile.open(o.job.Output.Overwrite); err != nil {
		return e.fail(err, "")
	}
	defer o.profile.close(false)
	tellTuning(&o.settings, e.stderr, o.quiet, o.verbose)
	e.compileApart(&o.settings)
	pb, err := pipeline.NewBatch(o.settings, o.profile.device)
	if err != nil {
		return e.fail(err, "")
	}
	b := &batch{env: e, order: o, makers: pb, targets: ts, many: len(ts) > 1, results: make([]result, len(ts)), begun: make([]bool, len(ts))}
	ctx, stop := interruptibleWith(e, b.breakOff)
	defer stop()
	defer pb.Close()
	return b.run(ctx)
}

// boundHeap lets the collector of garbage know how much memory there may be, or
// there is: its default is to let the heap double. GOMEMLIMIT has the last word.
func boundHeap(m pipeline.Memory) {
	limit := int64(m)
	if m == pipeline.DefaultMemory {
		limit, _ = pipeline.HostAvailable()
	}
	if limit > 0 && debug.SetMemoryLimit(-1) == math.MaxInt64 {
		debug.SetMemoryLimit(limit)
	}
}

// batch develops photos.
type batch struct {
	*env
	order   *order
	makers  *pipeline.Batch
	targets []target
	many    bool

	voices   *voices
	brief    *brief // nil: every photo is described in full
	progress *overall
	said     []map[string]bool
	start    time.Time

	mu       sync.Mutex // of the rest: an interrupt may end the program at any time
	results  []result   // by photo
	begun    []bool     // by photo
	finished int        // photos whose result is there; they come in order
	code     int
	ended    bool // the sums were said
}

func (b *batch) run(ctx context.Context) int {
	n := len(b.targets)
	b.progress = newOverall(newMeter(b.stderr, b.order.quiet), n)
	b.voices = newVoices(b.progress.clear)
	b.start = time.Now()
	b.said = make([]map[string]bool, n)
	if b.many && !b.order.verbose && !b.order.dryRun {
		b.brief = newBrief()
	}
	if text := b.makers.Note(); text != "" && b.many && !b.order.quiet {
		fmt.Fprintf(b.stderr, "%-8s%s\n", "note", text)
	}
	b.makers.Run(ctx, n, b.job, b.done)
	b.progress.end()
	if b.brief != nil {
		b.brief.end(b.sayTo())
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended { // the program is about to
		return exitInterrupted
	}
	if !b.many && b.finished == 0 {
		fmt.Fprintln(b.stderr, "enhance: interrupted")
	}
	clear(b.begun) // all that were, came to their end
	b.end()
	if err := b.makers.Close(); err != nil && b.code == exitOK { // the peaks below want the device for themselves
		b.code = b.fail(err, "")
	}
	profiles, err := b.order.profile.finish(b.stderr, b.order.json)
	if err != nil && b.code == exitOK {
		b.code = b.fail(err, "")
	}
	if b.order.json {
		if err := b.writeJSON(profiles); err != nil && b.code == exitOK {
			return b.fail(err, "")
		}
	}
	return b.code
}

// job is photo i's order; false passes over it.
func (b *batch) job(i int) (pipeline.Job, bool) {
	o, t := b.order, b.targets[i]
	if o.skipExisting && t.out != "-" && exists(t.out) {
		return pipeline.Job{}, false
	}
	b.mu.Lock()
	b.begun[i] = true
	b.mu.Unlock()
	job := o.job
	job.Input, job.Output = t.in, o.output(t, b.env)
	job.Progress = func(done, total int64) { b.progress.set(i, done, total) }
	said := map[string]bool{}
	b.said[i] = said
	if b.brief != nil {
		if i == 0 { // while it runs, the others are not heard
			job.Planned = func(r *pipeline.Report) { b.brief.head(b.voices.of(i, b.sayTo()), r) }
		}
		return job, true
	}
	job.Planned = func(r *pipeline.Report) {
		writePlanned(b.voices.of(i, b.sayTo()), r, o.verbose)
		for _, text := range r.Warnings {
			said[text] = true
		}
	}
	job.Say = func(text string) {
		said[text] = true
		if !o.quiet {
			fmt.Fprintf(b.voices.of(i, b.stderr), "%-8s%s\n", "note", oneLine(text))
		}
	}
	return job, true
}

// done takes what became of photo i.
func (b *batch) done(i int, rep *pipeline.Report, err error) {
	defer b.voices.done(i)
	b.progress.done(i)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return
	}
	b.finished = i + 1
	o, t, say := b.order, b.targets[i], b.voices.of(i, b.stderr)
	r := &b.results[i]
	*r = result{Report: rep, Input: t.in, Status: status(err)}
	if rep == nil && err == nil {
		r.Skip = true
		if !o.quiet {
			fmt.Fprintf(say, "%s: skipped, %s exists\n", t.in, t.out)
		}
		return
	}
	if (err == nil || r.Status == exitQuality) && !o.dryRun {
		if to := b.voices.of(i, b.sayTo()); b.brief != nil {
			b.brief.done(to, rep)
		} else {
			writeDone(to, rep, b.said[i])
		}
	}
	if err == nil {
		return
	}
	text := message(err, t.in)
	r.Error, r.Report = strings.TrimPrefix(text, "enhance: "), decided(rep)
	if r.Interrupted = r.Status == exitInterrupted; r.Interrupted {
		b.code = exitInterrupted
		if b.many { // once for all is enough
			return
		}
	}
	if b.brief != nil && rep != nil {
		b.brief.notes(rep)
	}
	fmt.Fprintln(say, text)
	if b.code != exitInterrupted {
		b.code = r.Status
	}
}

// decided is a report without a plan that was not finished, whose zeros say nothing.
func decided(rep *pipeline.Report) *pipeline.Report {
	if rep == nil || rep.Plan.Strategy != "" {
		return rep
	}
	r := *rep
	r.Plan = pipeline.PlanFacts{}
	return &r
}

// sayTo is where facts about a photo go: a dry run's are what was asked for.
func (b *batch) sayTo() io.Writer {
	switch {
	case b.order.dryRun && !b.order.json:
		return b.stdout
	case b.order.quiet:
		return io.Discard
	}
	return b.stderr
}
