package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"enhance/exec"
	"enhance/pipeline"
)

// result is what --json prints of a photo.
type result struct {
	*pipeline.Report
	Input string `json:"input"`
	Skip  bool   `json:"skipped,omitempty"`
	// Interrupted is a photo that was begun; NotBegun one whose turn had not come.
	Interrupted bool                  `json:"interrupted,omitempty"`
	NotBegun    bool                  `json:"not_begun,omitempty"`
	Error       string                `json:"error,omitempty"`
	Status      int                   `json:"status"`
	Profile     []*exec.ProfileReport `json:"profile,omitempty"`
}

// sums are how many photos came to which end.
type sums struct {
	Done        int `json:"done"`
	Failed      int `json:"failed"`
	Skipped     int `json:"skipped"`
	Interrupted int `json:"interrupted"`
	NotBegun    int `json:"not_begun"`
}

func sumsOf(results []result) (s sums) {
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

// text says them in a line; of what there is none it says nothing.
func (s sums) text(dry bool) string {
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
	}{{s.Skipped, "skipped"}, {s.Interrupted, "broken off"}, {s.NotBegun, "not begun"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	return strings.Join(parts, ", ")
}

// end notes what became of the photos that were not done, sums up what became of all
// of several, and decides the exit status. b.mu is held.
func (b *batch) end() {
	for i := b.finished; i < len(b.results); i++ {
		b.results[i] = result{Input: b.targets[i].in, Error: "not begun", Status: exitInterrupted, NotBegun: !b.begun[i]}
		if r := &b.results[i]; b.begun[i] {
			r.Error, r.Interrupted = "interrupted", true
		}
		b.code = exitInterrupted
	}
	b.finished, b.ended = len(b.results), true
	if !b.many {
		return
	}
	s := sumsOf(b.results)
	if s.Failed > 0 && b.code != exitInterrupted {
		b.code = exitFailed
	}
	if b.code != exitOK || !b.order.quiet {
		fmt.Fprintln(b.stderr, s.text(b.order.dryRun))
	}
	b.writeRates()
}

// breakOff is for a program that is about to end in the middle of the work: it
// removes unfinished files, sums up, and reports whether it said so.
func (b *batch) breakOff() bool {
	b.makers.Abandon()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return true
	}
	if b.many {
		fmt.Fprintln(b.stderr)
	}
	b.end()
	if b.order.json {
		_ = b.writeJSON(nil)
	}
	return b.many
}

// photos counts them.
func photos(n int) string {
	if n == 1 {
		return "1 photo"
	}
	return fmt.Sprintf("%d photos", n)
}

// writeRates says how many photos each device finished, and how fast all were.
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
	for i := range b.results {
		r := b.results[i].Report
		if s := b.results[i].Status; r == nil || s != exitOK && s != exitQuality { // of the latter the picture is there
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

// writeJSON prints one object: the report of the photo, or of all.
func (b *batch) writeJSON(profiles []*exec.ProfileReport) error {
	enc := json.NewEncoder(b.stdout)
	enc.SetIndent("", "  ")
	if !b.many {
		b.results[0].Profile = profiles
		return enc.Encode(b.results[0])
	}
	return enc.Encode(struct {
		Photos []result `json:"photos"`
		sums
		Profile []*exec.ProfileReport `json:"profile,omitempty"`
	}{b.results, sumsOf(b.results), profiles})
}
