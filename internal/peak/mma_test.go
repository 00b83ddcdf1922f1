package peak_test

import (
	"testing"

	"enhance/clrt"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
	"enhance/internal/convtest"
	"enhance/internal/peak"
)

// TestMMA: matrix units do more than the other units, binary16 more than tf32.
func TestMMA(t *testing.T) {
	d := convtest.Device(t)
	ctx, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	if !convtest.Has(t, mma.Probe, ctx) {
		t.Skipf("SKIPPED, nothing was tested: %s has no matrix units that mma.Probe finds", d)
	}
	fma, err := peak.FMA(ctx)
	if err != nil {
		t.Fatal(err)
	}
	codes, err := peak.MMA(ctx, peak.Codes)
	if err != nil {
		t.Fatal(err)
	}
	half, err := peak.MMA(ctx, peak.FP16)
	if err != nil {
		t.Fatal(err)
	}
	tf32, err := peak.MMA(ctx, peak.TF32)
	if err != nil {
		t.Fatal(err)
	}
	if !(codes > half && half > tf32 && tf32 > fma) {
		t.Errorf("int8 %.0f, fp16 %.0f, tf32 %.0f, float32 %.0f GFLOP/s: want them to fall", codes, half, tf32, fma)
	}
	t.Logf("%s: int8 %.0f, fp16 %.0f, tf32 %.0f, float32 %.0f GFLOP/s", d, codes, half, tf32, fma)
	if convtest.Has(t, wgmma.Probe, ctx) {
		four, err := peak.Warpgroup(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if four <= half {
			t.Errorf("four warps together do %.0f GFLOP/s, each by itself %.0f", four, half)
		}
		t.Logf("wgmma: %.0f GFLOP/s", four)
	}
	if live := ctx.Live(); live != 0 {
		t.Errorf("%d bytes stay allocated", live)
	}
}

// TestUnits: every algorithm is held against the units that it uses, and against none if those were not measured.
func TestUnits(t *testing.T) {
	all := peak.Units{FMA: 1, MMA: 8, TF32: 4.5, Codes: 16, Warpgroup: 12}
	for _, c := range []struct {
		algo  string
		units peak.Units
		rate  float64
		unit  string
	}{
		{"mma-m2x2-r2x2", all, 8, "MMA fp16"},
		{"mma-codes", all, 16, "MMA int8"},
		{"mma-tf32", all, 4.5, "MMA tf32"},
		{"mma-3xtf32", all, 1.5, "MMA tf32 /3"},
		{"wgmma", all, 12, "wgmma fp16"},
		{"direct-tile", all, 1, "FMA"},
		{"wgmma", peak.Units{FMA: 1}, 0, "wgmma fp16"},
	} {
		if rate, unit := c.units.Of(c.algo); rate != c.rate || unit != c.unit {
			t.Errorf("%s: %v %s, want %v %s", c.algo, rate, unit, c.rate, c.unit)
		}
	}
}
