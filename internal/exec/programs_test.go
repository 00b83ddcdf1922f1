package exec_test

import (
	"slices"
	"testing"

	"enhance/conv"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/profile"
	"enhance/memplan"
	"enhance/model"
)

// TestFewPrograms counts what a first run has an H200's compiler compile, about a second each: few programs,
// and the same ones under every budget.
func TestFewPrograms(t *testing.T) {
	p, err := profile.Load("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		model string
		most  int
		least int64 // of the budgets, MiB
	}{{"fast", 12, 64}, {"best", 10, 64}, {"max", 12, 256}, {"any", 9, 256}, {"pynet-random:gold", 20, 64}} {
		t.Run(c.model, func(t *testing.T) {
			m, err := model.Load(c.model)
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range []int{1440, 2000} {
				var first []string
				for _, mem := range []int64{0, c.least << 20, 1 << 30} {
					h, w := m.Convention.PaddedSides(side, side*4/3)
					opt := exec.Options{Precision: planar.FP16, Units: conv.Units{Matrix: true, Warpgroup: true, Octets: true}, Samples: true}
					opt.Picture = &fuse.Picture{X1: 2 * w, Y1: 2 * h, Sharpen: true, Bytes: true}
					if mem > 0 {
						opt.Budget = memplan.Limit(mem)
					}
					job, err := exec.Prepare(m, h, w, p.Info(), opt)
					if err != nil {
						t.Fatal(err)
					}
					texts := job.Texts()
					slices.Sort(texts)
					if first == nil {
						first = texts
						t.Logf("%d programs", len(texts))
					}
					if len(texts) > c.most || !slices.Equal(texts, first) {
						t.Errorf("%dx%d within %d bytes: %d programs, want the same %d, and no more than %d", w, h, mem, len(texts), len(first), c.most)
					}
				}
			}
		})
	}
}
