package model_test

import (
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"enhance/internal/modeltest"
	"enhance/model"
	"enhance/model/ref"
)

// TestUntilGivesTheDumpedValue cuts random networks at every node and compares
// the result with the value that the whole network had there.
func TestUntilGivesTheDumpedValue(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 7))
		g := modeltest.Graph(rng, modeltest.Options{})
		m := modeltest.Model("until", g)
		h, w := modeltest.Sides(rng, g, 12, 12)
		shapes, err := g.Shapes(h, w)
		if err != nil {
			t.Fatal(err)
		}
		in := model.FormulaTensor("until", "input", int(shapes[0].Elems()))
		want := map[string][]float32{}
		opt := ref.Options{Dump: func(node string, _ model.Shape, data []float32) { want[node] = slices.Clone(data) }}
		if _, _, err := ref.Run(context.Background(), m, in, h, w, opt); err != nil {
			t.Fatal(err)
		}
		for _, n := range g.Nodes {
			cut, err := m.Until(n.Name)
			if err != nil {
				t.Fatal(err)
			}
			got, _, err := ref.Run(context.Background(), cut, in, h, w, ref.Options{})
			if err != nil {
				t.Fatalf("seed %d, until %s: %v", seed, n.Name, err)
			}
			if !slices.Equal(got, want[n.Name]) {
				t.Errorf("seed %d: the network cut at %s gives another value", seed, n.Name)
			}
		}
	}
}

func TestUntilLeavesOutWhatIsNotNeeded(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	cut, err := m.Until("conv_l1_d1")
	if err != nil {
		t.Fatal(err)
	}
	if err := cut.Validate(); err != nil {
		t.Error(err)
	}
	if len(cut.Params) != 4 || len(m.Params) < 50 || cut.Params["conv_l1_d1.conv_3a.conv2d.weight"] != m.Params["conv_l1_d1.conv_3a.conv2d.weight"] {
		t.Errorf("%d of %d parameters are left, want the 4 of two convolutions", len(cut.Params), len(m.Params))
	}
}

func TestUntilNamesNodes(t *testing.T) {
	m, err := model.Load("pynet-s")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"conv_l4_d3.conv_3a.conv": "conv_l4_d3.conv_3a.conv2d",
		"l4_d3":                   "conv_l4_d3",
		"nonsense":                "nodes are called like",
		"":                        "nodes are called like",
	} {
		if _, err := m.Until(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", name, err, want)
		}
	}
}
