package memplan_test

import (
	"math/rand/v2"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/plantest"
	"enhance/memplan"
	"enhance/model"
)

// TestPicturePlans replays plans of programs from stored samples to a picture's codes: any
// part of the result, whole planes, strips of any height, any budget from the least on, on both
// kinds of device.
func TestPicturePlans(t *testing.T) {
	for seed := range seeds(40) {
		rng := rand.New(rand.NewPCG(seed, 19))
		h, w := 8*(2+rng.IntN(9)), 8*(2+rng.IntN(3))
		p, err := fuse.Fuse(model.PyNETS([4]int{4, 4, 4, 4}), h, w)
		if err != nil {
			t.Fatal(err)
		}
		pic := fuse.Picture{X0: rng.IntN(w), Y0: rng.IntN(h), Sharpen: rng.IntN(2) == 0, Bytes: rng.IntN(2) == 0}
		pic.X1, pic.Y1 = pic.X0+1+rng.IntN(2*w-pic.X0), pic.Y0+1+rng.IntN(2*h-pic.Y0)
		c := model.Convention{Output: model.OutputCameraGamma}
		if !p.TakeSamples(&c) || !p.MakePicture(&c, pic) {
			t.Fatal("the program takes no samples or makes no picture")
		}
		req := request(p)
		req.Unified = rng.IntN(2) == 0
		try := func(what string, change func(r *memplan.Request)) int64 {
			r := *req
			change(&r)
			plan, err := memplan.Make(&r)
			if err == nil {
				err = plantest.Check(plan, &r)
			}
			if err != nil {
				t.Fatalf("seed %d, %dx%d, %+v, %s: %v", seed, h, w, pic, what, err)
			}
			return plan.Peak
		}
		most := try("no budget", func(*memplan.Request) {})
		try("whole planes", func(r *memplan.Request) { r.WholePlanes = true })
		for range 3 {
			try("strips", func(r *memplan.Request) { r.Rows = 1 + rng.IntN(pic.Y1-pic.Y0+3) })
		}
		least, err := memplan.Minimum(req)
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			try("budget", func(r *memplan.Request) { r.Budget = memplan.Limit(least + rng.Int64N(max(most-least, 0)+1)) })
		}
	}
}
