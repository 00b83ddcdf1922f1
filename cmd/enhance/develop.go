package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime/debug"

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
	if err != nil {
		return e.fail(err, "")
	}
	if o.settings.HostMemory > 0 { // let the collector know: its default is to let the heap double
		debug.SetMemoryLimit(int64(o.settings.HostMemory))
	}
	tellTuning(&o.settings, e.stderr, o.quiet, o.verbose)
	session, err := pipeline.NewSession(o.settings)
	if err != nil {
		return e.fail(err, "")
	}
	ctx, stop := interruptible(e, session.Abandon)
	defer stop()
	defer session.Close()
	b := &batch{env: e, order: o, session: session, many: len(ts) > 1}
	return b.run(ctx, ts)
}

// batch develops one photo after another.
type batch struct {
	*env
	order   *order
	session *pipeline.Session
	many    bool

	results []result
	failed  int
	skipped int
}

// result is what --json prints of a photo.
type result struct {
	*pipeline.Report
	Input  string `json:"input"`
	Skip   bool   `json:"skipped,omitempty"`
	Error  string `json:"error,omitempty"`
	Status int    `json:"status"`
}

func (b *batch) run(ctx context.Context, ts []target) int {
	code := exitOK
	for _, t := range ts {
		r := b.one(ctx, t)
		b.results = append(b.results, r)
		if r.Status == exitInterrupted {
			code = exitInterrupted
			break
		}
		if r.Status != exitOK {
			b.failed++
			code = r.Status
		}
	}
	if b.many && code != exitInterrupted {
		if b.failed > 0 {
			code = exitFailed
			fmt.Fprintf(b.stderr, "enhance: %d of %d photos failed\n", b.failed, len(ts))
		} else if !b.order.quiet {
			fmt.Fprintf(b.stderr, "%d photos done, %d skipped\n", len(ts)-b.skipped, b.skipped)
		}
	}
	if b.order.json {
		if err := b.writeJSON(); err != nil && code == exitOK {
			return b.fail(err, "")
		}
	}
	return code
}

// one develops a photo and says what there is to say.
func (b *batch) one(ctx context.Context, t target) result {
	o := b.order
	if o.skipExisting && t.out != "-" && exists(t.out) {
		b.skipped++
		if !o.quiet {
			fmt.Fprintf(b.stderr, "%s: skipped, %s exists\n", t.in, t.out)
		}
		return result{Input: t.in, Skip: true}
	}
	job := o.job
	job.Input, job.Output = t.in, o.output(t, b.env)
	progress := newMeter(b.stderr, o.quiet)
	job.Progress = progress.set
	say, said := b.sayTo(), map[string]bool{}
	job.Planned = func(r *pipeline.Report) {
		writePlanned(say, r, o.verbose)
		for _, text := range r.Warnings {
			said[text] = true
		}
	}
	job.Say = func(text string) {
		said[text] = true
		if !o.quiet {
			fmt.Fprintf(b.stderr, "%-8s%s\n", "note", oneLine(text))
		}
	}
	rep, err := b.session.Enhance(ctx, job)
	progress.end()
	r := result{Report: rep, Input: t.in, Status: status(err)}
	if err == nil || r.Status == exitQuality {
		if !o.dryRun {
			writeDone(say, rep, said)
		}
	}
	if err != nil {
		r.Error = message(err, t.in)
		if r.Status == exitInterrupted {
			r.Error = "enhance: interrupted"
		}
		fmt.Fprintln(b.stderr, r.Error)
	}
	return r
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

// writeJSON prints one object: the report of the photo, or of all.
func (b *batch) writeJSON() error {
	enc := json.NewEncoder(b.stdout)
	enc.SetIndent("", "  ")
	if !b.many && len(b.results) == 1 {
		return enc.Encode(b.results[0])
	}
	return enc.Encode(struct {
		Photos  []result `json:"photos"`
		Failed  int      `json:"failed"`
		Skipped int      `json:"skipped"`
	}{b.results, b.failed, b.skipped})
}
