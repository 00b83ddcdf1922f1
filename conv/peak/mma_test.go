package peak_test

import (
	"testing"

	"enhance/clrt"
	"enhance/conv/convtest"
	"enhance/conv/mma"
	"enhance/conv/peak"
)

// TestMMA: matrix units do more than the other units, binary16 more than tf32.
func TestMMA(t *testing.T) {
	d := convtest.Device(t)
	ctx, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	if !mma.Probe(ctx) {
		t.Skipf("SKIPPED, nothing was tested: %s has no matrix units that mma.Probe finds", d)
	}
	fma, err := peak.FMA(ctx)
	if err != nil {
		t.Fatal(err)
	}
	half, err := peak.MMA(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	tf32, err := peak.MMA(ctx, true)
	if err != nil {
		t.Fatal(err)
	}
	if !(half > tf32 && tf32 > fma) {
		t.Errorf("fp16 %.0f, tf32 %.0f, float32 %.0f GFLOP/s: want them to fall", half, tf32, fma)
	}
	if live := ctx.Live(); live != 0 {
		t.Errorf("%d bytes stay allocated", live)
	}
	t.Logf("%s: fp16 %.0f, tf32 %.0f, float32 %.0f GFLOP/s", d, half, tf32, fma)
}
