package kernelcheck

import (
	"os"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/octets"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
)

// TestSamples: the device's kernels that take stored samples pass their checks, also where they make octets.
func TestSamples(t *testing.T) {
	d := convtest.Device(t)
	cl, err := clrt.NewContext(d)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		if err := Samples(t.Context(), cl, d.Info(), p); err != nil {
			t.Errorf("%v: %v", p, err)
		}
	}
	text, err := os.ReadFile("../../conv/octets/emulated_test.cl")
	if err != nil {
		t.Fatal(err)
	}
	units := convtest.Emulated(octets.Algo(), octets.Instructions(), string(text))
	opt := exec.Options{Precision: planar.FP16, Units: conv.Units{Octets: true, Warpgroup: true}, Algo: func(string, conv.Shape) conv.Algo { return units }}
	if err := SamplesUnder(t.Context(), cl, d.Info(), opt); err != nil {
		t.Errorf("octets: %v", err)
	}
	if n := cl.Live(); n != 0 {
		t.Errorf("%d bytes are left", n)
	}
}
