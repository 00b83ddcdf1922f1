package memplan_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/modeltest"
	"enhance/internal/plantest"
	"enhance/memplan"
)

// smallRequest is a random request whose plans can all be made.
func smallRequest(t *testing.T, rng *rand.Rand) *memplan.Request {
	t.Helper()
	for {
		g := modeltest.Graph(rng, modeltest.Options{Steps: 1 + rng.IntN(6)})
		h, w := modeltest.Sides(rng, g, 1+rng.IntN(24), 8)
		p, err := fuse.Fuse(g, h, w)
		if err != nil {
			t.Fatal(err)
		}
		r := request(p)
		scratch := randomSteps(r, rng, 4)
		if rng.IntN(2) == 0 {
			r.LessScratch = func(i int) []int64 { return []int64{scratch[i], scratch[i] / 2} }
		}
		r.Weights = func(i int) int64 { return int64(i%3) * 3000 }
		r.Unified, r.HostRest = rng.IntN(2) == 0, rng.IntN(2) == 0
		if memplan.Exhaust(r, mostPlans, func(*memplan.Plan) bool { return false }) && memplan.Exhaust(r, mostPlans, func(*memplan.Plan) bool { return true }) {
			return r
		}
	}
}

// mostPlans is how many plans a small request may have.
const mostPlans = 4000

// TestLimitsExhaustively asks for random largest allocations and budgets: where any plan of the
// space keeps within both, Make finds one that does, which replays; where none does, the
// error names the least that works, and it does.
func TestLimitsExhaustively(t *testing.T) {
	n, found, refused := 20, 0, 0
	if os.Getenv("ENHANCE_LONG") == "1" {
		n = 500
	}
	for seed := range uint64(n) {
		rng := rand.New(rand.NewPCG(seed, 41))
		req := smallRequest(t, rng)
		free, err := memplan.Make(req)
		if err != nil {
			t.Fatal(err)
		}
		smallest := free.Largest // of all plans
		memplan.Exhaust(req, 1<<30, func(p *memplan.Plan) bool {
			smallest = min(smallest, p.Largest)
			return true
		})
		for k := range 4 {
			r := *req
			r.MaxAlloc = smallest
			if k > 0 {
				r.MaxAlloc = free.Largest * int64(5+rng.IntN(100)) / 100
			}
			least := int64(-1) // budget
			memplan.Exhaust(&r, 1<<30, func(p *memplan.Plan) bool {
				if held := p.Held(); p.Largest <= r.MaxAlloc && (least < 0 || held < least) {
					least = held
				}
				return true
			})
			for _, budget := range []int64{0, least, least - 1, least + rng.Int64N(free.Peak)} {
				if r.Budget = memplan.Unlimited(); budget > 0 {
					r.Budget = memplan.Limit(budget)
				}
				p, err := memplan.Make(&r)
				switch {
				case err == nil:
					found++
					if err := plantest.Check(p, &r); err != nil {
						t.Errorf("seed %d, buffers of %d, budget %v (%s): %v", seed, r.MaxAlloc, r.Budget, p.Strategy, err)
					}
				case least >= 0 && r.Budget.Bytes() >= least:
					t.Errorf("seed %d, buffers of %d, budget %v: %v, but there is a plan of %d (unified %v)", seed, r.MaxAlloc, r.Budget, err, least, r.Unified)
				default:
					refused++
					checkRemedy(t, &r, err)
				}
			}
		}
	}
	t.Logf("%d plans found, %d refused", found, refused)
	if found == 0 || refused == 0 {
		t.Error("too few to show anything")
	}
}

// checkRemedy checks that what an error says works does, and one byte less does not.
func checkRemedy(t *testing.T, req *memplan.Request, err error) {
	t.Helper()
	var budget *memplan.BudgetError
	var alloc *memplan.AllocError
	works := func(change func(r *memplan.Request)) error {
		r := *req
		change(&r)
		p, err := memplan.Make(&r)
		if err != nil {
			return err
		}
		return plantest.Check(p, &r)
	}
	switch {
	case errors.As(err, &budget):
		if err := works(func(r *memplan.Request) { r.Budget = memplan.Limit(budget.Minimum) }); err != nil {
			t.Errorf("buffers of %d: the budget of %d that is said to work: %v", req.MaxAlloc, budget.Minimum, err)
		}
		if err := works(func(r *memplan.Request) { r.Budget = memplan.Limit(budget.Minimum - 1) }); !errors.As(err, &budget) {
			t.Errorf("buffers of %d: a budget of one byte less than the smallest: %v", req.MaxAlloc, err)
		}
	case errors.As(err, &alloc):
		if err := works(func(r *memplan.Request) { r.MaxAlloc, r.Budget = alloc.Bytes, memplan.Unlimited() }); err != nil {
			t.Errorf("buffers of %d that are said to work: %v", alloc.Bytes, err)
		}
		if err := works(func(r *memplan.Request) { r.MaxAlloc, r.Budget = alloc.Bytes-1, memplan.Unlimited() }); !errors.As(err, &alloc) {
			t.Errorf("buffers of one byte less than %d: %v", alloc.Bytes, err)
		}
	default:
		t.Errorf("error %v", err)
	}
}

// TestMaxAlloc checks that no arena exceeds the largest allocation and that an
// impossible one is named.
func TestMaxAlloc(t *testing.T) {
	for seed := range seeds(60) {
		rng := rand.New(rand.NewPCG(seed, 5))
		req := randomRequest(t, rng)
		p, err := memplan.Make(req)
		if err != nil {
			t.Fatal(err)
		}
		req.MaxAlloc = p.Largest
		if p, err = memplan.Make(req); err != nil {
			t.Errorf("seed %d: largest allocation %d: %v", seed, req.MaxAlloc, err)
		} else if err := plantest.Check(p, req); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		req.MaxAlloc = 64
		var ae *memplan.AllocError
		if _, err := memplan.Make(req); !errors.As(err, &ae) || ae.Max != 64 || ae.Bytes <= 64 {
			t.Errorf("seed %d: largest allocation of 64 bytes gives %v", seed, err)
		}
		if _, err := memplan.Minimum(req); !errors.As(err, &ae) {
			t.Errorf("seed %d: largest allocation of 64 bytes has a smallest budget (%v)", seed, err)
		}
	}
}
