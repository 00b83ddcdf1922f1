package pipeline

import (
	"math"
	"testing"

	"enhance/internal/imgio"
	"enhance/pipeline/facts"
)

// TestTriangles compares resizing with Pillow's (mode F, bilinear).
func TestTriangles(t *testing.T) {
	in := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3}
	for _, want := range [][]float64{
		{2.318182, 3.68, 5.24, 4.454545},
		in,
		{3, 2, 1.5, 3.5, 2.5, 1.666667, 4.333333, 7, 7.833333, 3.166667, 4, 5.833333, 5.166667, 4, 3},
	} {
		for i, r := range triangles(len(in), len(want)) {
			sum := 0.0
			for k, w := range r.weights {
				sum += w * in[r.first+k]
			}
			if math.Abs(sum-want[i]) > 1e-6 {
				t.Errorf("%d of %d samples: %v, Pillow makes %v", i, len(want), sum, want[i])
			}
		}
	}
}

// TestViews: which part of a picture a network sees, in which order and range.
func TestViews(t *testing.T) {
	m := &imgio.RGB16{Width: 10, Height: 4, Pix: make([]uint16, 3*4*10)}
	for y := range 4 {
		for x := range 10 {
			copy(m.Row(y)[3*x:], []uint16{uint16(6553 * x), uint16(6553 * y), 65535})
		}
	}
	for _, c := range []struct {
		view     string
		channels int
		want     func(x, y float64) []float64
	}{
		{"rgb01", 3, func(x, y float64) []float64 { return []float64{x, y, 1} }},
		{"bgr255", 3, func(x, y float64) []float64 { return []float64{255, 255 * y, 255 * x} }},
		{"rgb-11", 1, func(x, y float64) []float64 { return []float64{2*(0.299*x+0.587*y+0.114) - 1} }},
		{"imagenet", 3, func(x, y float64) []float64 {
			return []float64{(x - 0.485) / 0.229, (y - 0.456) / 0.224, (1 - 0.406) / 0.225}
		}},
	} {
		v, err := ParseView(c.view)
		if err != nil {
			t.Fatal(err)
		}
		got, err := v.tensor(m, c.channels, 4, 4)
		if err != nil {
			t.Fatal(err)
		}
		for y := range 4 {
			for x := range 4 { // columns 3 to 6 of 10
				for k, want := range c.want(float64(6553*(x+3))/65535, float64(6553*y)/65535) {
					if g := got[(k*4+y)*4+x]; math.Abs(float64(g)-want) > 1e-5*(1+math.Abs(want)) {
						t.Errorf("%s: channel %d, row %d, column %d: %v, want %v", c.view, k, y, x, g, want)
					}
				}
			}
		}
	}
	if _, err := (&View{Short: 3}).tensor(m, 3, 4, 4); err == nil {
		t.Error("a short side below the network's passes")
	}
}

func TestLikeliest(t *testing.T) {
	got := likeliest([]float32{1, 3, 3, -2}, []string{"a", "b", "c", "d"}, 3, true)
	e := math.Exp(-2)
	all := 2 + e + math.Exp(-5)
	want := []facts.Class{{Index: 1, Label: "b", Value: 3, Probability: 1 / all}, {Index: 2, Label: "c", Value: 3, Probability: 1 / all}, {Label: "a", Value: 1, Probability: e / all}}
	for i, k := range want {
		if g := got[i]; g.Index != k.Index || g.Label != k.Label || g.Value != k.Value || math.Abs(g.Probability-k.Probability) > 1e-12 {
			t.Errorf("class %d: %+v, want %+v", i, g, k)
		}
	}
}
