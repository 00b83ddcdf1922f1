package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"enhance/pipeline"
	"enhance/pipeline/facts"
)

// result is what --json prints of a photo.
type result struct {
	*pipeline.Report
	Input string `json:"input"`
	Skip  bool   `json:"skipped,omitempty"`
	// Interrupted is a photo that was begun; NotBegun one whose turn had not come.
	Interrupted bool             `json:"interrupted,omitempty"`
	NotBegun    bool             `json:"not_begun,omitempty"`
	Error       string           `json:"error,omitempty"`
	Status      int              `json:"status"`
	Profile     []*facts.Profile `json:"profile,omitempty"`
}

// summary counts photos by how they ended.
type summary struct {
	Done        int `json:"done"`
	Failed      int `json:"failed"`
	Skipped     int `json:"skipped"`
	Interrupted int `json:"interrupted"`
	NotBegun    int `json:"not_begun"`
}

func summarize(results []result) (s summary) {
	for i := range results {
		switch r := &results[i]; {
		case r.NotBegun:
			s.NotBegun++
		case r.Interrupted:
			s.Interrupted++
		case r.Skip:
			s.Skipped++
		case r.Status != exitOK:
			s.Failed++
		default:
			s.Done++
		}
	}
	return s
}

// text prints the counts that are not 0 in a line.
func (s summary) text(dry bool) string {
	all, done := s.Done+s.Failed+s.Skipped+s.Interrupted+s.NotBegun, "done"
	if dry {
		done = "planned"
	}
	var parts []string
	switch {
	case s.Interrupted+s.NotBegun > 0:
		parts = []string{fmt.Sprintf("enhance: interrupted: %d of %s %s", s.Done, photos(all), done)}
		if s.Failed > 0 {
			parts = append(parts, fmt.Sprintf("%d failed", s.Failed))
		}
	case s.Failed > 0:
		parts = []string{fmt.Sprintf("enhance: %d of %s failed", s.Failed, photos(all)), fmt.Sprintf("%d %s", s.Done, done)}
	default:
		parts = []string{fmt.Sprintf("%s %s", photos(s.Done), done)}
	}
	for _, p := range []struct {
		n    int
		what string
	}{{s.Skipped, "skipped"}, {s.Interrupted, "unfinished"}, {s.NotBegun, "not begun"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// outcomes are what became of photos.
type outcomes struct {
	results  []result // by photo
	begun    []bool   // by photo
	finished int      // photos whose result is there; they come in order
	code     int      // that the program ends with
	ended    bool     // the results are complete
}

func newOutcomes(n int) outcomes {
	return outcomes{results: make([]result, n), begun: make([]bool, n)}
}

// end completes the results with the photos that were not done.
func (o *outcomes) end(targets []target) {
	for i := o.finished; i < len(o.results); i++ {
		r := &o.results[i]
		*r = result{Input: targets[i].path, Error: "not begun", Status: exitInterrupted, NotBegun: !o.begun[i]}
		if o.begun[i] {
			r.Error, r.Interrupted = "interrupted", true
		}
		o.code = exitInterrupted
	}
	o.finished, o.ended = len(o.results), true
}

// end completes the results with the photos that were not done, prints the summary of
// several photos, and decides the exit status. b.mu is held.
func (b *batch) end() {
	b.outcomes.end(b.targets)
	if !b.many {
		return
	}
	s := summarize(b.outcomes.results)
	if s.Failed > 0 && b.outcomes.code != exitInterrupted {
		b.outcomes.code = exitFailed
	}
	if b.outcomes.code == exitOK && b.quiet {
		return
	}
	fmt.Fprintln(b.stderr, s.text(b.dryRun)+b.rate())
	if !b.quiet && !b.dryRun {
		b.writeDevices()
	}
}

// abandon is for a program that is about to end in the middle of the work: it removes
// unfinished files, prints the summary, and reports whether it did.
func (b *batch) abandon() bool {
	b.makers.Abandon()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.outcomes.ended {
		return true
	}
	if b.many {
		fmt.Fprintln(b.stderr)
	}
	b.end()
	if b.json {
		_ = b.writeResults(nil)
	}
	return b.many
}

// nothing is the report of an order without photos: another part of --shard has them.
func (c *call) nothing() error {
	if !c.json {
		return nil
	}
	return c.writeJSON(struct {
		Photos []result `json:"photos"`
		summary
	}{Photos: []result{}})
}

// photos counts them.
func photos(n int) string {
	return fmt.Sprintf("%d %s", n, plural(n, "photo"))
}

// delivered reports whether a photo's picture was written.
func (r *result) delivered() bool {
	return r.Report != nil && !r.Skip && (r.Status == exitOK || r.Status == exitQuality)
}

// rate is the time that all photos took and how many that is a second, "" if it tells
// nothing.
func (b *batch) rate() string {
	made := 0
	for i := range b.outcomes.results {
		if b.outcomes.results[i].delivered() {
			made++
		}
	}
	if made < 2 || b.quiet || b.dryRun {
		return ""
	}
	took := time.Since(b.start).Seconds()
	return fmt.Sprintf(", %.2f s, %.2f photos per second", took, float64(made)/took)
}

// writeDevices prints how many photos each device developed, if there are several
// devices or all is wanted.
func (b *batch) writeDevices() {
	type share struct {
		name    string
		photos  int
		seconds float64
	}
	var shares []share
	for i := range b.outcomes.results {
		r := &b.outcomes.results[i]
		if !r.delivered() {
			continue
		}
		name := deviceName(&r.Device)
		k := slices.IndexFunc(shares, func(s share) bool { return s.name == name })
		if k < 0 {
			k, shares = len(shares), append(shares, share{name: name})
		}
		shares[k].photos++
		shares[k].seconds += r.Seconds.Run
	}
	if len(shares) < 2 && !b.verbose {
		return
	}
	for _, s := range shares {
		item(b.stderr, "device", "%s: %s, busy for %.2f s", s.name, photos(s.photos), s.seconds)
	}
}

// writeResults prints one object: the report of the photo, or of all.
func (b *batch) writeResults(profiles []*facts.Profile) error {
	if !b.many {
		b.outcomes.results[0].Profile = profiles
		return b.writeJSON(b.outcomes.results[0])
	}
	return b.writeJSON(struct {
		Photos []result `json:"photos"`
		summary
		Profile []*facts.Profile `json:"profile,omitempty"`
	}{b.outcomes.results, summarize(b.outcomes.results), profiles})
}
