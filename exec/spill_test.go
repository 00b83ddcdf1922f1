package exec_test

import (
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/exec"
	"enhance/model"
	"enhance/model/modeltest"
	"enhance/planar"
)

// TestSpilling runs networks on a device that counts as one with memory of its
// own, with so little of it that rows must go through the host.
func TestSpilling(t *testing.T) {
	dev := device(t)
	for _, c := range []struct {
		name      string
		graph     *model.Graph
		h, w      int
		precision planar.Precision
	}{
		{"pynet-s", model.PyNETS([4]int{2, 4, 2, 4}), 256, 16, planar.FP32},
		{"pynet-s fp16", model.PyNETS([4]int{2, 4, 2, 4}), 256, 16, planar.FP16},
		{"pynet", model.PyNET(model.PyNETOptions{Width: 2, InstanceNorm: true, InstanceNormLevel1: true}), 64, 32, planar.FP32},
		{"pynet without norm", model.PyNET(model.PyNETOptions{Width: 2}), 64, 32, planar.FP32},
	} {
		t.Run(c.name, func(t *testing.T) {
			info := dev.Info()
			info.Type, info.Unified = clrt.Accelerator, false
			p := &picture{TB: t, name: c.name, m: modeltest.Model("spill", c.graph), info: info,
				in:  &tensor{c: 4, h: c.h, w: c.w, v: model.FormulaTensor("spill", "input", 4*c.h*c.w)},
				opt: exec.Options{Poison: true, Precision: c.precision, Algo: naive}}
			p.plans(rand.New(rand.NewPCG(1, 12)))
			p.spills(rand.New(rand.NewPCG(1, 13)))
			if !p.spilt {
				t.Error("nothing was spilled")
			}
		})
	}
}
