package fuse_test

import (
	"math/rand/v2"
	"testing"

	"enhance/internal/fuse"
	"enhance/internal/fusetest"
	"enhance/model"
)

// TestPadIndex holds the padding of every mode against its definition.
func TestPadIndex(t *testing.T) {
	for n := 1; n < 6; n++ {
		for i := -9; i < n+9; i++ {
			inside := i >= 0 && i < n
			for pad, want := range map[model.PadMode]int{model.PadReflect: fuse.Reflect(i, n), model.PadZero: -1, model.PadEdge: min(max(i, 0), n-1)} {
				if inside {
					want = i
				}
				if got := fuse.PadIndex(pad, i, n); got != want {
					t.Errorf("padding %d, index %d of %d: %d, want %d", pad, i, n, got, want)
				}
			}
		}
	}
}

// convolutions is a graph of two convolutions with their padding.
func convolutions(a, b model.PadMode) *model.Graph {
	return &model.Graph{Nodes: []model.Node{
		{Name: "in", Op: model.OpInput, C: 2},
		{Name: "a", Op: model.OpConv, In: []int{0}, C: 3, K: 5, Pad: a, Weight: "a.weight", Bias: "a.bias"},
		{Name: "b", Op: model.OpConv, In: []int{1}, C: 2, K: 3, Pad: b, Weight: "b.weight", Bias: "b.bias"},
	}, Out: 2}
}

// TestProgramPadding: a program pads as its convolutions do, and its steps give what plain
// loops with that padding give.
func TestProgramPadding(t *testing.T) {
	for _, pad := range []model.PadMode{model.PadReflect, model.PadZero, model.PadEdge} {
		p, err := fuse.Fuse(convolutions(pad, pad), 7, 6)
		if err != nil {
			t.Fatal(err)
		}
		if p.Pad != pad {
			t.Errorf("the program pads as %d, its convolutions as %d", p.Pad, pad)
		}
		rng := rand.New(rand.NewPCG(1, uint64(pad)))
		params := map[string]*model.Tensor{}
		for name, n := range map[string]int{"a.weight": 3 * 2 * 25, "a.bias": 3, "b.weight": 2 * 3 * 9, "b.bias": 2} {
			v := make([]float32, n)
			for i := range v {
				v[i] = rng.Float32() - 0.5
			}
			params[name] = &model.Tensor{Shape: []int{n}, Data: v}
		}
		in := make([]float64, 2*7*6)
		for i := range in {
			in[i] = rng.Float64()
		}
		got, err := fusetest.Run(p, params, in)
		if err != nil {
			t.Fatal(err)
		}
		want := plainConv(plainConv(in, 2, 7, 6, params["a.weight"].Data, params["a.bias"].Data, 5, pad), 3, 7, 6, params["b.weight"].Data, params["b.bias"].Data, 3, pad)
		for i := range want {
			if d := got[i] - want[i]; d > 1e-12 || d < -1e-12 {
				t.Fatalf("padding %d: sample %d is %v, want %v", pad, i, got[i], want[i])
			}
		}
	}
}

// plainConv pads the planes first and convolves what it then has.
func plainConv(in []float64, c, h, w int, weight, bias []float32, k int, pad model.PadMode) []float64 {
	r := k / 2
	padded := make([]float64, c*(h+2*r)*(w+2*r))
	for i := range padded {
		x, y, ch := i%(w+2*r)-r, i/(w+2*r)%(h+2*r)-r, i/(w+2*r)/(h+2*r)
		if pad == model.PadZero && (x < 0 || y < 0 || x >= w || y >= h) {
			continue
		}
		if pad == model.PadEdge {
			x, y = min(max(x, 0), w-1), min(max(y, 0), h-1)
		}
		padded[i] = in[(ch*h+fuse.Reflect(y, h))*w+fuse.Reflect(x, w)]
	}
	out := make([]float64, len(bias)*h*w)
	for i := range out {
		x, y, o := i%w, i/w%h, i/w/h
		out[i] = float64(bias[o])
		for j := range c * k * k {
			kx, ky, ch := j%k, j/k%k, j/k/k
			out[i] += float64(weight[o*c*k*k+j]) * padded[(ch*(h+2*r)+y+ky)*(w+2*r)+x+kx]
		}
	}
	return out
}
