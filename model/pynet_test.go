package model

import (
	"slices"
	"strings"
	"testing"
)

func countParams(g *Graph) (n int64) {
	for _, s := range g.Params() {
		n += elems(s.Shape)
	}
	return n
}

func countOps(g *Graph, op Op) (n int) {
	for i := range g.Nodes {
		if g.Nodes[i].Op == op {
			n++
		}
	}
	return n
}

// The counts are those of the paper's network at its full width.
func TestPyNETCounts(t *testing.T) {
	full := PyNETOptions{InstanceNorm: true, InstanceNormLevel1: true}
	side := full
	side.SideOutputs = true
	if n := countParams(PyNET(side)); n != 47_554_738 {
		t.Errorf("%d parameters with side outputs, want 47.55 M", n)
	}
	if n := countParams(PyNET(full)); n != 47_527_939 {
		t.Errorf("%d parameters at level 0, want 47.53 M", n)
	}
	if n := countOps(PyNET(side), OpConv); n != 147 {
		t.Errorf("%d convolutions with side outputs, want 147", n)
	}
	if n := countOps(PyNET(full), OpConv); n != 142 {
		t.Errorf("%d convolutions at level 0, want 142", n)
	}
	if n := countParams(PyNETS(pynetsWidths)); n != 1138184 {
		t.Errorf("pynet-s has %d parameters, want 1138184", n)
	}
}

func TestPyNETLevels(t *testing.T) {
	for level := 0; level <= 5; level++ {
		g := PyNET(PyNETOptions{Level: level, Width: 4, InstanceNorm: true, InstanceNormLevel1: true})
		shapes, err := g.Shapes(32, 48)
		if err != nil {
			t.Fatalf("level %d: %v", level, err)
		}
		c := pynetConvention(level)
		want := Shape{3, 32 * c.ScaleNum / c.ScaleDen, 48 * c.ScaleNum / c.ScaleDen}
		if shapes[g.Out] != want {
			t.Errorf("level %d: output %v, want %v", level, shapes[g.Out], want)
		}
		if dead := unused(g); len(dead) > 0 {
			t.Errorf("level %d: nodes nothing needs: %v", level, dead)
		}
	}
}

// unused names the nodes that the output does not depend on.
func unused(g *Graph) (names []string) {
	used := make([]bool, len(g.Nodes))
	used[g.Out] = true
	for i := len(g.Nodes) - 1; i >= 0; i-- {
		for _, in := range g.Nodes[i].In {
			used[in] = used[in] || used[i]
		}
		if !used[i] {
			names = append(names, g.Nodes[i].Name)
		}
	}
	return names
}

func TestPyNETNormOptions(t *testing.T) {
	normed := func(o PyNETOptions) (levels string) {
		g := PyNET(o)
		for _, level := range "12345" {
			if slices.ContainsFunc(g.Nodes, func(n Node) bool {
				return n.Op == OpInstanceNorm && strings.HasPrefix(n.Name, "conv_l"+string(level))
			}) {
				levels += string(level)
			}
		}
		return levels
	}
	for _, c := range []struct {
		o    PyNETOptions
		want string
	}{
		{PyNETOptions{}, ""},
		{PyNETOptions{InstanceNorm: true}, "2345"},
		{PyNETOptions{InstanceNormLevel1: true}, "1"},
		{PyNETOptions{InstanceNorm: true, InstanceNormLevel1: true}, "12345"},
	} {
		if got := normed(c.o); got != c.want {
			t.Errorf("%+v: levels %q are normalised, want %q", c.o, got, c.want)
		}
	}
}

func TestPyNETRefusesOptions(t *testing.T) {
	for _, o := range []PyNETOptions{{Level: -1}, {Level: 6}, {Width: 3}, {Width: -2}, {Width: 2048}, {End: 2}, {End: EndShuffle, Level: 1}, {End: EndShuffle, SideOutputs: true}} {
		if o.Validate() == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}
