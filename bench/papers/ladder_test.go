package papers_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/internal/convtest"
)

// TestLadder runs all steps of a small network.
func TestLadder(t *testing.T) {
	dev := convtest.Device(t)
	told := 0
	r, err := papers.Ladder{Model: "pynet-s", Scale: 60, Repeat: 1, Done: func(*papers.LadderStep) { told++ }}.Run(context.Background(), dev)
	if err != nil {
		t.Fatal(err)
	}
	names := papers.LadderAlgos(dev.Info().Type == clrt.CPU)
	if len(r.Steps) != len(names) || told != len(names) || r.Rows != 48 || r.Cols != 67 {
		t.Fatalf("%d steps, told of %d, on %dx%d", len(r.Steps), told, r.Rows, r.Cols)
	}
	for _, s := range r.Steps {
		if s.Refused != "" || s.Net == nil || !(s.Net.Seconds > 0) || s.Net.NonFinite != 0 || s.Net.PeakBytes != s.Net.PlannedBytes {
			t.Fatalf("%s: %+v", s.Name, s)
		}
		for _, a := range s.Net.Algos {
			if want := names[s.Name]; len(want) > 0 && !slices.Contains(want, a.Algo) {
				t.Errorf("%s: layers by %s, want %q", s.Name, a.Algo, want)
			}
		}
	}
	n := len(r.Steps)
	if half, least := r.Steps[n-2].Net, r.Steps[n-1].Net; half.Precision != "fp16" || least.PeakBytes > half.PeakBytes {
		t.Errorf("%s; %d bytes within the smallest budget, %d without one", half.Precision, least.PeakBytes, half.PeakBytes)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mosaic of 48x67 (12 MP with sides 1/60)", "implicit GEMM", "than the first", "5x5 by F(4,5)"} {
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

// TestLadderAlgos: the steps of a GPU are the paper's.
func TestLadderAlgos(t *testing.T) {
	want := map[string]string{
		"naive":         "direct-naive direct-naive direct-naive",
		"implicit GEMM": "implicit-gemm implicit-gemm implicit-gemm",
		"Winograd":      "winograd-f4x3-tiled winograd-f4x5-tiled implicit-gemm",
		"split":         "winograd-f4x3-tiled winograd-f4x5-tiled implicit-gemm",
		"fused":         "winograd-f4x3-fused winograd-f4x5-tiled implicit-gemm",
		"automatic":     "", "fp16": "", "least memory": "",
	}
	got := papers.LadderAlgos(false)
	for name, algos := range want {
		if have, ok := got[name]; !ok || strings.Join(have, " ") != algos {
			t.Errorf("%s: %q, want %q", name, have, algos)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%d steps, want %d", len(got), len(want))
	}
}
