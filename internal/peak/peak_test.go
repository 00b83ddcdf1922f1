package peak_test

import (
	"testing"

	"enhance/clrt"
	"enhance/internal/convtest"
	"enhance/internal/peak"
)

// TestPeaks: no clock lies outside what a core or a GPU of today can do, nothing
// stays allocated.
func TestPeaks(t *testing.T) {
	d := convtest.Device(t)
	ctx, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	info := d.Info()
	g, err := peak.FMA(ctx)
	if err != nil {
		t.Fatal(err)
	}
	// Two units of 16 lanes at 6 GHz, or 256 lanes at 3 GHz of a compute unit; a
	// hundredth of one lane at 1 GHz from below, for machines that are busy.
	units := float64(max(info.ComputeUnits, 1))
	if most := 2 * units * 256 * 3; g < 0.02*units || g > most {
		t.Errorf("%.3g GFLOP/s on %g units, at most %.3g are possible", g, units, most)
	}
	c, err := peak.Copy(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if c < 0.05 || c > 20000 {
		t.Errorf("%.3g GB/s", c)
	}
	if live := ctx.Live(); live != 0 {
		t.Errorf("%d bytes stay allocated", live)
	}
	t.Logf("%s: %.1f GFLOP/s, copy %.2f GB/s", d, g, c)
}

func BenchmarkFMA(b *testing.B) {
	d := convtest.Device(b)
	ctx, err := clrt.NewContext(d)
	if err != nil {
		b.Fatal(err)
	}
	defer ctx.Close()
	best := 0.0
	for b.Loop() {
		g, err := peak.FMA(ctx)
		if err != nil {
			b.Fatal(err)
		}
		best = max(best, g)
	}
	b.ReportMetric(best, "GFLOP/s")
}
