package memplan_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/plantest"
	"enhance/memplan"
)

// TestFewStrips replays plans of random networks in few strips, with lower ones at the ends, and of whole
// planes between such strips.
func TestFewStrips(t *testing.T) {
	strips, transfers := 0, 0
	for seed := range seeds(300) {
		rng := rand.New(rand.NewPCG(seed, 11))
		req := randomRequest(t, rng)
		req.Unified, req.HostRest = false, false
		h, n := req.Program.Tensors[req.Program.Output].H, len(req.Program.Steps)
		rows := 1 + rng.IntN(h+3)
		ends := 1 + rng.IntN(rows)
		first := rng.IntN(n + 1)
		last := first + rng.IntN(n+1-first)
		plans := map[string]*memplan.Plan{"one section": memplan.Stream(req, rows, ends)}
		if !slices.ContainsFunc(req.Program.Steps, func(s fuse.Step) bool { return s.Kind.Waits() }) {
			plans["sections"] = memplan.StripsBetween(req, first, last, rows, ends)
		}
		for name, p := range plans {
			if err := plantest.Check(p, req); err != nil {
				t.Errorf("seed %d, %d rows, %d at the ends, %s, steps %d and %d of %d: %v", seed, rows, ends, name, first, last, n, err)
			}
			for _, s := range p.Sections {
				if s.Strips > 2 {
					strips++
				}
			}
			transfers += int(p.Cost.DownloadBytes)
		}
	}
	if strips == 0 || transfers == 0 {
		t.Errorf("%d sections have strips, %d bytes leave: too few to show anything", strips, transfers)
	}
}
