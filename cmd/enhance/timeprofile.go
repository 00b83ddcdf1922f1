package main

import (
	"fmt"
	"io"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

// timeProfile is what --profile asks for, and what comes of it.
type timeProfile struct {
	table bool
	path  string // of the timeline; "" for none

	file     *atomicfile.File
	profiler *pipeline.Profiler // nil: nothing is profiled
}

// parse reads the values of --profile, each of which may hold several, with commas.
func (p *timeProfile) parse(values []string) error {
	p.table, p.path = false, ""
	for _, s := range strings.FieldsFunc(strings.Join(values, ","), func(r rune) bool { return r == ',' }) {
		switch {
		case s == "table":
			p.table = true
		case strings.HasSuffix(strings.ToLower(s), ".json") && p.path == "":
			p.path = s
		default:
			return usagef("--profile: %q: want table, one FILE.json, or both with a comma", s)
		}
	}
	return nil
}

// wanted reports whether anything is to be profiled.
func (p *timeProfile) wanted() bool { return p.table || p.path != "" }

// open makes the timeline's file before the work, so that a bad name costs no work.
func (p *timeProfile) open(overwrite bool) (err error) {
	if !p.wanted() {
		return nil
	}
	var timeline io.Writer
	if p.path != "" {
		if p.file, err = atomicfile.Create(p.path, atomicfile.Options{Overwrite: overwrite}); err != nil {
			return err
		}
		timeline = p.file
	}
	p.profiler = pipeline.NewProfiler(timeline)
	return nil
}

// finish completes the timeline and sums up: on w, or for --json as what it returns.
func (p *timeProfile) finish(w io.Writer, asJSON bool) ([]*facts.Profile, error) {
	if !p.wanted() {
		return nil, nil
	}
	if err := p.close(true); err != nil {
		return nil, err
	}
	if !p.table && !asJSON {
		return nil, nil
	}
	reports, err := p.reports()
	if err != nil || asJSON {
		return reports, err
	}
	for _, r := range reports {
		if _, err := fmt.Fprintln(w); err != nil {
			return nil, err
		}
		if err := r.WriteTable(w); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// reports are the devices' that were used, nil if nothing is profiled.
func (p *timeProfile) reports() ([]*facts.Profile, error) { return p.profiler.Reports(devicePeaks) }

// close completes the timeline, or drops it.
func (p *timeProfile) close(keep bool) error {
	if p.file == nil {
		return nil
	}
	defer p.file.Abort() // nothing after Commit
	if !keep {
		return nil
	}
	err := p.profiler.Close()
	if err == nil {
		err = p.file.Commit()
	}
	return err
}
