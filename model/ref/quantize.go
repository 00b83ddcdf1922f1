package ref

import (
	"context"

	"enhance/model"
)

// exactTerms is how many products of a code's distance from zero and a weight float32 sums exactly, in any
// order: 2^24/(255·128).
const exactTerms = 1 << 24 / (255 * 128)

// quantConv is a convolution of codes: of every output the sum over c, i and j of weight[o,c,i,j] times the
// code's distance from zero, exactly, then times scales[o], plus bias[o].
func (e *executor[T]) quantConv(ctx context.Context, dst, src []T, s model.Shape, n *model.Node) error {
	area, taps := s.H*s.W, n.K*n.K
	zero := T(e.m.Graph.Nodes[n.In[0]].Zero)
	weight, scales, bias := e.param(n.Weight), e.param(n.Scales), e.param(n.Bias)
	each := min(exactTerms/taps, s.C) // channels whose sums float32 holds
	sums, part, none := make([]int32, len(dst)), make([]T, len(dst)), make([]float32, n.C)
	for first := 0; first < s.C; first += each {
		c := min(each, s.C-first)
		distances, some := make([]T, c*area), make([]float32, 0, n.C*c*taps)
		for i, q := range src[first*area:][:c*area] {
			distances[i] = q - zero
		}
		for o := range n.C {
			some = append(some, weight[(o*s.C+first)*taps:][:c*taps]...)
		}
		if err := e.conv(ctx, e.pool, part, distances, model.Shape{C: c, H: s.H, W: s.W}, some, none, n.K, n.Pad); err != nil {
			return err
		}
		for i, v := range part {
			sums[i] += int32(v)
		}
	}
	return e.pool.each(ctx, n.C, func(_, o int) {
		for i, sum := range sums[o*area:][:area] {
			dst[o*area+i] = T(model.FMA(float32(sum), scales[o], bias[o]))
		}
	})
}

// quantize gives the codes of samples; dst may be src.
func quantize[T sample](dst, src []T, n *model.Node) {
	for i, v := range src {
		dst[i] = T(n.Code(float32(v)))
	}
}

// dequantize gives the samples of codes; dst may be src.
func dequantize[T sample](dst, src []T, n *model.Node) {
	for i, q := range src {
		dst[i] = T((float32(q) - float32(n.Zero)) * n.Step)
	}
}
