package memplan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/plantest"
	"enhance/memplan"
	"enhance/model"
)

// TestRandomPlans replays plans of random networks: whole planes, every forced
// strip height up to the picture's, any budget between the least and the most.
func TestRandomPlans(t *testing.T) {
	overlapping, streamed, grouped := 0, 0, 0
	for seed := range seeds(300) {
		rng := rand.New(rand.NewPCG(seed, 3))
		req := randomRequest(t, rng)
		try := func(what string, change func(r *memplan.Request)) *memplan.Plan {
			r := *req
			change(&r)
			p, err := memplan.Make(&r)
			if err != nil {
				t.Errorf("seed %d, %s: %v", seed, what, err)
				return nil
			}
			if err := plantest.Check(p, &r); err != nil {
				t.Errorf("seed %d, %s (%s): %v", seed, what, p.Strategy, err)
			}
			for _, sec := range p.Sections {
				if sec.Overlaps {
					overlapping++
				}
			}
			if p.Loaded > 0 {
				streamed++
			}
			if slices.Max(append(p.Groups, 0)) > 0 {
				grouped++
			}
			return p
		}
		free := try("no budget", func(*memplan.Request) {})
		try("whole planes", func(r *memplan.Request) { r.WholePlanes = true })
		h := req.Program.Tensors[req.Program.Output].H
		for range 4 {
			rows := 1 + rng.IntN(h+3)
			try(fmt.Sprintf("%d rows", rows), func(r *memplan.Request) { r.Rows = rows })
		}
		least := minimum(t, req)
		if least == 0 || free == nil {
			continue
		}
		for range 4 {
			budget := least + rng.Int64N(max(free.Peak-least, 0)+1)
			try(fmt.Sprintf("budget %d", budget), func(r *memplan.Request) { r.Budget = memplan.Limit(budget) })
		}
	}
	if overlapping == 0 || streamed == 0 || grouped == 0 {
		t.Errorf("%d sections overlap, %d plans load parameters and %d in groups: too few to show anything", overlapping, streamed, grouped)
	}
}

// TestDeterminism makes every plan twice.
func TestDeterminism(t *testing.T) {
	for seed := range seeds(40) {
		rng := rand.New(rand.NewPCG(seed, 6))
		req := randomRequest(t, rng)
		req.Unified = false
		req.Budget = memplan.Limit(minimum(t, req) * int64(10+rng.IntN(10)) / 10)
		a, err := memplan.Make(req)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if b, err := memplan.Make(req); err != nil || !reflect.DeepEqual(a, b) {
				t.Errorf("seed %d: the same request gives another plan (%v)", seed, err)
			}
		}
	}
}

// TestSpilling checks that a discrete device gets by with less memory than one
// that shares the host's, on the network and size where it matters.
func TestSpilling(t *testing.T) {
	p, err := fuse.Fuse(model.PyNETS([4]int{8, 8, 8, 8}), 256, 32)
	if err != nil {
		t.Fatal(err)
	}
	req := request(p)
	req.Rows = 2
	least := minimum(t, req)
	req.Unified = true
	shared := minimum(t, req)
	if least >= shared {
		t.Errorf("minimum %d with spilling, %d without", least, shared)
	}
	// Where the host has memory besides what the device lends, a plan that fits spills
	// nothing, and smaller budgets work.
	req.HostRest = true
	if n := minimum(t, req); n >= shared {
		t.Errorf("minimum %d with spilling to the rest of the host's memory, %d without", n, shared)
	}
	for _, budget := range []int64{minimum(t, req), shared - 1, shared, 2 * shared} {
		req.Budget = memplan.Limit(budget)
		plan, err := memplan.Make(req)
		if err != nil {
			t.Fatal(err)
		}
		if err := plantest.Check(plan, req); err != nil {
			t.Error(err)
		}
		if spilt := plan.HostBytes > 0; spilt != (budget < shared) {
			t.Errorf("a budget of %d, where %d work without spilling: %d bytes are spilled", budget, shared, plan.HostBytes)
		}
	}
	req.Unified, req.HostRest, req.Budget = false, false, memplan.Limit(least)
	plan, err := memplan.Make(req)
	if err != nil {
		t.Fatal(err)
	}
	if err := plantest.Check(plan, req); err != nil {
		t.Error(err)
	}
	if plan.HostBytes == 0 {
		t.Error("nothing was spilled")
	}
}

// BenchmarkMake plans the published PyNET for a 12-megapixel photo: without a
// budget, and with the smallest, which tries the most.
func BenchmarkMake(b *testing.B) {
	p, err := fuse.Fuse(model.PyNET(model.PyNETOptions{InstanceNorm: true, InstanceNormLevel1: true}), 1440, 1984)
	if err != nil {
		b.Fatal(err)
	}
	pixels, err := fuse.Fuse(model.PyNETS([4]int{24, 40, 64, 96}), 1440, 1984)
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct {
		name    string
		p       *fuse.Program
		budget  memplan.Budget
		unified bool
	}{{"pynet/free", p, memplan.Unlimited(), false}, {"pynet/unified-smallest", p, memplan.Limit(0), true}, {"pynet/smallest", p, memplan.Limit(0), false},
		{"pynet/1GiB", p, memplan.Limit(1 << 30), false}, {"pynet-s/free", pixels, memplan.Unlimited(), false}, {"pynet-s/smallest", pixels, memplan.Limit(0), false}} {
		b.Run(c.name, func(b *testing.B) {
			req := request(c.p)
			req.Budget, req.Unified = c.budget, c.unified
			var least int64
			for b.Loop() {
				least = peak(b, req)
			}
			b.ReportMetric(float64(least)/(1<<20), "MiB-peak")
		})
	}
}

// peak is the plan's, or the smallest that the error names.
func peak(b *testing.B, req *memplan.Request) int64 {
	plan, err := memplan.Make(req)
	if err == nil {
		return plan.Peak
	}
	var be *memplan.BudgetError
	if !errors.As(err, &be) {
		b.Fatal(err)
	}
	return be.Minimum
}
