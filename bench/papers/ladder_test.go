package papers_test

import (
	"context"
	"strings"
	"testing"

	"enhance/bench/papers"
)

// TestLadder runs all steps of a small network.
func TestLadder(t *testing.T) {
	dev := device(t)
	told := 0
	r, err := papers.Ladder{Model: "pynet-s", Scale: 60, Repeat: 1, Done: func(*papers.LadderStep) { told++ }}.Run(context.Background(), dev)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Steps) != 8 || told != 8 || r.Rows != 48 || r.Cols != 67 {
		t.Fatalf("%d steps, told of %d, on %dx%d", len(r.Steps), told, r.Rows, r.Cols)
	}
	algos := []string{"direct-naive", "implicit-gemm", "winograd-f4x3-tiled", "winograd-f4x3-tiled", "winograd-f4x3-fused"}
	for i, s := range r.Steps {
		if s.Refused != "" || s.Net == nil || !(s.Net.Seconds > 0) || s.Net.NonFinite != 0 || s.Net.PeakBytes != s.Net.PlannedBytes {
			t.Errorf("%s: %+v", s.Name, s)
			continue
		}
		if i >= len(algos) {
			continue
		}
		found := false
		for _, a := range s.Net.Algos {
			found = found || a.Algo == algos[i]
		}
		if !found {
			t.Errorf("%s: no layer by %s: %+v", s.Name, algos[i], s.Net.Algos)
		}
	}
	if half, least := r.Steps[6].Net, r.Steps[7].Net; half.Precision != "fp16" || least.PeakBytes > half.PeakBytes {
		t.Errorf("%s; %d bytes within the smallest budget, %d without one", half.Precision, least.PeakBytes, half.PeakBytes)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mosaic of 48x67 (12 MP with sides 1/60)", "implicit GEMM", "than the first", "scratch in pieces of 32 MiB"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	r.Steps[0].Net, r.Steps[0].Refused = nil, "no memory"
	b.Reset()
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "no memory") {
		t.Errorf("%v\n%s", err, b.String())
	}
}
