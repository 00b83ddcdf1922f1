package main

import (
	"encoding/binary"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// onnxKinds are networks of other makers. Their graphs are made up as well as damaged: a
// mutator of bytes seldom leaves a protocol buffer whole.
var onnxKinds = []kind{
	{name: "ONNX", weight: 4, make: func(c *campaign, a *attempt) error {
		net := a.onnxFile()
		if a.IntN(4) == 0 {
			net = mutate(a.Rand, net)
		}
		path := a.file("net.onnx", net)
		if a.IntN(3) == 0 {
			a.info(path)
			a.maybe("--json")
			return nil
		}
		s := c.files.references[a.IntN(len(c.files.references))]
		a.args = []string{"apply", "-g", "host", "-m", path, a.file(s.name, s.data)}
		a.output("out.png")
		a.maybe("--dry-run")
		return nil
	}},
	{name: "applied pictures", weight: 1, make: func(c *campaign, a *attempt) error {
		s := c.files.references[a.IntN(len(c.files.references))]
		weights := onnxTensor("w", []int64{3, 3, 3, 3}, make([]float32, 81))
		net := onnxModel([][]byte{onnxNode("Conv", []string{"x", "w"}, "y", onnxInts("pads", 1, 1, 1, 1))}, [][]byte{weights}, []int64{1, 3, -1, -1}, "y")
		a.args = []string{"apply", "-g", "host", "-m", a.file("net.onnx", net), a.file(s.name, a.damage(s))}
		a.output("out.png")
		a.maybe("--dry-run")
		return nil
	}},
}

// field appends a field of bytes, and number one of an integer.
func field(b []byte, n int, data []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, protowire.Number(n), protowire.BytesType), data)
}

func number(b []byte, n int, v int64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, protowire.Number(n), protowire.VarintType), uint64(v))
}

// The numbers of fields and types are those of onnx.proto3.

func onnxTensor(name string, dims []int64, values []float32) (b []byte) {
	for _, d := range dims {
		b = number(b, 1, d)
	}
	b = field(number(b, 2, 1), 8, []byte(name)) // data_type FLOAT
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(v))
	}
	return field(b, 9, data)
}

func onnxIndices(name string, values []int64) []byte {
	b := field(number(number(nil, 1, int64(len(values))), 2, 7), 8, []byte(name)) // INT64
	var data []byte
	for _, v := range values {
		data = binary.LittleEndian.AppendUint64(data, uint64(v))
	}
	return field(b, 9, data)
}

func onnxInts(name string, values ...int64) []byte {
	b := number(field(nil, 1, []byte(name)), 20, 7) // INTS
	for _, v := range values {
		b = number(b, 8, v)
	}
	return b
}

func onnxInt(name string, v int64) []byte {
	return number(number(field(nil, 1, []byte(name)), 20, 2), 3, v)
}

func onnxText(name, v string) []byte {
	return field(number(field(nil, 1, []byte(name)), 20, 3), 4, []byte(v))
}

func onnxNode(op string, inputs []string, output string, attributes ...[]byte) (b []byte) {
	for _, in := range inputs {
		b = field(b, 1, []byte(in))
	}
	b = field(field(b, 2, []byte(output)), 4, []byte(op))
	for _, at := range attributes {
		b = field(b, 5, at)
	}
	return b
}

// onnxModel is a file of one graph from x to output; a negative side is any.
func onnxModel(nodes, initializers [][]byte, shape []int64, output string) []byte {
	value := func(name string, dims []int64) []byte {
		var s []byte
		for _, d := range dims {
			if d < 0 {
				s = field(s, 1, field(nil, 2, []byte("side")))
			} else {
				s = field(s, 1, number(nil, 1, d))
			}
		}
		return field(field(nil, 1, []byte(name)), 2, field(nil, 1, field(number(nil, 1, 1), 2, s)))
	}
	g := field(nil, 2, []byte("graph"))
	for _, n := range nodes {
		g = field(g, 1, n)
	}
	for _, t := range initializers {
		g = field(g, 5, t)
	}
	g = field(field(g, 11, value("x", shape)), 12, value(output, []int64{1, 3, -1, -1}))
	return field(field(number(nil, 1, 8), 7, g), 8, number(nil, 2, 17))
}

var onnxOps = []string{"Conv", "ConvTranspose", "BatchNormalization", "InstanceNormalization", "LayerNormalization", "GroupNormalization", "LRN", "LpNormalization", "Softmax", "Add", "Sub", "Mul",
	"Div", "Pow", "Concat", "Split", "Slice", "Pad", "DepthToSpace", "SpaceToDepth", "Resize", "Upsample", "MaxPool", "AveragePool", "LpPool", "GlobalMaxPool", "GlobalAveragePool", "ReduceMean", "ReduceSum", "Gemm",
	"MatMul", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Transpose", "Identity", "Cast", "PRelu", "Clip", "Gelu", "Relu", "Sigmoid", "Tanh", "LeakyRelu", "HardSwish", "Constant", "Shape", "Gather", "Loop", "\x1b[2J"}

// onnxFile is a made-up network, mostly of convolutions that fit.
func (a *attempt) onnxFile() []byte {
	var nodes, init [][]byte
	shape := []int64{1, 3, -1, -1}
	if a.IntN(20) == 0 {
		shape[a.IntN(4)] = int64(numbers[a.IntN(len(numbers))])
	}
	last := "x"
	for i := range 1 + a.IntN(5) {
		name, out := string(rune('a'+i)), string(rune('A'+i))
		if a.IntN(2) == 0 {
			dims := []int64{3, 3, 3, 3}
			values := a.singles(81)
			if a.IntN(20) == 0 {
				dims[a.IntN(4)] = int64(numbers[a.IntN(len(numbers))])
			}
			init = append(init, onnxTensor(name, dims, values))
			nodes = append(nodes, onnxNode("Conv", []string{last, name}, out, a.attribute("pads", 1, 1, 1, 1)))
		} else {
			inputs := []string{last}
			for range a.IntN(3) {
				inputs = append(inputs, []string{name, last, "x", ""}[a.IntN(4)])
			}
			values := make([]int64, 1+a.IntN(8))
			for i := range values {
				values[i] = a.small()
			}
			if a.IntN(2) == 0 {
				init = append(init, onnxIndices(name, values))
			} else {
				init = append(init, onnxTensor(name, []int64{3, 1, 1}, a.singles(3)))
			}
			var attributes [][]byte
			for a.IntN(3) == 0 {
				attributes = append(attributes, a.someAttribute())
			}
			nodes = append(nodes, onnxNode(onnxOps[a.IntN(len(onnxOps))], inputs, out, attributes...))
		}
		last = out
	}
	return onnxModel(nodes, init, shape, last)
}

// small is a small whole number, now and then one that breaks arithmetic.
func (a *attempt) small() int64 {
	if a.IntN(10) == 0 {
		return int64(numbers[a.IntN(len(numbers))])
	}
	return int64(a.IntN(6)) - 1
}

// attribute is a list that fits, mostly.
func (a *attempt) attribute(name string, values ...int64) []byte {
	if a.IntN(20) == 0 {
		values[a.IntN(len(values))] = a.small()
	}
	return onnxInts(name, values...)
}

func (a *attempt) someAttribute() []byte {
	switch a.IntN(3) {
	case 0:
		values := make([]int64, 1+a.IntN(6))
		for i := range values {
			values[i] = a.small()
		}
		return onnxInts([]string{"pads", "strides", "kernel_shape", "dilations", "axes", "perm", "output_padding", "split"}[a.IntN(8)], values...)
	case 1:
		return onnxInt([]string{"axis", "group", "blocksize", "keepdims", "transB", "num_groups", "size", "ceil_mode", "to", "p"}[a.IntN(10)], a.small())
	}
	return onnxText([]string{"mode", "auto_pad", "coordinate_transformation_mode", "nearest_mode", "approximate"}[a.IntN(5)],
		[]string{"nearest", "linear", "cubic", "SAME_UPPER", "VALID", "CRD", "DCR", "reflect", "edge", "align_corners", "half_pixel", "tanh", "\x1b[2J"}[a.IntN(13)])
}
