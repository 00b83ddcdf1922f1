package onnxtest

import (
	"encoding/binary"
	"maps"
	"math"
	"slices"
)

// Net is a small ONNX file for tests, written without a protobuf library.
type Net struct {
	Opset   uint64
	Nodes   []Node
	Inputs  []Value
	Outputs []Value
	Init    []Tensor
	Domain  string // of the opset, beside ONNX's own
}

// Node is one operation. An attribute is an int, a float32, a string, []int64, []float32 or a Tensor.
type Node struct {
	Op, Name, Domain string
	In, Out          []string
	Attrs            map[string]any
}

// Value is an input or output of float32; a dimension below 0 is symbolic.
type Value struct {
	Name string
	Dims []int64
}

// Tensor is a constant of float32, or of int64 if Ints is set, of bytes if Bits is 8 too: signed ones, or
// others if Unsigned. External, if not empty, is the name of a file that holds it.
type Tensor struct {
	Bits     int
	Unsigned bool
	Name     string
	Dims     []int64
	Floats   []float32
	Ints     []int64
	External string
}

func number(b []byte, field, v uint64) []byte {
	return binary.AppendUvarint(binary.AppendUvarint(b, field<<3), v)
}

func bytesField(b []byte, field uint64, v []byte) []byte {
	return append(binary.AppendUvarint(binary.AppendUvarint(b, field<<3|2), uint64(len(v))), v...)
}

func text(b []byte, field uint64, s string) []byte { return bytesField(b, field, []byte(s)) }

// Encode is the file.
func (n *Net) Encode() []byte {
	var g []byte
	for _, node := range n.Nodes {
		g = bytesField(g, 1, node.encode())
	}
	for _, t := range n.Init {
		g = bytesField(g, 5, t.encode())
	}
	for _, v := range n.Inputs {
		g = bytesField(g, 11, v.encode())
	}
	for _, v := range n.Outputs {
		g = bytesField(g, 12, v.encode())
	}
	b := number(nil, 1, 8)
	b = bytesField(b, 8, number(nil, 2, n.Opset))
	if n.Domain != "" {
		b = bytesField(b, 8, number(text(nil, 1, n.Domain), 2, 1))
	}
	return bytesField(b, 7, g)
}

func (n *Node) encode() (b []byte) {
	for _, s := range n.In {
		b = text(b, 1, s)
	}
	for _, s := range n.Out {
		b = text(b, 2, s)
	}
	b = text(text(text(b, 3, n.Name), 4, n.Op), 7, n.Domain)
	for _, name := range slices.Sorted(maps.Keys(n.Attrs)) {
		v := n.Attrs[name]
		a := text(nil, 1, name)
		switch v := v.(type) {
		case int:
			a = number(number(a, 20, 2), 3, uint64(v))
		case float32:
			a = binary.LittleEndian.AppendUint32(binary.AppendUvarint(number(a, 20, 1), 2<<3|5), math.Float32bits(v))
		case string:
			a = text(number(a, 20, 3), 4, v)
		case []int64:
			a = number(a, 20, 7)
			for _, i := range v {
				a = number(a, 8, uint64(i))
			}
		case []float32:
			a = number(a, 20, 6)
			for _, f := range v {
				a = binary.LittleEndian.AppendUint32(binary.AppendUvarint(a, 7<<3|5), math.Float32bits(f))
			}
		case Tensor:
			a = bytesField(number(a, 20, 4), 5, v.encode())
		}
		b = bytesField(b, 5, a)
	}
	return b
}

func (v *Value) encode() []byte {
	var shape []byte
	for _, d := range v.Dims {
		dim := text(nil, 2, "side")
		if d >= 0 {
			dim = number(nil, 1, uint64(d))
		}
		shape = bytesField(shape, 1, dim)
	}
	return bytesField(text(nil, 1, v.Name), 2, bytesField(nil, 1, bytesField(number(nil, 1, 1), 2, shape)))
}

func (t *Tensor) encode() (b []byte) {
	for _, d := range t.Dims {
		b = number(b, 1, uint64(d))
	}
	var raw []byte
	kind := uint64(1)
	for _, f := range t.Floats {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(f))
	}
	if t.Ints != nil {
		kind = 7
		for _, i := range t.Ints {
			if t.Bits == 8 {
				raw = append(raw, byte(i))
			} else {
				raw = binary.LittleEndian.AppendUint64(raw, uint64(i))
			}
		}
	}
	if t.Bits == 8 {
		if kind = 3; t.Unsigned {
			kind = 2
		}
	}
	b = text(number(b, 2, kind), 8, t.Name)
	if t.External != "" {
		return number(bytesField(b, 13, text(text(nil, 1, "location"), 2, t.External)), 14, 1)
	}
	return bytesField(b, 9, raw)
}

// Smoother is a network of c channels: a convolution of 3×3 with zeros outside, a leaky ReLU, and a sum with
// its input. Its weights are simple fractions.
func Smoother(c int) *Net {
	w := Tensor{Name: "w", Dims: []int64{int64(c), int64(c), 3, 3}}
	for i := range c * c * 9 {
		w.Floats = append(w.Floats, float32(i%7-3)/32)
	}
	b := Tensor{Name: "b", Dims: []int64{int64(c)}}
	for i := range c {
		b.Floats = append(b.Floats, float32(i)/64)
	}
	picture := []int64{1, int64(c), -1, -1}
	return &Net{Opset: 17, Inputs: []Value{{"x", picture}}, Outputs: []Value{{"y", picture}}, Init: []Tensor{w, b}, Nodes: []Node{
		{Op: "Conv", Name: "conv", In: []string{"x", "w", "b"}, Out: []string{"c"}, Attrs: map[string]any{"pads": []int64{1, 1, 1, 1}}},
		{Op: "LeakyRelu", Name: "act", In: []string{"c"}, Out: []string{"a"}, Attrs: map[string]any{"alpha": float32(0.25)}},
		{Op: "Add", Name: "sum", In: []string{"x", "a"}, Out: []string{"y"}},
	}}
}

// Quantized is a network of c channels in ONNX's form of quantised networks: two convolutions of 3×3 with
// integer weights between QuantizeLinear and DequantizeLinear, a ReLU, and a sum with its input. Steps are such
// that sums have no fractions that float32 does not hold.
func Quantized(c int) *Net {
	picture := []int64{1, int64(c), -1, -1}
	n := &Net{Opset: 17, Inputs: []Value{{"x", picture}}, Outputs: []Value{{"y", picture}}}
	scalar := func(name string, v float32) string {
		n.Init = append(n.Init, Tensor{Name: name, Floats: []float32{v}})
		return name
	}
	zero := func(name string, v int64, unsigned bool) string {
		n.Init = append(n.Init, Tensor{Name: name, Ints: []int64{v}, Bits: 8, Unsigned: unsigned})
		return name
	}
	node := func(op, out string, attrs map[string]any, in ...string) string {
		n.Nodes = append(n.Nodes, Node{Op: op, Name: out, In: in, Out: []string{out}, Attrs: attrs})
		return out
	}
	conv := func(name, in string, step float32, z int64, unsigned bool) string {
		s, zp := scalar(name+".step", step), zero(name+".zero", z, unsigned)
		in = node("DequantizeLinear", name+".in", nil, node("QuantizeLinear", name+".codes", nil, in, s, zp), s, zp)
		w, f := Tensor{Name: name + ".w", Dims: []int64{int64(c), int64(c), 3, 3}, Bits: 8}, Tensor{Name: name + ".f", Dims: []int64{int64(c)}}
		for i := range c * c * 9 {
			w.Ints = append(w.Ints, int64(i*37%255-127))
		}
		b := Tensor{Name: name + ".b", Dims: []int64{int64(c)}}
		for i := range c {
			f.Floats, b.Floats = append(f.Floats, 1/float32(int(256)<<(i%3))), append(b.Floats, float32(i)/8)
		}
		n.Init = append(n.Init, w, f, b)
		weight := node("DequantizeLinear", name+".weight", map[string]any{"axis": 0}, w.Name, f.Name)
		return node("Conv", name, map[string]any{"pads": []int64{1, 1, 1, 1}}, in, weight, b.Name)
	}
	v := node("Relu", "relu", nil, conv("first", "x", 1.0/32, 100, true))
	node("Add", "y", nil, conv("second", v, 0.25, -128, false), "x")
	return n
}

// Enlarger is a network of c channels that enlarges by a factor: a convolution and a shuffle of its channels.
func Enlarger(c, factor int) *Net {
	n := Smoother(c)
	all := c * factor * factor
	w, b := Tensor{Name: "w", Dims: []int64{int64(all), int64(c), 3, 3}, Floats: make([]float32, all*c*9)}, Tensor{Name: "b", Dims: []int64{int64(all)}, Floats: make([]float32, all)}
	for o := range all {
		w.Floats[(o*c+o/(factor*factor))*9+4] = 1 // the sample itself
	}
	n.Init, n.Outputs = []Tensor{w, b}, []Value{{"y", []int64{1, int64(c), -1, -1}}}
	n.Nodes = []Node{
		{Op: "Conv", Name: "conv", In: []string{"x", "w", "b"}, Out: []string{"c"}, Attrs: map[string]any{"pads": []int64{1, 1, 1, 1}}},
		{Op: "DepthToSpace", Name: "shuffle", In: []string{"c"}, Out: []string{"y"}, Attrs: map[string]any{"blocksize": factor, "mode": "CRD"}},
	}
	return n
}

// Fixed is an Enlarger by two that says its sizes, 16×16 to 32×32, in a node.
func Fixed(c int) *Net {
	n := Smoother(c)
	n.Inputs[0].Dims = []int64{1, int64(c), 16, 16}
	n.Init = []Tensor{{Name: "s", Dims: []int64{4}, Ints: []int64{1, int64(c), 32, 32}}}
	n.Nodes = []Node{{Op: "Resize", Name: "to 32", In: []string{"x", "", "", "s"}, Out: []string{"y"}}}
	return n
}

// Difference is a network of two inputs.
func Difference(c int) *Net {
	n := Smoother(c)
	n.Inputs = append(n.Inputs, Value{"z", n.Inputs[0].Dims})
	n.Init, n.Nodes = nil, []Node{{Op: "Sub", Name: "difference", In: []string{"x", "z"}, Out: []string{"y"}}}
	return n
}

// Halver is a network that demands even sides: what it halves and enlarges again is added to its input.
func Halver(c int) *Net {
	n := Smoother(c)
	n.Init = []Tensor{{Name: "s", Dims: []int64{4}, Floats: []float32{1, 1, 2, 2}}}
	n.Nodes = []Node{
		{Op: "AveragePool", Name: "half", In: []string{"x"}, Out: []string{"p"}, Attrs: map[string]any{"kernel_shape": []int64{2, 2}, "strides": []int64{2, 2}}},
		{Op: "Resize", Name: "twice", In: []string{"p", "", "s"}, Out: []string{"u"}, Attrs: map[string]any{"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"}},
		{Op: "Add", Name: "sum", In: []string{"x", "u"}, Out: []string{"y"}},
	}
	return n
}

// RAW is a network of 4 planes to a picture of twice the sides: a quarter of each, where it is.
func RAW() *Net {
	n := Enlarger(4, 1)
	w, b := Tensor{Name: "w", Dims: []int64{12, 4, 1, 1}, Floats: make([]float32, 48)}, Tensor{Name: "b", Dims: []int64{12}, Floats: make([]float32, 12)}
	for o := range 12 {
		for i := range 4 {
			w.Floats[4*o+i] = 0.25
		}
	}
	n.Init = []Tensor{w, b}
	n.Nodes[0].Attrs = nil
	n.Nodes[1].Attrs = map[string]any{"blocksize": 2, "mode": "CRD"}
	return n
}
