package onnximport_test

import (
	"math"
	"testing"

	"enhance/internal/onnxtest"
	"enhance/model"
	"enhance/model/onnx"
	"enhance/model/onnximport"
	"enhance/model/ref"
)

// TestActivationsWrittenOut: activations that exporters write out become one node behind the convolution, and
// what only looks like one keeps its nodes; both compute what they say.
func TestActivationsWrittenOut(t *testing.T) {
	number := func(name string, v float32) onnxtest.Tensor { return onnxtest.Tensor{Name: name, Floats: []float32{v}} }
	node := func(op, out string, in ...string) onnxtest.Node {
		return onnxtest.Node{Op: op, In: in, Out: []string{out}}
	}
	numbers := []onnxtest.Tensor{number("half", 0.5), number("one", 1), number("two", 2), number("three", 3), number("six", 6), number("zero", 0), number("root", math.Sqrt2)}
	hardSigmoid := onnxtest.Node{Op: "HardSigmoid", In: []string{"x"}, Out: []string{"a"}, Attrs: map[string]any{"alpha": float32(1) / 6}}
	sigmoid := func(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
	gelu := func(x float64) float64 { return 0.5 * x * (1 + math.Erf(x/math.Sqrt2)) }
	hardSwish := func(x float64) float64 { return x * min(max(x+3, 0), 6) / 6 }
	erf := []onnxtest.Node{node("Div", "a", "x", "root"), node("Erf", "b", "a")}
	tests := map[string]struct {
		nodes []onnxtest.Node
		f     model.Func // FuncNone: none is to be recognised
		right func(x float64) float64
	}{
		"silu":                  {[]onnxtest.Node{node("Sigmoid", "a", "x"), node("Mul", "y", "x", "a")}, model.FuncSiLU, func(x float64) float64 { return x * sigmoid(x) }},
		"silu, turned":          {[]onnxtest.Node{node("Sigmoid", "a", "x"), node("Mul", "y", "a", "x")}, model.FuncSiLU, func(x float64) float64 { return x * sigmoid(x) }},
		"hard swish":            {[]onnxtest.Node{hardSigmoid, node("Mul", "y", "x", "a")}, model.FuncHardSwish, hardSwish},
		"hard swish, clip":      {[]onnxtest.Node{node("Add", "a", "x", "three"), node("Clip", "b", "a", "zero", "six"), node("Mul", "c", "x", "b"), node("Div", "y", "c", "six")}, model.FuncHardSwish, hardSwish},
		"hard swish, clip/6":    {[]onnxtest.Node{node("Add", "a", "x", "three"), node("Clip", "b", "a", "zero", "six"), node("Div", "c", "b", "six"), node("Mul", "y", "c", "x")}, model.FuncHardSwish, hardSwish},
		"gelu":                  {append(erf, node("Add", "c", "b", "one"), node("Mul", "d", "x", "c"), node("Mul", "y", "d", "half")), model.FuncGELU, gelu},
		"gelu, half first":      {append(erf, node("Add", "c", "b", "one"), node("Mul", "d", "x", "half"), node("Mul", "y", "d", "c")), model.FuncGELU, gelu},
		"mish":                  {[]onnxtest.Node{node("Softplus", "a", "x"), node("Tanh", "b", "a"), node("Mul", "y", "x", "b")}, model.FuncMish, func(x float64) float64 { return x * math.Tanh(math.Log1p(math.Exp(x))) }},
		"not gelu: another sum": {append(erf, node("Add", "c", "b", "two"), node("Mul", "d", "x", "c"), node("Mul", "y", "d", "half")), model.FuncNone, func(x float64) float64 { return 0.5 * x * (2 + math.Erf(x/math.Sqrt2)) }},
		"not gelu: a third":     {append(erf, node("Add", "c", "b", "one"), node("Mul", "d", "x", "c"), node("Div", "y", "d", "three")), model.FuncNone, func(x float64) float64 { return 2.0 / 3 * gelu(x) }},
		"not silu":              {[]onnxtest.Node{node("Sigmoid", "a", "x"), node("Mul", "b", "x", "two"), node("Mul", "y", "b", "a")}, model.FuncNone, func(x float64) float64 { return 2 * x * sigmoid(x) }},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			weight := onnxtest.Tensor{Name: "w", Dims: []int64{1, 1, 1, 1}, Floats: []float32{1}}
			net := &onnxtest.Net{Opset: 17, Inputs: []onnxtest.Value{{Name: "in", Dims: []int64{1, 1, 4, 5}}}, Outputs: []onnxtest.Value{{Name: "y"}},
				Init: append(numbers, weight), Nodes: append([]onnxtest.Node{node("Conv", "x", "in", "w")}, test.nodes...)}
			f, err := onnx.Parse(net.Encode(), "")
			if err != nil {
				t.Fatal(err)
			}
			made, err := onnximport.Import(f, onnximport.Options{})
			if err != nil {
				t.Fatal(err)
			}
			nodes := made.Model.Graph.Nodes
			if one := len(nodes) == 3 && nodes[2].Func == test.f; one != (test.f != model.FuncNone) {
				t.Errorf("%d nodes, the last %s of function %d", len(nodes), nodes[len(nodes)-1].Op, nodes[len(nodes)-1].Func)
			}
			in := make([]float32, 20)
			for i := range in {
				in[i] = float32(i-10) * 0.71
			}
			out, _, err := ref.Run(t.Context(), made.Model, in, 4, 5, ref.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, x := range in {
				if want := test.right(float64(x)); math.Abs(float64(out[i])-want) > 2e-6*max(1, math.Abs(want)) {
					t.Errorf("of %g: %g, want %g", x, out[i], want)
				}
			}
		})
	}
}
