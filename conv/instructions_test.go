package conv_test

import (
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
)

// TestProbeVNNI: without a compiler the answer is no.
func TestProbeVNNI(t *testing.T) {
	dev := convtest.Device(t)
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	if found, err := conv.ProbeVNNI(ctx, nil); found || err != nil {
		t.Errorf("without a compiler: %v, %v", found, err)
	}
	t.Logf("VPDPBUSD: %v", convtest.VNNI(t, dev))
}
