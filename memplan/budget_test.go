package memplan_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"enhance/internal/plantest"
	"enhance/memplan"
)

// TestBudgetValue: what each of the sharers may hold, where the limit comes from, and that
// no limit stays none.
func TestBudgetValue(t *testing.T) {
	asked := memplan.Limit(1001)
	for name, c := range map[string]struct {
		b                        memplan.Budget
		bytes                    int64
		why                      string
		decided, limited, wished bool
	}{
		"zero":             {memplan.Budget{}, math.MaxInt64, "", false, false, false},
		"unlimited":        {memplan.Unlimited(), math.MaxInt64, "no limit asked for", true, false, false},
		"shared unlimited": {memplan.Unlimited().SharedBy(3), math.MaxInt64, "no limit asked for", true, false, false},
		"asked":            {asked, 1001, "as asked for", true, true, true},
		"nothing":          {memplan.Limit(-1), 0, "as asked for", true, true, true},
		"half":             {asked.SharedBy(2), 500, "as asked for, divided by 2", true, true, true},
		"whole":            {asked.SharedBy(2).Whole(), 1001, "as asked for", true, true, true},
		"default":          {asked.Because("80 %").SharedBy(2), 500, "80 %, divided by 2", true, true, false},
		"lowered":          {asked.SharedBy(2).Lowered(7, "found"), 7, "found, divided by 2", true, true, false},
	} {
		if c.b.Bytes() != c.bytes || c.b.Why() != c.why || c.b.Decided() != c.decided || c.b.Limited() != c.limited || c.b.AskedFor() != c.wished {
			t.Errorf("%s: %d bytes, %q, decided %v, limited %v, asked for %v", name, c.b.Bytes(), c.b.Why(), c.b.Decided(), c.b.Limited(), c.b.AskedFor())
		}
	}
	if n := asked.SharedBy(3).ForAll(5); n != 15 {
		t.Errorf("three times 5 bytes are %d", n)
	}
}

// TestBudget checks that the minimum an error names works and one byte less
// does not, with the same minimum named again, whatever budget was asked for.
func TestBudget(t *testing.T) {
	for seed := range seeds(150) {
		rng := rand.New(rand.NewPCG(seed, 4))
		req := randomRequest(t, rng)
		switch rng.IntN(4) {
		case 0:
			req.Rows = 1 + rng.IntN(20)
		case 1:
			req.WholePlanes = true
		}
		least := minimum(t, req)
		req.Budget = memplan.Limit(least)
		p, err := memplan.Make(req)
		if err != nil {
			t.Errorf("seed %d: the named minimum of %d does not work: %v", seed, least, err)
			continue
		}
		if err := plantest.Check(p, req); err != nil {
			t.Errorf("seed %d: %v", seed, err)
		}
		for _, b := range []int64{least - 1, 1 + rng.Int64N(least-1)} {
			req.Budget = memplan.Limit(b)
			var be *memplan.BudgetError
			if _, err := memplan.Make(req); !errors.As(err, &be) {
				t.Errorf("seed %d: budget %d below the minimum of %d gives %v", seed, b, least, err)
			} else if be.Minimum != least || be.Budget != req.Budget {
				t.Errorf("seed %d: budget %d: error names %+v, want the minimum %d", seed, b, *be, least)
			}
		}
	}
}
