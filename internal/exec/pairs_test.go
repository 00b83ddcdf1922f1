package exec_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/amx"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/modeltest"
	"enhance/memplan"
	"enhance/model"
)

// pairsOptions are those of bfloat16 on a CPU with products of it; on others the test is skipped.
func pairsOptions(t *testing.T) exec.Options {
	t.Helper()
	dev := convtest.Device(t)
	o := exec.Options{BF16: true, Units: conv.Units{Tiles: hasUnits(t, dev, amx.Probe)}, Poison: true}
	if o.Pairs = !o.Tiles && convtest.Pairs(t, dev); !o.Tiles && !o.Pairs {
		t.Skip("SKIPPED, nothing was tested: no products of bfloat16")
	}
	return o
}

// TestPairs runs random networks in bfloat16 under every kind of plan: the same bytes, near those of float32.
func TestPairs(t *testing.T) {
	opt := pairsOptions(t)
	n := uint64(convtest.Cases(3))
	if testing.Short() {
		n = 2
	}
	kinds := map[fuse.Kind]int{}
	for seed, ran := uint64(0), uint64(0); ran < n; seed++ {
		rng := rand.New(rand.NewPCG(seed, 78))
		g := modeltest.Graph(rng, modeltest.Options{Steps: 3 + rng.IntN(7), Kernels: []int{1, 3, 3, 5}, Channels: []int{3, 7, 8, 16, 16, 20, 24}})
		for i := range g.Nodes {
			if g.Nodes[i].Op == model.OpConv {
				g.Nodes[i].Pad = model.PadMode(seed % 3)
			}
		}
		h, w := modeltest.Sides(rng, g, 40, 30)
		p := &picture{TB: t, name: fmt.Sprintf("seed %d (%dx%d)", seed, h, w), m: modeltest.Model("pairs", g), info: convtest.Device(t).Info(), opt: opt,
			in: &tensor{c: g.Nodes[0].C, h: h, w: w, v: model.FormulaTensor("pairs", fmt.Sprint(seed), g.Nodes[0].C*h*w)}}
		if seed%2 == 1 { // a device with memory of its own, whose plans may spill
			p.info.Type, p.info.Unified = clrt.Accelerator, false
		}
		job, err := exec.Prepare(p.m, h, w, p.info, p.opt)
		if err != nil {
			t.Fatal(err)
		}
		if !job.Program.HasPairs() {
			continue
		}
		ran++
		for _, s := range job.Program.Steps {
			if k := job.Program.Tensors[s.Dst.Tensor].Storage; k == fuse.Pairs || k == fuse.Split {
				kinds[s.Kind]++
			}
		}
		p.plans(rng)
		p.near(0.05)
	}
	t.Logf("steps that store pairs: %v", kinds)
	for _, k := range []fuse.Kind{fuse.Conv, fuse.Convert} {
		if kinds[k] == 0 && !testing.Short() {
			t.Errorf("no step of kind %s stores pairs", k)
		}
	}
}

// TestPairsNets runs small pictures through whole networks.
func TestPairsNets(t *testing.T) {
	opt := pairsOptions(t)
	for _, name := range []string{"fast", "best"} {
		t.Run(name, func(t *testing.T) {
			m, err := model.Load(name)
			if err != nil {
				t.Fatal(err)
			}
			const h, w = 48, 72
			p := &picture{TB: t, name: name, m: m, info: convtest.Device(t).Info(), opt: opt, in: &tensor{c: 8, h: h, w: w, v: model.FormulaTensor("pairs", name, 8*h*w)}}
			least, err := exec.Minimum(p.m, h, w, p.info, p.opt)
			if err != nil {
				t.Fatal(err)
			}
			p.run("free", func(*exec.Options) {})
			p.run("whole planes", func(o *exec.Options) { o.WholePlanes = true })
			p.run("5 rows", func(o *exec.Options) { o.Rows = 5 })
			p.run("the least budget", func(o *exec.Options) { o.Budget = memplan.Limit(least) })
			p.near(0.01)
		})
	}
}

// near fails where the first result differs from that of float32 by more than share of its root mean square.
func (p *picture) near(share float64) {
	p.Helper()
	got := p.first
	if got == nil || p.Failed() {
		return
	}
	opt := p.opt
	p.first, p.opt.BF16 = nil, false
	p.run("float32", func(*exec.Options) {})
	var off, all float64
	for i, want := range p.first.v {
		off, all = off+math.Pow(float64(got.v[i]-want), 2), all+float64(want)*float64(want)
	}
	if !(off <= share*share*all) {
		p.Errorf("%s: bfloat16 is %.3g of the root mean square from float32, want at most %.3g", p.name, math.Sqrt(off/all), share)
	}
	if off == 0 && slices.ContainsFunc(p.first.v, func(v float32) bool { return v != 0 }) {
		p.Errorf("%s: bfloat16 changes nothing", p.name)
	}
	p.first, p.opt = got, opt
}
