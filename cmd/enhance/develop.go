package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"slices"
	"time"

	"enhance/exec"
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
	ctx, stop := interruptible(e, pb.Abandon)
	defer stop()
	defer pb.Close()
	b := &batch{env: e, order: o, makers: pb, targets: ts, many: len(ts) > 1, results: make([]result, len(ts))}
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
	results  []result // by photo
	said     []map[string]bool
	start    time.Time
	finished int
	code     int
	failed   int
	skipped  int
}

// result is what --json prints of a photo.
type result struct {
	*pipeline.Report
	Input   string                `json:"input"`
	Skip    bool                  `json:"skipped,omitempty"`
	Error   string                `json:"error,omitempty"`
	Status  int                   `json:"status"`
	Profile []*exec.ProfileReport `json:"profile,omitempty"`
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
	if b.many && b.code != exitInterrupted {
		if b.failed > 0 {
			b.code = exitFailed
			fmt.Fprintf(b.stderr, "enhance: %d of %d photos failed\n", b.failed, n)
		} else if !b.order.quiet {
			fmt.Fprintf(b.stderr, "%s done, %d skipped\n", photos(n-b.skipped), b.skipped)
		}
		b.writeRates()
	}
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

// photos counts them.
func photos(n int) string {
	if n == 1 {
		return "1 photo"
	}
	return fmt.Sprintf("%d photos", n)
}

// writeRates says how many photos each device made, and how fast all were.
func (b *batch) writeRates() {
	if b.order.quiet || b.order.dryRun {
		return
	}
	took := time.Since(b.start).Seconds()
	type sum struct {
		name    string
		photos  int
		seconds float64
	}
	var sums []sum
	made := 0
	for i := range b.results[:b.finished] {
		r := b.results[i].Report
		if r == nil || r.Seconds.Run == 0 {
			continue
		}
		made++
		name := deviceName(&r.Device)
		k := slices.IndexFunc(sums, func(s sum) bool { return s.name == name })
		if k < 0 {
			k, sums = len(sums), append(sums, sum{name: name})
		}
		sums[k].photos++
		sums[k].seconds += r.Seconds.Run
	}
	if made < 2 {
		return
	}
	for _, s := range sums {
		fmt.Fprintf(b.stderr, "device %s: %s, %.2f s of runs\n", s.name, photos(s.photos), s.seconds)
	}
	fmt.Fprintf(b.stderr, "%.2f s, %.2f photos a second\n", took, float64(made)/took)
}

// job is photo i's order; false passes over it.
func (b *batch) job(i int) (pipeline.Job, bool) {
	o, t := b.order, b.targets[i]
	if o.skipExisting && t.out != "-" && exists(t.out) {
		return pipeline.Job{}, false
	}
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
	b.finished = i + 1
	o, t, say := b.order, b.targets[i], b.voices.of(i, b.stderr)
	r := &b.results[i]
	*r = result{Report: rep, Input: t.in, Status: status(err)}
	if rep == nil && err == nil {
		r.Skip = true
		b.skipped++
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
	r.Error = message(err, t.in)
	if r.Status == exitInterrupted && b.code == exitInterrupted { // of several under way: once is enough
		return
	}
	if b.brief != nil && rep != nil && !o.quiet {
		b.brief.notes(say, rep)
	}
	fmt.Fprintln(say, r.Error)
	b.failed++
	if b.code != exitInterrupted {
		b.code = r.Status
	}
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

// writeJSON prints one object: the report of the photo, or of all that were begun.
func (b *batch) writeJSON(profiles []*exec.ProfileReport) error {
	enc := json.NewEncoder(b.stdout)
	enc.SetIndent("", "  ")
	if !b.many && b.finished == 1 {
		b.results[0].Profile = profiles
		return enc.Encode(b.results[0])
	}
	return enc.Encode(struct {
		Photos  []result              `json:"photos"`
		Failed  int                   `json:"failed"`
		Skipped int                   `json:"skipped"`
		Profile []*exec.ProfileReport `json:"profile,omitempty"`
	}{b.results[:b.finished], b.failed, b.skipped, profiles})
}
