package winograd_test

import (
	"os"
	"testing"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/winograd"
)

// TestOclgrind runs each kernel once on small planes for scripts/oclgrind.sh,
// which watches for races and accesses out of bounds. Of the 17 input channels, the cap
// has room for the 8 that the products' kernel takes at a time.
func TestOclgrind(t *testing.T) {
	if os.Getenv("ENHANCE_OCLGRIND") != "1" {
		t.Skip("run by scripts/oclgrind.sh: set ENHANCE_OCLGRIND=1 and use oclgrind's driver")
	}
	d := openDevice(t)
	caps := d.caps()
	caps.CPU, caps.Vector = false, 4
	for _, a := range []winograd.Convolution{
		{Variant: winograd.V4x3, Form: winograd.Strips},
		{Variant: winograd.V2x5, Form: winograd.Strips},
		{Variant: winograd.V4x3, Form: winograd.Tiled, Cap: 80000, Split: winograd.ByChannels},
		{Variant: winograd.V6x5, Form: winograd.Tiled},
		{Variant: winograd.V2x3, Form: winograd.Fused},
		{Variant: winograd.V4x3, Form: winograd.Fused},
	} {
		t.Run(a.Name(), func(t *testing.T) {
			tr, err := a.Variant.Transform()
			if err != nil {
				t.Fatal(err)
			}
			s := conv.Shape{K: tr.R, SrcC: []int{9, 8}, OutC: 9, H: tr.M + 1, W: 37, Act: fuse.LeakyReLU}
			j := newJob(s, planar.FP32, true, 1)
			got, err := j.run(d, a, caps)
			if err != nil {
				t.Fatal(err)
			}
			if e := relativeRMS(got, j.reference()); !(e < 1e-5) {
				t.Errorf("relative RMS error %.3g", e)
			}
		})
	}
}
