package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"enhance/pipeline"
)

// TestSummary: every photo counts once, by how it ended, and counts of 0 are left out.
func TestSummary(t *testing.T) {
	done, failed, skipped := result{}, result{Status: exitIO}, result{Skip: true}
	broken, waiting := result{Status: exitInterrupted, Interrupted: true}, result{Status: exitInterrupted, NotBegun: true}
	for want, results := range map[string][]result{
		"2 photos done":                                    {done, done},
		"1 photo done, 1 skipped":                          {done, skipped},
		"0 photos done, 2 skipped":                         {skipped, skipped},
		"enhance: 2 of 2 photos failed, 0 done":            {failed, failed},
		"enhance: 1 of 3 photos failed, 1 done, 1 skipped": {failed, skipped, done},
		"enhance: interrupted: 1 of 6 photos done, 1 failed, 1 skipped, 2 unfinished, 1 not begun": {done, failed, skipped, broken, broken, waiting},
		"enhance: interrupted: 0 of 2 photos done, 2 not begun":                                    {waiting, waiting},
	} {
		if got := summarize(results).text(false); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if got := summarize([]result{done, done}).text(true); got != "2 photos planned" {
		t.Errorf("dry: %q", got)
	}
}

// TestAbandon: a program that ends in the middle of six photos says how many came
// to which end, and its report has all six.
func TestAbandon(t *testing.T) {
	var out, say bytes.Buffer
	b := &batch{order: &order{call: &call{env: &env{stdout: &out, stderr: &say}, options: options{json: true}}}, makers: &pipeline.Batch{}, many: true,
		outcomes: outcomes{results: make([]result, 6), begun: []bool{true, true, true, true, false, false}, finished: 2}}
	for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
		b.targets = append(b.targets, target{input: input{path: name + ".dng"}, out: name + ".png"})
	}
	b.outcomes.results[0].Input, b.outcomes.results[1] = "a.dng", result{Input: "b.dng", Status: exitIO}
	if !b.abandon() || b.outcomes.code != exitInterrupted {
		t.Errorf("status %d", b.outcomes.code)
	}
	if want := "enhance: interrupted: 1 of 6 photos done, 1 failed, 2 unfinished, 2 not begun"; strings.TrimSpace(say.String()) != want {
		t.Errorf("said %q, want %q", say.String(), want)
	}
	var r struct {
		Photos []result
		summary
	}
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Photos) != 6 || r.summary != (summary{Done: 1, Failed: 1, Interrupted: 2, NotBegun: 2}) {
		t.Errorf("report %s", out.String())
	}
	for i, p := range r.Photos {
		if p.Input != b.targets[i].path || p.Interrupted != (i == 2 || i == 3) || p.NotBegun != (i > 3) || (p.Status == exitInterrupted) != (i > 1) {
			t.Errorf("photo %d: %+v", i, p)
		}
	}
	out.Reset()
	if b.abandon(); out.Len() > 0 {
		t.Error("it was said twice")
	}
}
