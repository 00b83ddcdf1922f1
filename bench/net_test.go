package bench_test

import (
	"context"
	"math"
	"strings"
	"testing"

	"enhance/bench"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/model"
)

func TestNet(t *testing.T) {
	dev := convtest.Device(t)
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	p := exec.NewProfile("device", nil, 1, nil)
	r, err := bench.Net(context.Background(), dev, m, "pynet-s", 32, 48, exec.Options{}, 1e12, p, 2)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Runs) != 2 || r.PeakBytes != r.PlannedBytes || r.NonFinite != 0 || !(r.GFLOPs > 0) || math.Abs(r.PeakShare-r.GFLOPs/1e3) > 1e-12 || r.Output != (model.Shape{C: 3, H: 64, W: 96}) {
		t.Errorf("report %+v", r)
	}
	if r.Profile = p.Report(nil); r.Profile.Runs != 1 || r.Profile.Launches < r.Launches || r.Profile.FLOPs != r.FLOPs {
		t.Errorf("profile of %d runs: %d launches of %d planned, %d operations of %d", r.Profile.Runs, r.Profile.Launches, r.Launches, r.Profile.FLOPs, r.FLOPs)
	}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "conv_l1_d7") || !strings.Contains(b.String(), "FMA peak") {
		t.Errorf("%v\n%s", err, b.String())
	}
}

func TestMedian(t *testing.T) {
	for want, v := range map[float64][]float64{3: {3}, 2: {1, 3}, 5: {9, 1, 5}, 2.5: {4, 1, 2, 3}} {
		if got := bench.Median(v); got != want {
			t.Errorf("median of %v is %g", v, got)
		}
	}
}
