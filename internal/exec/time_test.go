package exec_test

import (
	"math"
	"testing"

	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/model"
)

// TestTime: runs are counted, the peak is the plan's, and the profile is of one run.
func TestTime(t *testing.T) {
	dev := convtest.Device(t)
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	p := exec.NewProfile("device", nil, 1, nil)
	r, err := exec.Time(t.Context(), dev, m, "pynet-s", 32, 48, exec.Options{Profiler: p}, 2)
	if err != nil {
		t.Fatal(err)
	}
	r.Against(1e12)
	if len(r.Runs) != 2 || r.PeakBytes != r.PlannedBytes || r.NonFinite != 0 || !(r.GFLOPs > 0) || math.Abs(r.PeakShare-r.GFLOPs/1e3) > 1e-12 || r.Output != (model.Shape{C: 3, H: 64, W: 96}) {
		t.Errorf("report %+v", r)
	}
	if r.Profile = p.Report(nil); r.Profile.Runs != 1 || r.Profile.Launches < r.Launches || r.Profile.FLOPs != r.FLOPs {
		t.Errorf("profile of %d runs: %d launches of %d planned, %d operations of %d", r.Profile.Runs, r.Profile.Launches, r.Launches, r.Profile.FLOPs, r.FLOPs)
	}
}
