package fuse_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/fusetest"
	"enhance/model"
)

// foreignNode draws an operation of imported networks that moves rows.
func foreignNode(rng *rand.Rand) model.Node {
	side := func(most int) int { return rng.IntN(most + 1) }
	n := model.Node{Name: "op", In: []int{0}, Weight: "w", Bias: "b"}
	n.Window = model.Window{KH: 1 + side(5), KW: 1, StrideH: 1 + side(2), StrideW: 1, DilationH: 1 + side(2), DilationW: 1, Top: side(4), Bottom: side(4)}
	switch rng.IntN(8) {
	case 0:
		n.Op, n.C, n.Groups, n.Pad = model.OpConv, 2, 1, model.PadMode(rng.IntN(3))
		return n
	case 1:
		n.Op, n.Reduce = model.OpPool, model.ReduceMax
		n.Window.Top, n.Window.Bottom = min(n.Window.Top, n.Window.KH-1), min(n.Window.Bottom, n.Window.KH-1)
	case 2:
		n.Op, n.Window = model.OpCrop, model.Window{Top: side(4), Bottom: side(4), StrideH: 1 + side(2), StrideW: 1}
	case 3:
		n.Op, n.Pad = model.OpPad, model.PadMode(rng.IntN(4))
		if n.Window = (model.Window{Top: side(4), Bottom: side(4)}); n.Pad == model.PadZero {
			n.Pad = model.PadConstant
		}
	case 4:
		n.Op, n.Factor, n.Window = model.OpSpaceToDepth, 1+side(2), model.Window{}
	case 5:
		n.Op, n.Factor, n.Window = model.OpDepthToSpace, 1+side(1), model.Window{}
	case 6:
		n.Op, n.Window = model.OpRearrange, model.Window{}
		k := 1 + side(3)
		n.Rearrange = model.Rearrange{Factors: [3][]int{{2, 2}, {0, k}, {3}}} // factors 0 and 1, 2 and 3, 4
		to := [][3][]int{{{0, 1}, {2, 3}, {4}}, {{0, 1}, {2}, {3, 4}}, {{0, 3, 1}, {2}, {4}}, {{0}, {2, 1}, {4, 3}}, {{1}, {2, 0, 3}, {4}}, {{0, 1}, {3, 2}, {4}},
			{{0, 1}, {4}, {2, 3}}, {{4}, {1, 2}, {0, 3}}, {{0, 1}, nil, {2, 3, 4}}}
		n.Rearrange.To = to[rng.IntN(len(to))]
	default:
		n.Op, n.Window = model.OpResize, model.Window{}
		n.Resize = model.Resize{Mode: model.ResizeNearest + model.ResizeMode(rng.IntN(3)), Coordinates: model.Coordinates(rng.IntN(5)), CubicA: -0.75,
			NumH: 1 + side(4), DenH: 1 + side(4), NumW: 1, DenW: 1}
		if n.Resize.Mode != model.ResizeCubic {
			n.Resize.CubicA = 0
		}
		switch rng.IntN(4) {
		case 0:
			n.Resize.Coordinates, n.Resize.Crop = model.CoordCrop, [4]float32{-0.25, 0.75, 0, 1}
		case 1:
			n.Resize.Antialias = n.Resize.Mode != model.ResizeNearest
		}
		n.Resize.Round = rng.IntN(4) == 0
	}
	n.Weight, n.Bias = "", ""
	return n
}

// TestForeignRows holds Need and Oldest of imported operations against the rows that the
// operations read by their definition, at all heights.
func TestForeignRows(t *testing.T) {
	seen := map[model.Op]int{}
	for seed := range uint64(4000) {
		rng := rand.New(rand.NewPCG(seed, 31))
		n := foreignNode(rng)
		g := &model.Graph{Nodes: []model.Node{{Name: "in", Op: model.OpInput, C: 4}, n}, Out: 1}
		p, err := fuse.Fuse(g, 1+rng.IntN(24), 3)
		if err != nil {
			continue // the plane is too small for it
		}
		s := &p.Steps[0]
		if s.Kind != fuse.Apply && !s.Windowed() {
			t.Fatalf("seed %d: %s is lowered to %s", seed, n.Op, s.Kind)
		}
		seen[n.Op]++
		from := p.Tensors[s.Src[0].Tensor].H
		h := p.Tensors[s.Dst.Tensor].H
		most, before := 0, p.Need(s, s.Src[0].Tensor, 0)
		least := make([]int, h+1)
		least[h] = from
		for y := h - 1; y >= 0; y-- {
			least[y] = least[y+1]
			for _, row := range fusetest.Touched(p, s, s.Src[0].Tensor, y) {
				least[y] = min(least[y], row)
			}
		}
		for y := range h {
			for _, row := range fusetest.Touched(p, s, s.Src[0].Tensor, y) {
				most = max(most, row+1)
			}
			need, oldest := p.Need(s, s.Src[0].Tensor, y+1), p.Oldest(s, s.Src[0].Tensor, y)
			if need < most || need > from || need < before {
				t.Errorf("seed %d: %+v, row %d of %d: Need says %d of %d rows, %d are touched, %d were needed before", seed, n, y, h, need, from, most, before)
			}
			if oldest > least[y] || oldest < 0 {
				t.Errorf("seed %d: %+v, row %d of %d: Oldest says %d, row %d is touched", seed, n, y, h, oldest, least[y])
			}
			before = need
		}
	}
	for _, op := range []model.Op{model.OpConv, model.OpPool, model.OpCrop, model.OpPad, model.OpSpaceToDepth, model.OpDepthToSpace, model.OpResize, model.OpRearrange} {
		if seen[op] < 50 {
			t.Errorf("only %d graphs of %s", seen[op], op)
		}
	}
}

// TestJoinEnlarged counts the steps of the end of a network that enlarges: the sum is one with what it
// sums only where that is read by nobody else and repeats samples as often as blocks are wide.
func TestJoinEnlarged(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(g *model.Graph)
		steps  int
	}{
		{"sum", func(*model.Graph) {}, 2},
		{"turned round", func(g *model.Graph) { g.Nodes[4].In = []int{2, 3} }, 2},
		{"other samples", func(g *model.Graph) { g.Nodes[3].Resize.Rounding = model.RoundCeil }, 4},
		{"between samples", func(g *model.Graph) { g.Nodes[3].Resize.Mode = model.ResizeLinear }, 4},
		{"read twice", func(g *model.Graph) {
			g.Nodes = append(g.Nodes, model.Node{Name: "more", Op: model.OpAdd, In: []int{4, 3}})
			g.Out = 5
		}, 5},
	} {
		g := &model.Graph{Nodes: []model.Node{
			{Name: "in", Op: model.OpInput, C: 3},
			{Name: "first", Op: model.OpConv, In: []int{0}, C: 12, K: 3, Pad: model.PadZero, Weight: "w", Bias: "b"},
			{Name: "shuffle", Op: model.OpDepthToSpace, In: []int{1}, Factor: 2},
			{Name: "base", Op: model.OpResize, In: []int{0}, Resize: model.Resize{Mode: model.ResizeNearest, Coordinates: model.CoordAsymmetric, Rounding: model.RoundFloor, NumH: 2, DenH: 1, NumW: 2, DenW: 1}},
			{Name: "sum", Op: model.OpAdd, In: []int{3, 2}},
		}, Out: 4}
		c.change(g)
		p, err := fuse.Fuse(g, 5, 7)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Steps) != c.steps {
			t.Errorf("%s: %d steps, want %d", c.name, len(p.Steps), c.steps)
		}
		if s := p.Steps[len(p.Steps)-1]; c.steps == 2 && (s.Kind != fuse.Apply || len(s.Src) != 2 || p.Tensors[s.Src[1].Tensor].C != 3) {
			t.Errorf("%s: the last step is %+v", c.name, s)
		}
	}
}

// TestActivationBehindSum says of which convolution an activation behind a residual sum becomes part: of one
// without an activation of its own, whose sum nobody else reads, unless that waits for a norm.
func TestActivationBehindSum(t *testing.T) {
	type add = func(op model.Op, in ...int) int
	for _, c := range []struct {
		name  string
		build func(a add) int
		steps int
		first int // of these, convolutions with the residual first
	}{
		{"sum and activation", func(a add) int { return a(model.OpLeakyReLU, a(model.OpAdd, a(model.OpConv, 1), 1)) }, 2, 1},
		{"turned round", func(a add) int { return a(model.OpPReLU, a(model.OpAdd, 1, a(model.OpConv, 1))) }, 2, 1},
		{"an activation before too", func(a add) int {
			return a(model.OpLeakyReLU, a(model.OpAdd, a(model.OpLeakyReLU, a(model.OpConv, 1)), 1))
		}, 3, 0},
		{"the sum is read twice", func(a add) int {
			sum := a(model.OpAdd, a(model.OpConv, 1), 1)
			return a(model.OpConcat, a(model.OpSigmoid, sum), sum)
		}, 5, 0},
		{"behind a norm", func(a add) int {
			return a(model.OpLeakyReLU, a(model.OpAdd, a(model.OpInstanceNorm, a(model.OpConv, 1)), 1))
		}, 6, 0},
		{"two blocks", func(a add) int {
			x := a(model.OpSigmoid, a(model.OpAdd, a(model.OpConv, 1), 1))
			return a(model.OpSigmoid, a(model.OpAdd, a(model.OpConv, x), x))
		}, 3, 2},
	} {
		g := &model.Graph{Nodes: []model.Node{{Name: "in", Op: model.OpInput, C: 3}}}
		var node add = func(op model.Op, in ...int) int {
			n := model.Node{Name: fmt.Sprint(op, len(g.Nodes)), Op: op, In: in}
			switch op {
			case model.OpConv:
				n.C, n.K, n.Pad, n.Weight, n.Bias = 3, 3, model.PadZero, "w", "b"
			case model.OpPReLU:
				n.Weight = "slopes"
			case model.OpInstanceNorm:
				n.Weight, n.Bias, n.Eps = "nw", "nb", 1e-5
			}
			g.Nodes = append(g.Nodes, n)
			return len(g.Nodes) - 1
		}
		node(model.OpConv, 0)
		g.Out = c.build(node)
		p, err := fuse.Fuse(g, 5, 7)
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		first := 0
		for _, s := range p.Steps {
			if s.ResFirst {
				first++
				if s.Kind != fuse.Conv || s.Act == fuse.NoAct || s.Res.Tensor == fuse.None {
					t.Errorf("%s: %+v", c.name, s)
				}
			}
		}
		if len(p.Steps) != c.steps || first != c.first {
			t.Errorf("%s: %d steps, %d with the residual first, want %d and %d", c.name, len(p.Steps), first, c.steps, c.first)
		}
	}
}
