package onnximport_test

import (
	"math"
	"testing"

	"enhance/internal/onnxtest"
	"enhance/model"
	"enhance/model/onnximport"
	"enhance/model/ref"
)

// convolvedCodes is what ONNX says of a convolution between quantisations, in float64.
func convolvedCodes(in []float64, c, h, w int, step float64, zero, least, greatest float64) []float64 {
	out := make([]float64, len(in))
	sample := func(k, y, x int) float64 {
		if y < 0 || x < 0 || y >= h || x >= w {
			return 0
		}
		q := math.RoundToEven(in[(k*h+y)*w+x]/step) + zero
		return (min(max(q, least), greatest) - zero) * step
	}
	for o := range c {
		for y := range h {
			for x := range w {
				sum := 0.0
				for k := range c {
					for t := range 9 {
						sum += float64(((o*c+k)*9+t)*37%255-127) * sample(k, y+t/3-1, x+t%3-1)
					}
				}
				out[(o*h+y)*w+x] = sum/float64(int(256)<<(o%3)) + float64(o)/8
			}
		}
	}
	return out
}

// TestQuantizedByHand: a network between QuantizeLinear and DequantizeLinear becomes convolutions of codes, and
// the result is what ONNX says.
func TestQuantizedByHand(t *testing.T) {
	const c, h, w = 5, 6, 7
	net, err := importNet(t, onnxtest.Quantized(c), onnximport.Options{H: h, W: w})
	if err != nil {
		t.Fatal(err)
	}
	codes := 0
	for _, n := range net.Model.Graph.Nodes {
		switch n.Op {
		case model.OpQuantConv:
			codes++
		case model.OpConv:
			t.Errorf("%s is a convolution of samples", n.Name)
		}
	}
	if codes != 2 {
		t.Errorf("%d convolutions of codes, want 2", codes)
	}
	in, wide := make([]float32, c*h*w), make([]float64, c*h*w)
	for i := range in {
		in[i] = float32(i*i%257)/32 - 4
		wide[i] = float64(in[i])
	}
	got, _, err := ref.Run(t.Context(), net.Model, in, h, w, ref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	want := convolvedCodes(wide, c, h, w, 1.0/32, 100, 0, 255)
	for i, v := range want {
		want[i] = max(v, 0)
	}
	want = convolvedCodes(want, c, h, w, 0.25, -128, -128, 127)
	for i := range want {
		if v := want[i] + wide[i]; math.Abs(float64(got[i])-v) > 1e-6*(1+math.Abs(v)) {
			t.Fatalf("sample %d is %g, want %g", i, got[i], v)
		}
	}
}

// TestIntegersAsSamples: what has no kernel for codes runs on samples: strides, and weights of 9 bits.
func TestIntegersAsSamples(t *testing.T) {
	for name, n := range map[string]*onnxtest.Net{
		"stride": small("ConvInteger", map[string]any{"strides": []int64{2, 2}}, []string{"w", "z"}, bytes("w", false, 1, 4, 1, 1), bytes("z", true)),
		"9 bits": small("ConvInteger", nil, []string{"w", "z", "u"}, bytes("w", true, 1, 4, 1, 1), bytes("z", true), bytes("u", true)),
	} {
		net, err := importNet(t, n, onnximport.Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, node := range net.Model.Graph.Nodes {
			if node.Op == model.OpQuantConv {
				t.Errorf("%s: %s is a convolution of codes", name, node.Name)
			}
		}
	}
}

// bytes is a tensor of integers of 8 bits: 200, or -3 if they are signed.
func bytes(name string, unsigned bool, dims ...int64) onnxtest.Tensor {
	t := onnxtest.Tensor{Name: name, Dims: dims, Bits: 8, Unsigned: unsigned}
	n := int64(1)
	for _, d := range dims {
		n *= d
	}
	for i := range n {
		v := int64(-3)
		if unsigned {
			v = 255 * (i % 2)
		}
		t.Ints = append(t.Ints, v)
	}
	return t
}
