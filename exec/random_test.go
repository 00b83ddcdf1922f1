package exec_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/exec"
	"enhance/memplan"
	"enhance/model"
	"enhance/model/modeltest"
	"enhance/model/ref"
	"enhance/planar"
)

// menu is the naive algorithm with the kernels of all sides in every program, so
// that all random networks are compiled as one. It claims a granule, and refuses
// launches that do not keep it.
type menu struct {
	conv.Simple
	granule int
}

var sides = []int{1, 3, 5, 7, 9}

func (m menu) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	impl, err := m.Simple.New(c, s, p)
	if err != nil {
		return nil, err
	}
	d := &dish{Impl: impl, granule: m.granule, h: s.H, at: slices.Index(sides, s.K)}
	for _, k := range sides {
		s.K = k
		other, err := m.Simple.New(c, s, p)
		if err != nil {
			return nil, err
		}
		d.kernels = append(d.kernels, other.Kernels()...)
	}
	return d, nil
}

type dish struct {
	conv.Impl
	granule, h, at int
	kernels        []conv.Kernel
}

func (d *dish) Kernels() []conv.Kernel { return d.kernels }
func (d *dish) Granule() int           { return d.granule }
func (d *dish) Scratch(rows int) int64 { return int64(rows+d.granule-1) / int64(d.granule) * 100 }

func (d *dish) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	if a.Y0%d.granule != 0 || a.Y1%d.granule != 0 && a.Y1 != d.h {
		return fmt.Errorf("rows %d to %d of %d are not in granules of %d", a.Y0, a.Y1, d.h, d.granule)
	}
	if a.Scratch == nil || a.Scratch.Size() < d.Scratch(a.Y1-a.Y0) {
		return errors.New("too little scratch")
	}
	if err := q.Fill(a.Scratch, 0, d.Scratch(a.Y1-a.Y0), []byte{0xff}); err != nil {
		return err
	}
	return d.Impl.Launch(q, k[d.at:d.at+1], packed, a)
}

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
}

// TestRandomNetworks runs random networks under every kind of plan. All must
// give the same bytes with exactly the predicted peak, close to the reference.
func TestRandomNetworks(t *testing.T) {
	dev := device(t)
	n := uint64(20)
	if os.Getenv("ENHANCE_LONG") == "1" {
		n *= 10
	}
	checked, spilled := 0, 0
	for seed := range n {
		rng := rand.New(rand.NewPCG(seed, 11))
		g := modeltest.Graph(rng, modeltest.Options{Steps: 2 + rng.IntN(7), Kernels: sides, Channels: []int{1, 2, 3, 4}})
		h, w := modeltest.Sides(rng, g, 64, 14)
		p := &picture{TB: t, name: fmt.Sprintf("seed %d (%d×%d)", seed, h, w), m: modeltest.Model("exec", g), info: dev.Info(),
			in: &tensor{c: g.Nodes[0].C, h: h, w: w, v: model.FormulaTensor("exec", fmt.Sprint(seed), g.Nodes[0].C*h*w)}}
		p.opt = exec.Options{Poison: true}
		if seed%5 != 4 || seed > 40 { // the others take the device's own algorithms, which take seconds to compile
			p.opt.Algo = func(string, conv.Shape) conv.Algo { return menu{granule: 1 + int(seed%3)} }
		}
		if seed%4 == 3 {
			p.opt.Precision = planar.FP16
		}
		if seed%2 == 1 { // a device with memory of its own, whose plans may spill
			p.info.Type, p.info.Unified = clrt.Accelerator, false
		}
		p.plans(rng)
		if p.close() {
			checked++
		}
		p.spills(rng)
		if p.spilt {
			spilled++
		}
		if t.Failed() {
			break
		}
	}
	if uint64(checked) < n/2 && !t.Failed() {
		t.Errorf("only %d of %d networks are tame enough to compare with the reference", checked, n)
	}
	t.Logf("%d networks compared with the reference, %d run with spilling", checked, spilled)
}

// plans runs whole planes, forced tick heights and budgets.
func (p *picture) plans(rng *rand.Rand) {
	p.Helper()
	free := p.run("free", func(*exec.Options) {})
	p.run("whole planes", func(o *exec.Options) { o.WholePlanes = true })
	for range 3 {
		rows := 1 + rng.IntN(p.in.h+2)
		p.run(fmt.Sprintf("%d rows", rows), func(o *exec.Options) { o.Rows = rows })
	}
	o := p.opt
	o.Budget = 1
	_, err := exec.Prepare(p.m, p.in.h, p.in.w, p.info, o)
	var be *memplan.BudgetError
	if !errors.As(err, &be) {
		p.Errorf("%s: a budget of one byte gives %v", p.name, err)
		return
	}
	for _, b := range []int64{be.Minimum, be.Minimum + max(0, free.Peak-be.Minimum)/2} {
		plan := p.run(fmt.Sprintf("budget %d", b), func(o *exec.Options) { o.Budget = b })
		if plan.Peak > b {
			p.Errorf("%s: a peak of %d for a budget of %d", p.name, plan.Peak, b)
		}
	}
}

// spills forces rows and the smallest budget that they allow, which spills
// whatever can be.
func (p *picture) spills(rng *rand.Rand) {
	p.Helper()
	o := p.opt
	o.Rows, o.Budget = 1+rng.IntN(2), 1
	_, err := exec.Prepare(p.m, p.in.h, p.in.w, p.info, o)
	var be *memplan.BudgetError
	if !errors.As(err, &be) {
		p.Errorf("%s: a budget of one byte gives %v", p.name, err)
		return
	}
	p.run(fmt.Sprintf("%d rows, budget %d", o.Rows, be.Minimum), func(q *exec.Options) { q.Rows, q.Budget = o.Rows, be.Minimum })
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
	return job.Plan
}

// open opens a job in a context of its own; done closes both and checks that no
// byte is left.
func open(t testing.TB, job *exec.Job) (e *exec.Engine, done func()) {
	t.Helper()
	ctx, err := clrt.NewContext(device(t))
	if err != nil {
		t.Fatal(err)
	}
	if e, err = job.Open(ctx); err != nil {
		t.Fatal(err)
	}
	return e, func() {
		t.Helper()
		if err := e.Close(); err != nil {
			t.Errorf("closing the engine: %v", err)
		}
		if n := ctx.Live(); n != 0 {
			t.Errorf("%d bytes are live after Close", n)
		}
		if err := ctx.Close(); err != nil {
			t.Errorf("closing the context: %v", err)
		}
	}
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
		p.Errorf("%s: output is %d×%d×%d, want %v", p.name, o.c, o.h, o.w, shape)
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
		if d := math.Abs(float64(p.first.v[i]) - v); !(d <= worst) {
			worst = d
		}
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
