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

// TestCountNonFinite: samples that are not finite are counted wherever they stand, finite ones never.
func TestCountNonFinite(t *testing.T) {
	for n := range 19 {
		line := make([]float32, n)
		for i := range line {
			line[i] = []float32{0, -1, math.MaxFloat32, -math.MaxFloat32, math.SmallestNonzeroFloat32}[i%5]
		}
		if bad := exec.CountNonFinite([][]float32{line, line}); bad != 0 {
			t.Errorf("%d samples: %d of them not finite", n, bad)
		}
		for i := range line {
			for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
				was := line[i]
				line[i] = v
				if bad := exec.CountNonFinite([][]float32{line}); bad != 1 {
					t.Errorf("%d samples, %g at %d: %d not finite", n, v, i, bad)
				}
				line[i] = was
			}
		}
	}
}
