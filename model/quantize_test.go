package model

import (
	"math"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
)

func TestCode(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		n       Node
		x, want float32
	}{
		{Node{Step: 2, Zero: 128}, 0, 128},
		{Node{Step: 2, Zero: 128}, 3, 130}, // halves to even
		{Node{Step: 2, Zero: 128}, 1, 128},
		{Node{Step: 2, Zero: 128}, -3, 126},
		{Node{Step: 2, Zero: 128}, 1000, 255},
		{Node{Step: 2, Zero: 128}, -1000, 0},
		{Node{Step: 2, Zero: 1, Signed: true}, 1000, 127},
		{Node{Step: 2, Zero: 1, Signed: true}, -1000, -128},
		{Node{Step: 1}, inf, 255},
		{Node{Step: 1}, -inf, 0},
		{Node{Step: 1, Zero: 7}, float32(math.NaN()), 0},
		{Node{Step: 1, Zero: 7, Signed: true}, float32(math.NaN()), -128},
	} {
		if got := c.n.Code(c.x); got != c.want {
			t.Errorf("step %g, zero %d: the code of %g is %g, want %g", c.n.Step, c.n.Zero, c.x, got, c.want)
		}
	}
}

// TestFMA compares with arithmetic of 2,000 bits, also where the sum is halfway between two numbers but for a bit far
// below.
func TestFMA(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	check := func(a, b, c float32) {
		exact := new(big.Float).SetPrec(2000)
		exact.Mul(new(big.Float).SetPrec(2000).SetFloat64(float64(a)), big.NewFloat(float64(b)))
		exact.Add(exact, big.NewFloat(float64(c)))
		want, _ := exact.Float32()
		if got := FMA(a, b, c); got != want {
			t.Fatalf("FMA(%b, %b, %b) is %b, want %b", a, b, c, got, want)
		}
	}
	random := func(spread int) float32 {
		return float32(math.Ldexp(2*rng.Float64()-1, rng.IntN(2*spread+1)-spread))
	}
	for range 20000 {
		check(random(10), random(10), random(30))
		check(float32(rng.IntN(1<<20)), random(4), float32(math.Ldexp(float64(1+2*rng.IntN(1<<10)), 20)))
	}
	tiny := float32(math.Ldexp(1, -60))
	check(1, tiny, 1+float32(math.Ldexp(1, -23)))
	check(float32(1<<23+1), float32(1<<23+1), tiny)
	check(float32(1<<12+1), float32(1<<12+1), -tiny)
}

func TestValidateCodes(t *testing.T) {
	codes := func() *Graph {
		return &Graph{Out: 2, Nodes: []Node{{Name: "in", Op: OpInput, C: 4},
			{Name: "q", Op: OpQuantize, In: []int{0}, Step: 0.5, Zero: 3},
			{Name: "c", Op: OpQuantConv, In: []int{1}, C: 8, K: 3, Weight: "w", Bias: "b", Scales: "s"}}}
	}
	for name, c := range map[string]struct {
		breakIt func(g *Graph)
		want    string
	}{
		"no step":           {func(g *Graph) { g.Nodes[1].Step = 0 }, "step of 0"},
		"infinite step":     {func(g *Graph) { g.Nodes[1].Step = float32(math.Inf(1)) }, "step is not finite"},
		"zero out of range": {func(g *Graph) { g.Nodes[1].Zero = 256 }, "256 as the code of zero"},
		"signed zero":       {func(g *Graph) { g.Nodes[1].Zero, g.Nodes[1].Signed = 128, true }, "128 as the code of zero"},
		"no codes":          {func(g *Graph) { g.Nodes[2].In = []int{0} }, "makes no codes"},
		"no scales":         {func(g *Graph) { g.Nodes[2].Scales = "" }, "a name of their own"},
		"even kernel":       {func(g *Graph) { g.Nodes[2].K = 2 }, "odd side"},
		"too many products": {func(g *Graph) { g.Nodes[0].C, g.Nodes[2].K = 1000, 9 }, "do not fit 32 bits"},
	} {
		g := codes()
		if err := g.Validate(); err != nil {
			t.Fatalf("the graph to be broken: %v", err)
		}
		c.breakIt(g)
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
	g := codes()
	m := &Model{Arch: "test", Graph: g, Params: FormulaParams("1", g), Convention: pynetsConvention()}
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	m.Params["w"].Data[5] = 0.5
	if err := m.Validate(); err == nil || !strings.Contains(err.Error(), "want integers") {
		t.Errorf("a weight of 0.5: error %v", err)
	}
}
