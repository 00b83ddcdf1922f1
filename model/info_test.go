package model

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// The figures for one 12 MP photo are those worked out for the paper's network.
func TestPyNETCosts(t *testing.T) {
	o := PyNETOptions{InstanceNorm: true, InstanceNormLevel1: true, SideOutputs: true}
	if all := allFLOPs(t, PyNET(o)); fmt.Sprintf("%.2f", float64(all)/1e12) != "38.97" {
		t.Errorf("%d FLOP with side outputs, want 38.97 T", all)
	}
	flops, err := PyNET(o).FLOPs(1440, 1984)
	if err != nil {
		t.Fatal(err)
	}
	o.SideOutputs = false
	g := PyNET(o)
	if all := allFLOPs(t, g); all != flops {
		t.Errorf("%d FLOP without side outputs, %d of what level 0 needs", all, flops)
	}
	if s := fmt.Sprintf("%.3f", float64(flops)/1e12); s != "38.961" {
		t.Errorf("%s TFLOP at level 0, want 38.961", s)
	}
	samples, node, err := g.PeakActivations(1440, 1984)
	if err != nil {
		t.Fatal(err)
	}
	// d6, l1_d1, t1b, the 3, 5 and 7 branches and both sides of the last 9×9.
	if want := int64(128+32+32+3*32+32+32) * 1440 * 1984; samples != want {
		t.Errorf("%d samples at %s, want %d", samples, node, want)
	}
	if !strings.HasPrefix(node, "conv_l1_d7.") {
		t.Errorf("peak at %s, want it inside conv_l1_d7", node)
	}
}

// allFLOPs is the work of all nodes, needed or not.
func allFLOPs(t *testing.T, g *Graph) (sum int64) {
	shapes, err := g.Shapes(1440, 1984)
	if err != nil {
		t.Fatal(err)
	}
	for i := range g.Nodes {
		sum += g.NodeFLOPs(i, shapes)
	}
	return sum
}

func TestPyNETSCosts(t *testing.T) {
	m, err := Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	info, err := m.Info(2880, 3968)
	if err != nil {
		t.Fatal(err)
	}
	if info.Parameters != 1138184 || info.Input != (Shape{4, 1440, 1984}) || info.Output != (Shape{3, 2880, 3968}) {
		t.Errorf("%d parameters, %v to %v", info.Parameters, info.Input, info.Output)
	}
	var sum int64
	for _, l := range info.Layers {
		sum += l.Params
	}
	if sum != info.Parameters {
		t.Errorf("layers have %d parameters of %d", sum, info.Parameters)
	}
	if s := fmt.Sprintf("%.2f", float64(info.FLOPs)/1e12); s != "1.01" {
		t.Errorf("%s TFLOP, want 1.01", s)
	}
	var text strings.Builder
	if err := info.WriteText(&text, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1138184", "1.01 TFLOP", "conv_l1_d7.conv_3b.conv2d", "3968x2880, 11.4 MP"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the table lacks %q", want)
		}
	}
}

// TestInfoFacts: which photos a network is for is said, and facts of any length take a line that can be read.
func TestInfoFacts(t *testing.T) {
	for spec, want := range map[string]string{
		"fast":    "for                  Bayer mosaics, told the noise level\n",
		"pynet-s": "for             Bayer mosaics\n",
		"any":     "for              X-Trans mosaics, quad-Bayer mosaics and demosaiced photos, told the noise level\n",
	} {
		m, err := Load(spec)
		if err != nil {
			t.Fatal(err)
		}
		m.Meta = maps.Clone(m.Meta)
		if m.Meta == nil {
			m.Meta = map[string]string{}
		}
		m.Meta["train.zzz"] = strings.Repeat("é", 2000)
		info, err := m.Info(288, 396)
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := info.WriteText(&text, false); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(text.String(), want) {
			t.Errorf("%s: %q is missing in\n%s", spec, want, text.String())
		}
		if want := strings.Repeat("é", 250) + "... (4000 bytes)\n"; !strings.HasSuffix(text.String(), " "+want) {
			t.Errorf("%s: a long fact is %q", spec, text.String())
		}
	}
}

func TestPeakActivations(t *testing.T) {
	b := NewBuilder(1)
	x := b.Conv("x", "x", 0, 2, 3)
	y := b.Sigmoid("y", x)            // x is read again: needs its own storage
	z := b.LeakyReLU("z", y, 0.5)     // in place of y
	c := b.Concat("c", x, z)          // no storage: 4 channels in x and y
	s := b.Add("s", c, c)             // in place of both
	b.Conv("dead", "dead", s, 100, 1) // not run
	g := b.mustGraph(b.MaxPool("p", s))
	samples, node, err := g.PeakActivations(4, 4)
	if err != nil {
		t.Fatal(err)
	}
	if want := int64(4*16 + 4*4); samples != want || node != "p" {
		t.Errorf("%d samples at %s, want %d at p", samples, node, want)
	}
}

func TestPaddedSides(t *testing.T) {
	c := pynetConvention(0)
	for _, v := range [][4]int{{1, 1, 32, 32}, {32, 33, 32, 48}, {1440, 1984, 1440, 1984}, {31, 47, 32, 48}} {
		if h, w := c.PaddedSides(v[0], v[1]); h != v[2] || w != v[3] {
			t.Errorf("%dx%d is padded to %dx%d, want %dx%d", v[0], v[1], h, w, v[2], v[3])
		}
	}
}
