package exec_test

import (
	"slices"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/internal/profile"
	"enhance/memplan"
	"enhance/model"
)

// TestFewStrips: on a device with memory of its own and room, plans have strips where the link takes long beside
// the kernels: at both ends of whole planes, or everywhere. The bytes are those of whole planes, again and again.
func TestFewStrips(t *testing.T) {
	m := &model.Model{Graph: model.PyNETS([4]int{2, 4, 2, 2})}
	m.Params = model.FormulaParams("strips", m.Graph)
	const h, w = 640, 48
	in := &tensor{c: 4, h: h, w: w, v: model.FormulaTensor("strips", "input", 4*h*w)}
	opt := exec.Options{Discrete: true, WholePlanes: true, Poison: true}
	want := run(t, m, in, opt)
	opt.WholePlanes = false
	seen := map[string]bool{}
	for _, link := range []float64{3e7, 1e8, 3e8, 1e9} {
		opt.Rates = &exec.Rates{Launch: 1e-6, Hop: 1e-6, Up: link, Down: link, Both: 2 * link, Memory: 1e10}
		job, err := exec.Prepare(m, h, w, convtest.Device(t).Info(), opt)
		if err != nil {
			t.Fatal(err)
		}
		first, last := job.Plan.Sections[0], job.Plan.Sections[len(job.Plan.Sections)-1]
		t.Logf("link of %g bytes/s: %s, sections %d, strips %d and %d", link, job.Plan.Strategy, len(job.Plan.Sections), first.Strips, last.Strips)
		if first.Strips+last.Strips > 2 {
			seen[job.Plan.Strategy] = true
		}
		for range 2 {
			if got := runJob(t, job, in); !slices.Equal(got.v, want.v) {
				t.Fatalf("link of %g bytes/s, %s: the result differs from that of whole planes", link, job.Plan.Strategy)
			}
		}
	}
	if !seen[memplan.StripsAtEnds] || !seen["row streaming"] {
		t.Errorf("plans: %v: too few to show anything", seen)
	}
}

// TestFewStripsOnH200: the networks that come with the program have strips on an H200 with room, by which a photo of
// 12 MP takes less time than in whole planes or low strips, whatever of its memory is left.
func TestFewStripsOnH200(t *testing.T) {
	p, err := profile.Load("h200")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"fast", "best", "any", "max"} {
		m, err := model.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		h, w := m.Convention.PaddedSides(1500, 2000)
		opt := exec.Options{Precision: planar.FP16, Units: conv.Units{Matrix: true, Warpgroup: true, Octets: true}}
		seconds := func(change func(*exec.Options)) (float64, *memplan.Plan) {
			o := opt
			change(&o)
			job, err := exec.Prepare(m, h, w, p.Info(), o)
			if err != nil {
				t.Fatal(err)
			}
			return job.Plan.Cost.Seconds, job.Plan
		}
		best, plan := seconds(func(*exec.Options) {})
		whole, held := seconds(func(o *exec.Options) { o.WholePlanes = true })
		low, _ := seconds(func(o *exec.Options) { o.Rows = 512 })
		t.Logf("%s: %s, %.2f ms, %d MiB; whole planes %.2f ms, %d MiB; 512 rows %.2f ms", name, plan.Strategy, 1e3*best, plan.Peak>>20, 1e3*whole, held.Peak>>20, 1e3*low)
		if best > 0.96*whole || best > 0.96*low {
			t.Errorf("%s: %s takes %.2f ms, whole planes %.2f, strips of 512 rows %.2f", name, plan.Strategy, 1e3*best, 1e3*whole, 1e3*low)
		}
		for _, bytes := range []int64{held.Peak, held.Peak * 9 / 8, plan.Peak} {
			if s, q := seconds(func(o *exec.Options) { o.Budget = memplan.Limit(bytes) }); s > 1.03*whole || q.Peak > bytes {
				t.Errorf("%s within %d bytes: %s takes %.2f ms and %d bytes, whole planes %.2f ms", name, bytes, q.Strategy, 1e3*s, q.Peak, 1e3*whole)
			}
		}
	}
}

// BenchmarkPlanH200 plans the networks that come with the program for a photo of 12 MP on an H200 with room.
func BenchmarkPlanH200(b *testing.B) {
	p, err := profile.Load("h200")
	if err != nil {
		b.Fatal(err)
	}
	for _, name := range []string{"fast", "best", "any"} {
		m, err := model.Load(name)
		if err != nil {
			b.Fatal(err)
		}
		h, w := m.Convention.PaddedSides(1500, 2000)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := exec.Prepare(m, h, w, p.Info(), exec.Options{Precision: planar.FP16, Units: conv.Units{Matrix: true, Warpgroup: true, Octets: true}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
