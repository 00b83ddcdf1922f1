package onnxtest

import (
	"slices"
	"strings"

	"enhance/model/onnx"
)

// ListedOps are the operations that image networks are made of: what docs/onnx.md promises most of.
var ListedOps = []string{
	"Conv", "ConvTranspose", "BatchNormalization", "Pad", "Relu", "LeakyRelu", "PRelu", "Clip", "Sigmoid", "HardSwish", "Swish", "Gelu", "Tanh", "Softmax",
	"Add", "Sub", "Mul", "Div", "Pow", "Min", "Max", "Concat", "Split", "Slice", "DepthToSpace", "SpaceToDepth", "Resize", "Upsample",
	"MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "LayerNormalization", "GroupNormalization", "InstanceNormalization", "LRN",
	"ReduceMean", "Gemm", "MatMul", "Flatten", "Reshape",
}

// Listed reports whether a test is of one node of ListedOps on float32: what other tests there
// are of them are the same in other types, or functions written out in other operations.
func (c *Case) Listed() bool {
	f, err := onnx.Parse(c.Model, "")
	if err != nil || !strings.HasPrefix(c.Name, "node/") || len(f.Graph.Nodes) != 1 || !slices.Contains(ListedOps, f.Graph.Nodes[0].Op) {
		return false
	}
	return len(f.Graph.Inputs) > 0 && f.Graph.Inputs[0].Type == onnx.Float && len(f.Graph.Outputs) > 0 && f.Graph.Outputs[0].Type == onnx.Float
}
