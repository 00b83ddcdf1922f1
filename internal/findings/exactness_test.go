package findings

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

var three = []string{"fp32", "tf32", "fp16"}

// same compares numbers of which some are none.
func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }

func TestParseExactness(t *testing.T) {
	for _, psnrs := range [][]float64{{math.Inf(1), 61, 57.13}, {math.Inf(1), math.NaN(), 50}, {math.Inf(1), 0, -3}} {
		text := exactnessNote(three, psnrs)
		if got, err := parseExactness(text, three); err != nil || !slices.EqualFunc(got, psnrs, same) {
			t.Errorf("%v: note %q gives %v, %v", psnrs, text, got, err)
		}
	}
	for _, text := range []string{"fp32 +Inf", "fp32 +Inf; fp16 57.1", "fp32 1; tf32 1; fp16 1; bf16 1"} {
		if got, err := parseExactness(text, three); got != nil || err != nil {
			t.Errorf("%q, of others: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"fp32 +Inf; fp16 57.1; tf32 61", "fp32 +Inf; tf32; fp16 57.1", "fp32 +Inf; tf32 x; fp16 57.1", "; ; "} {
		if got, err := parseExactness(text, three); got != nil || err == nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func FuzzParseExactness(f *testing.F) {
	for _, s := range []string{"fp32 +Inf; tf32 61; fp16 57.1", "", "fp32 1", "fp32 NaN; tf32 x; fp16 1", "; ; ", "fp32 1; fp16 2; tf32 3"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		psnrs, err := parseExactness(s, three)
		if err != nil || psnrs == nil {
			return
		}
		note := exactnessNote(three, psnrs)
		if again, err := parseExactness(note, three); err != nil || len(again) != len(three) || exactnessNote(three, again) != note {
			t.Errorf("%q: note %q gives %v, %v", s, note, again, err)
		}
	})
}

// TestExactness: results are compared once for a device, a network and its precisions; a note that is damaged
// is made again.
func TestExactness(t *testing.T) {
	d := described(t)
	var told, debug []string
	d.Tell = func(text string) { told = append(told, text) }
	d.Debug = func(text string) { debug = append(debug, text) }
	var steps [][2]int
	d.Progress = func(done, total int) { steps = append(steps, [2]int{done, total}) }
	find := func(network string, precisions []string) (psnrs []float64, runs int) {
		t.Helper()
		psnrs, err := d.Exactness(t.Context(), network, precisions, func(i int) ([]float32, error) {
			runs++
			return []float32{0, 1, 0.1 * float32(i)}, nil
		})
		if err != nil || len(psnrs) != len(precisions) || !math.IsInf(psnrs[0], 1) || !(psnrs[1] > 20 && psnrs[1] < 30) {
			t.Fatalf("%s: %v, %v", network, psnrs, err)
		}
		return psnrs, runs
	}
	first, runs := find("a", three)
	if runs != 3 || len(told) != 1 || !strings.Contains(told[0], "once for this device") {
		t.Errorf("%d runs, told %q", runs, told)
	}
	if !slices.Equal(steps, [][2]int{{1, 3}, {2, 3}, {3, 3}}) {
		t.Errorf("steps %v", steps)
	}
	again, runs := find("a", three)
	if runs != 0 || !slices.EqualFunc(first, again, func(a, b float64) bool { return same(a, b) || math.Abs(a-b) < 0.01 }) {
		t.Errorf("again: %d runs, %v, before %v", runs, again, first)
	}
	if _, runs = find("b", three); runs != 3 {
		t.Errorf("another network: %d runs", runs)
	}
	if _, runs = find("a", three[:2]); runs != 2 {
		t.Errorf("fewer precisions: %d runs", runs)
	}
	if len(debug) != 0 {
		t.Errorf("debug: %q", debug)
	}
	d.keepNotes(t.Context(), func(notes map[string]string) { notes["exactness b"] = "fp32; tf32; fp16" })
	if _, runs = find("b", three); runs != 3 || len(debug) == 0 || !strings.Contains(debug[0], "not a precision and decibels") {
		t.Errorf("a damaged note: %d runs, debug %q", runs, debug)
	}
	failed := errors.New("failed")
	if _, err := d.Exactness(t.Context(), "c", three, func(int) ([]float32, error) { return nil, failed }); !errors.Is(err, failed) {
		t.Errorf("a run that fails: %v", err)
	}
	if len(d.table().Notes) != 2 {
		t.Errorf("notes: %q", d.table().Notes)
	}
}
