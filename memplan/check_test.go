package memplan_test

import (
	"math/rand/v2"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/plantest"
	"enhance/memplan"
	"enhance/model"
)

// TestCheckFindsFaults breaks good plans in every way that a planner could and
// expects the checker to notice.
func TestCheckFindsFaults(t *testing.T) {
	p, err := fuse.Fuse(model.PyNETS([4]int{4, 4, 4, 4}), 64, 16)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		rows  int
		fault func(p *memplan.Plan, rng *rand.Rand)
	}{
		{"a ring too low", 2, func(p *memplan.Plan, rng *rand.Rand) {
			r := &p.Rings[rng.IntN(len(p.Rings))]
			per := (r.Bytes - 512) / int64(r.Rows)
			r.Rows--
			r.Bytes -= per
		}},
		{"rings over each other", 4, func(p *memplan.Plan, rng *rand.Rand) {
			i := rng.IntN(len(p.Rings) - 1)
			p.Rings[i].Offset, p.Rings[i].Arena = p.Rings[i+1].Offset, p.Rings[i+1].Arena
			for a := range p.Arenas {
				p.Arenas[a] *= 2
				p.Peak += p.Arenas[a] / 2
			}
		}},
		{"a move missing", 2, func(p *memplan.Plan, rng *rand.Rand) {
			m := p.Sections[0].Moves
			i := rng.IntN(len(m))
			p.Sections[0].Moves = append(append([]memplan.Move(nil), m[:i]...), m[i+1:]...)
		}},
		{"steps swapped", 0, func(p *memplan.Plan, rng *rand.Rand) {
			s := p.Sections[1+rng.IntN(4):]
			s[0].Moves, s[1].Moves = s[1].Moves, s[0].Moves
		}},
		{"a row delivered twice", 2, func(p *memplan.Plan, rng *rand.Rand) {
			m := p.Sections[0].Moves
			p.Sections[0].Moves = append(m, m[len(m)-1])
		}},
		{"peak one byte short", 2, func(p *memplan.Plan, rng *rand.Rand) { p.Peak-- }},
		{"a ring that dies early", 0, func(p *memplan.Plan, rng *rand.Rand) {
			for i := range p.Rings {
				if r := &p.Rings[i]; r.Last > r.First {
					r.Last--
				}
			}
		}},
	} {
		for seed := range uint64(8) {
			req := request(p)
			req.Rows, req.WholePlanes = c.rows, c.rows == 0
			plan, err := memplan.Make(req)
			if err != nil {
				t.Fatal(err)
			}
			if err := plantest.Check(plan, req); err != nil {
				t.Fatal(err)
			}
			c.fault(plan, rand.New(rand.NewPCG(seed, 7)))
			if err := plantest.Check(plan, req); err == nil {
				t.Errorf("%s (seed %d): not noticed", c.name, seed)
			}
		}
	}
}
