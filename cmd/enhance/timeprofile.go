package main

import (
	"fmt"
	"io"
	"strings"

	"enhance/clrt"
	"enhance/internal/atomicfile"
	"enhance/internal/exec"
	"enhance/internal/trace"
)

// timeProfile is what --profile asks for, and what comes of it.
type timeProfile struct {
	table bool
	path  string // of the timeline; "" for none

	file   *atomicfile.File
	tr     *trace.Writer
	stages *trace.Stages
	made   []*exec.Profile
	chosen []*clrt.Device // of made
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
	if p.path != "" {
		if p.file, err = atomicfile.Create(p.path, atomicfile.Options{Overwrite: overwrite}); err != nil {
			return err
		}
		p.tr = trace.New(p.file)
	}
	p.stages = trace.NewStages(p.tr, 0, "host")
	return nil
}

// device makes the profile of device number n, nil if none is wanted.
func (p *timeProfile) device(n int, name string, d *clrt.Device) *exec.Profile {
	if !p.wanted() {
		return nil
	}
	made := exec.NewProfile(name, p.tr, 1+n, p.stages)
	p.made, p.chosen = append(p.made, made), append(p.chosen, d)
	return made
}

// finish completes the timeline and sums up: on w, or for --json as what it returns.
func (p *timeProfile) finish(w io.Writer, asJSON bool) ([]*exec.ProfileReport, error) {
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

// reports are the devices' that were used, the host's stages with the last.
func (p *timeProfile) reports() (all []*exec.ProfileReport, err error) {
	for i, made := range p.made {
		r := made.Report(nil)
		if r.Runs > 0 && p.chosen[i] != nil {
			peaks, err := devicePeaks(p.chosen[i])
			if err != nil {
				return nil, err
			}
			r = made.Report(peaks)
		}
		if r.Runs > 0 || i == len(p.made)-1 {
			all = append(all, r)
		}
	}
	for _, r := range all[:max(0, len(all)-1)] {
		r.Host = nil
	}
	return all, nil
}

// close completes the timeline, or drops it.
func (p *timeProfile) close(keep bool) error {
	if p.file == nil {
		return nil
	}
	defer p.file.Abort() // nothing after Commit
	if !keep {
		return nil
	}
	err := p.tr.Close()
	if err == nil {
		err = p.file.Commit()
	}
	return err
}
