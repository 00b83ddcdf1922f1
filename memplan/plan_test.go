package memplan_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/modeltest"
	"enhance/internal/plantest"
	"enhance/memplan"
	"enhance/model"
)

// request is a request for program p with a layout like the real one.
func request(p *fuse.Program) *memplan.Request {
	return &memplan.Request{
		Program: p,
		RowBytes: func(t int) int64 {
			q := p.Tensors[t]
			if q.Storage != fuse.Activation {
				return int64(q.C) * 8
			}
			return int64(q.C) * int64((q.W+15)/16*16+32) * 4
		},
		RimBytes: func(t int) int64 {
			if p.Tensors[t].Storage != fuse.Activation {
				return 0
			}
			return 512
		},
		Granule: func(int) int { return 1 },
		Scratch: func(int, int) int64 { return 0 },
		Fixed:   []memplan.Fixed{{Purpose: "tables", Bytes: 1000}},
		Weights: func(i int) int64 { // as large as a wide network's, so that loading them is worth while
			if p.Steps[i].Kind != fuse.Conv {
				return 0
			}
			return int64(40+i%3) << 10 * int64(i%3)
		},
		Model: memplan.CostModel{LaunchSeconds: 1e-5, FLOPRate: 1e11, LinkRate: 1e10, Saturation: 4096, CacheBytes: 1 << 20, MissPenalty: 1.5},
	}
}

// randomSteps gives some convolutions of a request granules of up to most rows, and scratch
// that grows with the rows of a launch; it returns the scratch of one granule of each step.
func randomSteps(r *memplan.Request, rng *rand.Rand, most int) []int64 {
	steps := r.Program.Steps
	granules, scratch := make([]int, len(steps)), make([]int64, len(steps))
	for i := range steps {
		granules[i] = 1
		if steps[i].Kind == fuse.Conv && rng.IntN(3) == 0 {
			granules[i], scratch[i] = 1+rng.IntN(most), int64(rng.IntN(3))*1000
		}
	}
	r.Granule = func(i int) int { return granules[i] }
	r.Scratch = func(i, rows int) int64 { return scratch[i] * int64(rows+granules[i]-1) / int64(granules[i]) }
	return scratch
}

// randomRequest makes a random network, size and device.
func randomRequest(t *testing.T, rng *rand.Rand) *memplan.Request {
	t.Helper()
	g := modeltest.Graph(rng, modeltest.Options{Steps: 1 + rng.IntN(10)})
	h, w := modeltest.Sides(rng, g, 1+rng.IntN(80), 8)
	p, err := fuse.Fuse(g, h, w)
	if err != nil {
		t.Fatal(err)
	}
	r := request(p)
	scratch := randomSteps(r, rng, 6)
	r.Unified = rng.IntN(2) == 0
	r.Align = []int64{0, 64, 512}[rng.IntN(3)]
	r.HostRest = rng.IntN(2) == 0
	if weights := r.Weights; rng.IntN(2) == 0 {
		r.Weights = func(i int) int64 { return 6 * weights(i) }
		r.GroupWeights = func(i int) []int64 { return []int64{3*weights(i) + 100, 2 * weights(i)}[:i%3] }
	}
	if less := rng.IntN(4); less > 0 {
		r.LessScratch = func(i int) (sizes []int64) {
			for k := range less {
				sizes = append(sizes, scratch[i]>>(k+1))
			}
			return sizes
		}
	}
	return r
}

func seeds(short int) uint64 {
	if os.Getenv("ENHANCE_LONG") == "1" {
		return uint64(10 * short)
	}
	return uint64(short)
}

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

// minimum is the smallest budget that works.
func minimum(t *testing.T, req *memplan.Request) int64 {
	t.Helper()
	n, err := memplan.Minimum(req)
	if err != nil {
		t.Fatal(err)
	}
	return n
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
