package fuse_test

import (
	"slices"
	"strings"
	"testing"

	"enhance/internal/fuse"
	"enhance/model"
)

// codesNetwork has a convolution of samples, then what `tail` names: "q" codes, "c" a convolution of them, "r" a leaky
// ReLU, "s" the sum with what was kept last, "k" keeps, "d" samples of codes; and a convolution of samples at the end.
func codesNetwork(t *testing.T, tail string) *fuse.Program {
	t.Helper()
	g := &model.Graph{Nodes: []model.Node{{Name: "in", Op: model.OpInput, C: 8}}}
	x, kept := 0, 0
	add := func(n model.Node, in ...int) {
		n.In, n.Name = in, n.Op.String()+string(rune('a'+len(g.Nodes)))
		if n.Op == model.OpConv || n.Op == model.OpQuantConv {
			n.Weight, n.Bias = n.Name+".w", n.Name+".b"
		}
		if n.Op == model.OpQuantConv {
			n.Scales = n.Name + ".s"
		}
		g.Nodes = append(g.Nodes, n)
		x = len(g.Nodes) - 1
	}
	add(model.Node{Op: model.OpConv, C: 16, K: 3}, 0)
	for _, what := range tail {
		switch what {
		case 'q':
			add(model.Node{Op: model.OpQuantize, Step: 0.1, Zero: 3}, x)
		case 'c':
			add(model.Node{Op: model.OpQuantConv, C: 16, K: 3}, x)
		case 'r':
			add(model.Node{Op: model.OpLeakyReLU, Slope: 0.1}, x)
		case 's':
			add(model.Node{Op: model.OpAdd}, x, kept)
		case 'k':
			kept = x
		case 'd':
			add(model.Node{Op: model.OpDequantize, Step: 0.1, Zero: 3}, x)
		}
	}
	add(model.Node{Op: model.OpConv, C: 3, K: 3}, x)
	g.Out = x
	p, err := fuse.Fuse(g, 12, 20)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestCodesInside says which convolutions of codes make these themselves, and which become one step.
func TestCodesInside(t *testing.T) {
	all := func(*fuse.Program, int) bool { return true }
	for _, c := range []struct {
		tail string
		can  func(p *fuse.Program, i int) bool
		want string // steps: C a convolution of samples, c one of codes, b two behind each other; "": nothing can be done
	}{
		{tail: "", can: all},
		{tail: "qc", can: all, want: "CcC"},
		{tail: "qcrqc", can: all, want: "CbC"},
		{tail: "kqcrqcs", can: all, want: "CbC"},
		{tail: "qcqcqc", can: all, want: "CbcC"},
		{tail: "qcrqcqcrqc", can: all, want: "CbbC"},
		{tail: "qckqcs", can: all, want: "CccC"}, // what is between is added later
		{tail: "kqcsqc", can: all, want: "CccC"}, // a residual of the first
		{tail: "qd", can: all},                   // codes become samples elsewhere
		{tail: "qcrqc", can: func(p *fuse.Program, i int) bool { return p.Steps[i].Inner == nil }, want: "CccC"},
		{tail: "qcrqc", can: func(p *fuse.Program, i int) bool { return false }},
	} {
		p := codesNetwork(t, c.tail)
		before := len(p.Steps)
		q := p.CodesInside(c.can)
		if len(p.Steps) != before {
			t.Errorf("%s: the program changed", c.tail)
		}
		if q == nil {
			if c.want != "" {
				t.Errorf("%s: nothing, want %s", c.tail, c.want)
			}
			continue
		}
		var got strings.Builder
		for i := range q.Steps {
			switch s := &q.Steps[i]; {
			case s.Kind != fuse.Conv:
				got.WriteString(s.Kind.String())
			case !s.Integer():
				got.WriteByte('C')
			case s.Inner != nil:
				got.WriteByte('b')
				checkReach(t, q, s, 2)
			default:
				got.WriteByte('c')
				checkReach(t, q, s, 1)
			}
		}
		if got.String() != c.want {
			t.Errorf("%s: %s, want %s", c.tail, got.String(), c.want)
		}
		if slices.ContainsFunc(q.Tensors, func(t fuse.Tensor) bool { return t.Storage == fuse.Codes }) {
			t.Errorf("%s: codes are stored", c.tail)
		}
		if got, want := operations(q), operations(p); got != want {
			t.Errorf("%s: %d operations, want %d", c.tail, got, want)
		}
		q.StoreOctets(func(int, bool) bool { return true })
		if !q.CodesOfOctets() {
			t.Errorf("%s: not octets", c.tail)
		}
	}
}

// operations counts those of a program's convolutions.
func operations(p *fuse.Program) (n int64) {
	for i := range p.Steps {
		n += p.FLOPs(&p.Steps[i], 12)
	}
	return n
}

// checkReach checks which rows of its source a step reads.
func checkReach(t *testing.T, p *fuse.Program, s *fuse.Step, reach int) {
	t.Helper()
	if got := p.Need(s, s.Src[0].Tensor, 5); got != 5+reach {
		t.Errorf("%s: rows before 5 need %d", s.Name, got)
	}
	if got := p.Oldest(s, s.Src[0].Tensor, 5); got != 5-reach {
		t.Errorf("%s: rows from 5 on need those from %d on", s.Name, got)
	}
}
