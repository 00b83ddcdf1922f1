package memplan_test

import (
	"math/rand/v2"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/plantest"
	"enhance/memplan"
	"enhance/model"
)

// TestRandomOverlaps replays random networks in sections at random paces, overlapping wherever
// that may be, on a device with memory of its own.
func TestRandomOverlaps(t *testing.T) {
	overlapping := 0
	for seed := range seeds(300) {
		rng := rand.New(rand.NewPCG(seed, 8))
		req := randomRequest(t, rng)
		req.Unified = false
		p := memplan.OverlapAll(req, func() (int, bool) { return 1 + rng.IntN(12), rng.IntN(2) == 0 })
		if p == nil {
			continue
		}
		if err := plantest.Check(p, req); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, sec := range p.Sections {
			if sec.Overlaps {
				overlapping++
			}
		}
	}
	if overlapping < 100 {
		t.Errorf("only %d sections overlap", overlapping)
	}
}

// TestOverlappingSections replays plans of a network with norms and a tall picture, whose
// sections have strips enough to overlap, and makes sure that the checker knows
// what sections must wait for.
func TestOverlappingSections(t *testing.T) {
	p, err := fuse.Fuse(model.PyNET(model.PyNETOptions{Width: 2, InstanceNorm: true, InstanceNormLevel1: true}), 320, 32)
	if err != nil {
		t.Fatal(err)
	}
	req := request(p)
	least := minimum(t, req)
	overlapping := 0
	for i := range int64(2) {
		req.Budget = memplan.Limit(least + least*i)
		plan, err := memplan.Make(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := plantest.Check(plan, req); err != nil {
			t.Errorf("budget %d: %v", req.Budget.Bytes(), err)
		}
		for k := range plan.Sections {
			if plan.Sections[k].Overlaps {
				overlapping++
			} else {
				plan.Sections[k].Overlaps = k > 0
			}
		}
		if err := plantest.Check(plan, req); err == nil {
			t.Errorf("budget %d: sections that do not wait for what they must are not noticed", req.Budget.Bytes())
		}
	}
	if overlapping < 2 {
		t.Errorf("only %d sections overlap: too few to show anything", overlapping)
	}
}
