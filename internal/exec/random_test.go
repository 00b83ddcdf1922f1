package exec_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/modeltest"
	"enhance/internal/planar"
	"enhance/internal/profile"
	"enhance/memplan"
	"enhance/model"
	"enhance/model/ref"
)

// picture is one random network with its input and everything runs have in common.
type picture struct {
	testing.TB
	name  string
	m     *model.Model
	in    *tensor
	info  *clrt.DeviceInfo
	opt   exec.Options
	first *tensor // result of the first run
	spilt bool    // some plan spilled
	norms bool    // a convolution takes in a norm and leaves statistics
}

// TestRandomNetworks runs random networks of random sizes under every kind of plan,
// within random budgets and the limits of random device profiles. All must give
// the same bytes with exactly the predicted peak, close to the reference.
// ENHANCE_CASES sets how many, or which: "41-200" is all from the 41st on whose number is
// below 200.
func TestRandomNetworks(t *testing.T) {
	dev := convtest.Device(t)
	first, end := cases(t)
	checked, spilled, norms := 0, 0, 0
	for seed := first; seed < end; seed++ {
		rng := rand.New(rand.NewPCG(seed, 11))
		g := modeltest.Graph(rng, modeltest.Options{Steps: 2 + rng.IntN(7), Kernels: sides, Channels: []int{1, 2, 3, 4}})
		h, w := modeltest.Sides(rng, g, 64, 14)
		p := &picture{TB: t, name: fmt.Sprintf("seed %d (%dx%d)", seed, h, w), m: modeltest.Model("exec", g), info: dev.Info(),
			in: &tensor{c: g.Nodes[0].C, h: h, w: w, v: model.FormulaTensor("exec", fmt.Sprint(seed), g.Nodes[0].C*h*w)}}
		p.opt = exec.Options{Poison: true}
		if seed%5 != 4 || seed > 40 { // the others take the device's own algorithms, which take seconds to compile
			p.opt.Algo = func(string, conv.Shape) conv.Algo { return naive{granule: 1 + int(seed%3)} }
		}
		if seed%4 == 3 {
			p.opt.Precision = planar.FP16
		}
		if seed%2 == 1 { // a device with memory of its own, whose plans may spill
			p.info.Type, p.info.Unified = clrt.Accelerator, false
		}
		p.limit(rand.New(rand.NewPCG(seed, 12)))
		p.plans(rng)
		if p.close() {
			checked++
		}
		p.spills(rng)
		if p.spilt {
			spilled++
		}
		if p.norms {
			norms++
		}
		if t.Failed() {
			break
		}
	}
	if n := end - first; uint64(checked) < n/2 && !t.Failed() {
		t.Errorf("only %d of %d networks are tame enough to compare with the reference", checked, n)
	}
	if norms == 0 && first == 0 && !t.Failed() {
		t.Error("no network has a convolution that takes in a norm and leaves statistics for the next")
	}
	t.Logf("%d networks compared with the reference, %d run with spilling, %d with norms in convolutions", checked, spilled, norms)
}

// cases are the seeds to run, from first to the one before end.
func cases(t *testing.T) (first, end uint64) {
	t.Helper()
	end = 20
	if os.Getenv("ENHANCE_LONG") == "1" {
		end = 500
	}
	v := os.Getenv("ENHANCE_CASES")
	if v == "" {
		return 0, end
	}
	from, to, ranged := strings.Cut(v, "-")
	if !ranged {
		from, to = "0", v
	}
	var err error
	if first, err = strconv.ParseUint(from, 10, 32); err == nil {
		end, err = strconv.ParseUint(to, 10, 32)
	}
	if err != nil || first >= end {
		t.Fatalf("ENHANCE_CASES: %q is neither a number nor two with a hyphen between", v)
	}
	return first, end
}

// limit takes the limits of a random profile, or none. What shares its memory is
// the test's to say.
func (p *picture) limit(rng *rand.Rand) {
	p.Helper()
	names := profile.Names()
	k := rng.IntN(len(names) + 1)
	if k == len(names) {
		return
	}
	limits, err := profile.Load(names[k])
	if err != nil {
		p.Fatal(err)
	}
	unified := p.info.Unified
	p.info = limits.Limit(p.info)
	p.info.Unified = unified
	p.name += " on " + names[k]
}

// plans runs whole planes, forced strip heights and budgets.
func (p *picture) plans(rng *rand.Rand) {
	p.Helper()
	free := p.run("free", func(*exec.Options) {})
	p.run("whole planes", func(o *exec.Options) { o.WholePlanes = true })
	for range 3 {
		rows := 1 + rng.IntN(p.in.h+2)
		p.run(fmt.Sprintf("%d rows", rows), func(o *exec.Options) { o.Rows = rows })
	}
	o := p.opt
	least, err := exec.Minimum(p.m, p.in.h, p.in.w, p.info, o)
	if err != nil {
		p.Errorf("%s: no smallest budget: %v", p.name, err)
		return
	}
	for _, b := range []int64{least, least + rng.Int64N(max(0, free.Peak-least)+1)} {
		plan := p.run(fmt.Sprintf("budget %d", b), func(o *exec.Options) { o.Budget = memplan.Limit(b) })
		if plan.Peak > b {
			p.Errorf("%s: a peak of %d for a budget of %d", p.name, plan.Peak, b)
		}
	}
	p.smallBuffers(rng, free)
}

// smallBuffers runs within the smallest largest allocation, and within a random one and a
// random budget.
func (p *picture) smallBuffers(rng *rand.Rand, free *memplan.Plan) {
	p.Helper()
	info := p.info
	defer func() { p.info = info }()
	least := leastAlloc(p, p.m, p.in, info, p.opt)
	for k, n := range []int64{least, least + rng.Int64N(max(1, free.Largest-least))} {
		small := *info
		small.MaxAlloc = n
		p.info = &small
		budget := int64(0)
		if k == 1 {
			smallest, err := exec.Minimum(p.m, p.in.h, p.in.w, p.info, p.opt)
			if err != nil {
				p.Fatalf("%s: buffers of %d: %v", p.name, n, err)
			}
			budget = smallest + rng.Int64N(max(1, free.Peak-smallest))
		}
		plan := p.run(fmt.Sprintf("buffers of %d, budget %d", n, budget), func(o *exec.Options) {
			if budget > 0 {
				o.Budget = memplan.Limit(budget)
			}
		})
		if plan.Largest > n || budget > 0 && plan.Held() > budget {
			p.Errorf("%s: a largest buffer of %d for %d, %d bytes of a budget of %d", p.name, plan.Largest, n, plan.Held(), budget)
		}
	}
}

// spills forces rows and the smallest budget that they allow, which spills
// whatever can be.
func (p *picture) spills(rng *rand.Rand) {
	p.Helper()
	o := p.opt
	o.Rows = 1 + rng.IntN(2)
	least, err := exec.Minimum(p.m, p.in.h, p.in.w, p.info, o)
	if err != nil {
		p.Errorf("%s: no smallest budget: %v", p.name, err)
		return
	}
	p.run(fmt.Sprintf("%d rows, budget %d", o.Rows, least), func(q *exec.Options) { q.Rows, q.Budget = o.Rows, memplan.Limit(least) })
}

// run computes the picture under one plan, twice with one engine.
func (p *picture) run(what string, change func(o *exec.Options)) *memplan.Plan {
	p.Helper()
	o := p.opt
	change(&o)
	job, err := exec.Prepare(p.m, p.in.h, p.in.w, p.info, o)
	if err != nil {
		p.Fatalf("%s, %s: %v", p.name, what, err)
	}
	e, done := open(p, job)
	defer done()
	t := job.Program.Tensors[job.Program.Output]
	for range 2 {
		out := &tensor{c: t.C, h: t.H, w: t.W, v: make([]float32, t.Elems())}
		if err := e.Run(context.Background(), source{p.in}, sink{out}, nil); err != nil {
			p.Fatalf("%s, %s: %v", p.name, what, err)
		}
		if out.rows != out.h {
			p.Errorf("%s, %s: %d of %d rows were delivered", p.name, what, out.rows, out.h)
		}
		if p.first == nil {
			p.first = out
		}
		for i, v := range out.v {
			if math.Float32bits(v) != math.Float32bits(p.first.v[i]) {
				p.Errorf("%s, %s (%s): sample %d (row %d) is %v, the first plan gave %v", p.name, what, job.Plan.Strategy, i, i/t.W%t.H, v, p.first.v[i])
				break
			}
		}
		if e.Peak() != job.Plan.Peak {
			p.Errorf("%s, %s: measured peak %d, planned %d", p.name, what, e.Peak(), job.Plan.Peak)
		}
	}
	p.spilt = p.spilt || job.Plan.HostBytes > 0
	for i := range job.Program.Steps {
		s := &job.Program.Steps[i]
		p.norms = p.norms || i+1 < len(job.Program.Steps) && s.Kind == fuse.Conv && s.Affine != fuse.None && job.Program.Steps[i+1].Kind == fuse.RowStats
	}
	return job.Plan
}

// close compares the result with the definition in float64. What float32 loses
// depends on the network; the reference's own float32 run says how much. It
// allows 30 times that (kernels sum in other orders and fuse multiply-adds) and
// refuses to judge networks that lose over a thousandth. With fp16 storage every
// stored value is rounded 2^13 times more coarsely.
func (p *picture) close() (judged bool) {
	p.Helper()
	in64 := make([]float64, len(p.in.v))
	for i, v := range p.in.v {
		in64[i] = float64(v)
	}
	want, shape, err := ref.Run64(context.Background(), p.m, in64, p.in.h, p.in.w, ref.Options{})
	if err != nil {
		p.Fatalf("%s: %v", p.name, err)
	}
	if o := p.first; (model.Shape{C: o.c, H: o.h, W: o.w}) != shape {
		p.Errorf("%s: output is %dx%dx%d, want %v", p.name, o.c, o.h, o.w, shape)
		return false
	}
	plain, _, err := ref.Run(context.Background(), p.m, p.in.v, p.in.h, p.in.w, ref.Options{})
	if err != nil {
		p.Fatalf("%s: %v", p.name, err)
	}
	scale, lost, worst := 0.0, 0.0, 0.0
	for i, v := range want {
		scale = max(scale, math.Abs(v))
		lost = max(lost, math.Abs(float64(plain[i])-v))
		d := math.Abs(float64(p.first.v[i]) - v)
		if math.IsNaN(d) {
			d = math.Inf(1)
		}
		worst = max(worst, d)
	}
	allowed := 30*lost + 1e-5*scale
	if p.opt.Precision == planar.FP16 {
		allowed = 1000*lost + 0.02*scale
	}
	if lost > 1e-3*scale {
		p.Logf("%s: float32 loses %.2g of %.2g, not judged", p.name, lost, scale)
		return false
	}
	if !(worst <= allowed) {
		p.Errorf("%s, %s: off by %g of %g, the reference's float32 by %g", p.name, p.opt.Precision, worst, scale, lost)
	}
	return true
}
