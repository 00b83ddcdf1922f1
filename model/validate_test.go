package model

import (
	"math"
	"strings"
	"testing"
)

// simple is a valid graph to be broken: input, convolution, activation, sum.
func simple() *Graph {
	b := NewBuilder(4)
	x := b.Conv("conv", "conv", 0, 8, 3)
	y := b.LeakyReLU("act", x, 0.2)
	return b.mustGraph(b.Add("sum", x, y))
}

func TestValidateRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		breakIt func(g *Graph)
		want    string
	}{
		"no nodes":         {func(g *Graph) { g.Nodes = nil }, "no nodes"},
		"output too large": {func(g *Graph) { g.Out = 4 }, "output node 4"},
		"output negative":  {func(g *Graph) { g.Out = -1 }, "output node -1"},
		"no name":          {func(g *Graph) { g.Nodes[1].Name = "" }, "no name"},
		"same name":        {func(g *Graph) { g.Nodes[2].Name = "conv" }, "both named"},
		"unknown op":       {func(g *Graph) { g.Nodes[2].Op = 200 }, "unknown operation"},
		"second input":     {func(g *Graph) { g.Nodes[2] = Node{Name: "x", C: 1} }, "must be the input"},
		"no input":         {func(g *Graph) { g.Nodes[0] = Node{Name: "x", Op: OpSigmoid} }, "must be the input"},
		"reads itself":     {func(g *Graph) { g.Nodes[2].In = []int{2} }, "not made before"},
		"reads nothing":    {func(g *Graph) { g.Nodes[2].In = nil }, "0 inputs"},
		"negative input":   {func(g *Graph) { g.Nodes[2].In = []int{-1} }, "not made before"},
		"add of one":       {func(g *Graph) { g.Nodes[3].In = []int{1} }, "1 inputs"},
		"add of 4 and 8":   {func(g *Graph) { g.Nodes[3].In = []int{0, 2} }, "adds 8 channels to 4"},
		"even kernel":      {func(g *Graph) { g.Nodes[1].K = 4 }, "odd side"},
		"zero channels":    {func(g *Graph) { g.Nodes[1].C = 0 }, "0 channels"},
		"huge channels":    {func(g *Graph) { g.Nodes[1].C = 1 << 30 }, "channels: want"},
		"nan slope":        {func(g *Graph) { g.Nodes[2].Slope = float32(math.NaN()) }, "slope"},
		"no weight":        {func(g *Graph) { g.Nodes[1].Weight = "" }, "two different names"},
		"weight is bias":   {func(g *Graph) { g.Nodes[1].Weight = g.Nodes[1].Bias }, "two different names"},
		"unused field":     {func(g *Graph) { g.Nodes[2].K = 3 }, "does not use"},
		"norm without eps": {func(g *Graph) { g.Nodes[2] = Node{Name: "n", Op: OpInstanceNorm, In: []int{1}, Weight: "w", Bias: "b"} }, "epsilon"},
		"shuffle of 6":     {func(g *Graph) { g.Nodes[1].C = 6; g.Nodes[2] = Node{Name: "s", Op: OpPixelShuffle, In: []int{1}} }, "multiple of 4"},
		"scales differ":    {func(g *Graph) { g.Nodes[2] = Node{Name: "p", Op: OpMaxPool, In: []int{1}} }, "differ in scale"},
		"shared, misshapen": {func(g *Graph) {
			g.Nodes[2] = Node{Name: "c", Op: OpConv, In: []int{1}, C: 8, K: 3, Weight: "conv.weight", Bias: "conv.bias"}
		}, "an earlier node as"},
	} {
		g := simple()
		if err := g.Validate(); err != nil {
			t.Fatalf("the graph to be broken: %v", err)
		}
		c.breakIt(g)
		if err := g.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, c.want)
		}
	}
}

func TestShapesRefuses(t *testing.T) {
	g := PyNETS(pynetsWidths)
	for _, c := range []struct {
		h, w int
		want string
	}{
		{0, 16, "want 1.."},
		{16, 1 << 21, "want 1.."},
		{4, 16, "sides must stay"},
		{20, 16, "joins planes"},
	} {
		if _, err := g.Shapes(c.h, c.w); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%dx%d: error %v, want one with %q", c.h, c.w, err, c.want)
		}
	}
}
