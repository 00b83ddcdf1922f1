package exec_test

import (
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/modeltest"
	"enhance/internal/planar"
	"enhance/model"
)

// TestNormsInConvolutions runs a narrow PyNET, whose branches are joined, and
// normalised, two at a time and more, with an algorithm that takes norms and
// statistics along, under all kinds of plans.
func TestNormsInConvolutions(t *testing.T) {
	dev := convtest.Device(t)
	for _, granule := range []int{4, 1} {
		if testing.Short() && granule == 1 {
			continue
		}
		g := model.PyNET(model.PyNETOptions{Width: 4, InstanceNorm: true, InstanceNormLevel1: true})
		p := &picture{TB: t, name: "PyNET", m: modeltest.Model("exec", g), info: dev.Info(),
			in: &tensor{c: 4, h: 32, w: 16, v: model.FormulaTensor("exec", "norms", 4*32*16)}}
		p.info.Type, p.info.Unified = clrt.Accelerator, false
		p.opt = exec.Options{Poison: true, Algo: func(string, conv.Shape) conv.Algo { return naive{granule: granule} }}
		if granule > 1 {
			p.opt.Precision = planar.FP16
		}
		rng := rand.New(rand.NewPCG(1, uint64(granule)))
		p.plans(rng)
		p.spills(rng)
		if !p.norms || !p.spilt {
			t.Errorf("granules of %d: norms in convolutions %v, spilling %v", granule, p.norms, p.spilt)
		}
	}
}
