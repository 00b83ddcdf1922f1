package memplan_test

import (
	"math/rand/v2"
	"os"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/modeltest"
	"enhance/memplan"
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

// minimum is the smallest budget that works.
func minimum(t *testing.T, req *memplan.Request) int64 {
	t.Helper()
	n, err := memplan.Minimum(req)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
