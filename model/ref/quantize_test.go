package ref

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/model"
)

// quantNet is a convolution of codes behind its OpQuantize.
func quantNet(rng *rand.Rand, c, outs, k int, pad model.PadMode) *model.Model {
	signed := rng.IntN(2) == 0
	zero := rng.IntN(256)
	if signed {
		zero -= 128
	}
	g := &model.Graph{Out: 2, Nodes: []model.Node{{Name: "in", Op: model.OpInput, C: c},
		{Name: "q", Op: model.OpQuantize, In: []int{0}, Step: 0.01, Zero: zero, Signed: signed},
		{Name: "c", Op: model.OpQuantConv, In: []int{1}, C: outs, K: k, Pad: pad, Weight: "w", Bias: "b", Scales: "s"}}}
	return &model.Model{Arch: "test", Graph: g, Params: model.FormulaParams("1", g), Convention: model.Convention{Gamma: 1, Divisor: 1,
		Output: model.OutputDisplaySRGB, Multiple: 1, MinSide: 1, ScaleNum: 1, ScaleDen: 1, Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}}}
}

// quantConvPlain is quantConv by loops over integers.
func (e *executor[T]) quantConvPlain(ctx context.Context, dst, src []T, s model.Shape, n *model.Node) error {
	zero := int32(e.m.Graph.Nodes[n.In[0]].Zero)
	weight, scales, bias := e.param(n.Weight), e.param(n.Scales), e.param(n.Bias)
	return e.pool.each(ctx, n.C*s.H, func(_, task int) {
		o, y := task/s.H, task%s.H
		for x := range s.W {
			var sum int32
			for c := range s.C {
				for i := range n.K {
					for j := range n.K {
						sy, sx := outside(y+i-n.K/2, s.H, n.Pad), outside(x+j-n.K/2, s.W, n.Pad)
						if sy >= 0 && sx >= 0 {
							sum += int32(weight[((o*s.C+c)*n.K+i)*n.K+j]) * (int32(src[(c*s.H+sy)*s.W+sx]) - zero)
						}
					}
				}
			}
			dst[(o*s.H+y)*s.W+x] = T(model.FMA(float32(sum), scales[o], bias[o]))
		}
	})
}

// TestQuantConv compares sums in blocks of float32 with sums of integers, at the largest codes and weights too.
func TestQuantConv(t *testing.T) {
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		c, k := 1+rng.IntN(140), 1+2*rng.IntN(3)
		m := quantNet(rng, c, 1+rng.IntN(9), k, model.PadMode(rng.IntN(3)))
		if seed%3 == 0 {
			for i := range m.Params["w"].Data {
				m.Params["w"].Data[i] = -128
			}
		}
		h, w := 1+rng.IntN(9), 1+rng.IntN(12)
		in := make([]float32, c*h*w)
		for i := range in {
			in[i] = 8 * (rng.Float32() - 0.5)
			if seed%3 == 0 {
				in[i] = 100
			}
		}
		var want []float32
		e := &executor[float32]{m: m, pool: newPool(Options{}, 0)}
		got, s, err := Run(context.Background(), m, in, h, w, Options{Dump: func(node string, s model.Shape, data []float32) {
			if node == "q" {
				want = make([]float32, m.Graph.Nodes[2].C*h*w)
				if err := e.quantConvPlain(context.Background(), want, data, s, &m.Graph.Nodes[2]); err != nil {
					t.Error(err)
				}
			}
		}})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("seed %d: %d channels to %v by %dx%[4]d: sums in blocks differ from sums of integers", seed, c, s, k)
		}
	}
}

func TestQuantConvByHand(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	m := quantNet(rng, 1, 1, 3, model.PadZero)
	m.Graph.Nodes[1].Step, m.Graph.Nodes[1].Zero, m.Graph.Nodes[1].Signed = 0.5, 10, false
	m.Params["w"].Data = []float32{1, 2, 3, 4, 5, 6, 7, 8, 9}
	m.Params["s"].Data, m.Params["b"].Data = []float32{0.25}, []float32{1}
	// The codes are 12 and 6 (of -2.2: -4.4 rounds to -4), their distances from zero 2 and -4.
	got, _, err := Run(context.Background(), m, []float32{1, -2.2}, 1, 2, Options{})
	if want := []float32{(2*5-4*6)*0.25 + 1, (2*4-4*5)*0.25 + 1}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v; %v", got, want, err)
	}
}

func TestDequantize(t *testing.T) {
	m := quantNet(rand.New(rand.NewPCG(1, 1)), 1, 1, 1, model.PadZero)
	m.Graph.Nodes[1].Step, m.Graph.Nodes[1].Zero, m.Graph.Nodes[1].Signed = 0.5, -3, true
	m.Graph.Nodes[2] = model.Node{Name: "d", Op: model.OpDequantize, In: []int{1}, Step: 0.5, Zero: -3}
	m.Params = map[string]*model.Tensor{}
	got, _, err := Run(context.Background(), m, []float32{0, 1.3, 1000, -1000}, 2, 2, Options{})
	if want := []float32{0, 1.5, 65, -62.5}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, want %v; %v", got, want, err)
	}
}
