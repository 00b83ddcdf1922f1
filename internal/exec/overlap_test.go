package exec_test

import (
	"slices"
	"testing"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
)

// TestOverlappingSections runs a network with norms on a device that is taken to have memory
// of its own, within budgets under which sections overlap and parameters loaded for
// each: the bytes are those of whole planes, again and again.
func TestOverlappingSections(t *testing.T) {
	m, err := model.Load("pynet-random:gold,width=8")
	if err != nil {
		t.Fatal(err)
	}
	const h, w = 384, 32
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("gold", "input", 4*h*w)}
	opt := exec.Options{Precision: planar.FP16, Discrete: true, Poison: true}
	want := run(t, m, in, opt)
	least, overlapping := minimum(t, m, h, w, opt), 0
	for _, budget := range []int64{least, least * 3 / 2, least * 2} {
		opt.Budget = memplan.Limit(budget)
		job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), opt)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range job.Plan.Sections {
			if s.Overlaps {
				overlapping++
			}
		}
		if job.Plan.Loaded == 0 || job.Plan.HostBytes == 0 {
			t.Errorf("budget %d: %d bytes of parameters loaded, %d bytes spilled: the test shows nothing", budget, job.Plan.Loaded, job.Plan.HostBytes)
		}
		for range 2 {
			if got := run(t, m, in, opt); !slices.Equal(got.v, want.v) {
				t.Fatalf("budget %d: the result differs from that of whole planes", budget)
			}
		}
	}
	if overlapping == 0 {
		t.Error("no sections overlap: the test shows nothing")
	}
}
