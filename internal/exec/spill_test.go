package exec_test

import (
	"strings"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/ops"
	"enhance/internal/planar"
	"enhance/model"
)

// TestNoSpills reads NVIDIA's compiler report: registers that no kernel of any
// algorithm may spill to memory.
func TestNoSpills(t *testing.T) {
	dev := convtest.Device(t)
	if !strings.Contains(dev.Info().Platform, "NVIDIA") {
		t.Skip("needs NVIDIA's compiler, whose report names spills")
	}
	ctx := convtest.Uncached(t, dev)
	caps := conv.CapsOf(dev.Info())
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		convtest.NoSpills(t, ctx, "steps that are not convolutions", planar.Source(p, model.PadReflect)+ops.Source(caps, true))
		convtest.NoSpills(t, ctx, "steps of stored samples", planar.Source(p, model.PadReflect)+ops.SamplesSource(false))
		if p == planar.FP16 {
			convtest.NoSpills(t, ctx, "octets of stored samples", planar.Source(p, model.PadReflect)+ops.SamplesSource(true))
			convtest.NoSpills(t, ctx, "steps of octets", planar.Source(p, model.PadReflect)+ops.OctetsSource(caps, true))
		}
		for _, sharpened := range []bool{false, true} {
			convtest.NoSpills(t, ctx, "steps of pictures", planar.Source(p, model.PadReflect)+ops.PictureSource(sharpened))
		}
		for _, a := range exec.Algorithms(caps) {
			if a.Name() == "direct-rows" {
				continue // for CPUs
			}
			for _, k := range []int{3, 5, 7, 9} {
				impl, err := a.New(caps, conv.Shape{K: k, SrcC: []int{64}, OutC: 32, H: 720, W: 992}, p)
				if err != nil {
					continue
				}
				convtest.NoSpills(t, ctx, a.Name(), conv.ProgramSource(impl, p, conv.Shape{}))
			}
		}
	}
}
