package onnxtest

import (
	"fmt"
	"math/rand/v2"
)

// randomNet is a network that is being made up.
type randomNet struct {
	wholeNet
	shapes map[string][3]int // channels, rows, columns by value
	values []string          // all that were made
}

// RandomDims is the first seed of networks in which every other operation works on other dimensions than the channels.
const RandomDims = 1 << 20

// RandomNet makes a small network of operations that image networks have, with an input of c×h×w.
func RandomNet(seed uint64) (n *Net, c, h, w int) {
	rng := rand.New(rand.NewPCG(seed, 43))
	c, h, w = 1+rng.IntN(6), 4+rng.IntN(16), 4+rng.IntN(20)
	b := &randomNet{wholeNet: wholeNet{Net: &Net{Opset: 21}, rng: rng, at: "x"}, shapes: map[string][3]int{"x": {c, h, w}}, values: []string{"x"}}
	b.Inputs = []Value{{"x", []int64{1, int64(c), int64(h), int64(w)}}}
	for range 1 + rng.IntN(7) {
		if rng.IntN(4) == 0 { // go on from an earlier value
			b.at = b.values[rng.IntN(len(b.values))]
		}
		if seed >= RandomDims && rng.IntN(2) == 0 {
			b.anyDimension()
			continue
		}
		b.step()
	}
	if b.at == "x" {
		b.unary("Relu", nil)
	}
	s := b.shapes[b.at]
	b.Outputs = []Value{{b.at, []int64{1, int64(s[0]), int64(s[1]), int64(s[2])}}}
	return b.Net, c, h, w
}

// made appends a node whose result has that shape, if it has samples.
func (b *randomNet) made(op string, attrs map[string]any, s [3]int, inputs ...string) {
	if s[0] < 1 || s[1] < 1 || s[2] < 1 || s[0]*s[1]*s[2] > 1<<16 {
		return
	}
	b.node(op, attrs, inputs...)
	b.shapes[b.at] = s
	b.values = append(b.values, b.at)
}

func (b *randomNet) unary(op string, attrs map[string]any, inputs ...string) {
	b.made(op, attrs, b.shapes[b.at], inputs...)
}

func (b *randomNet) ints(values ...int64) string {
	name := fmt.Sprintf("c%d", len(b.Init))
	b.Init = append(b.Init, Tensor{Name: name, Dims: []int64{int64(len(values))}, Ints: values})
	return name
}

// step appends one operation on the last value.
func (b *randomNet) step() {
	c := b.shapes[b.at][0]
	n := int64(c)
	switch b.rng.IntN(20) {
	case 0, 1, 2, 3:
		b.convolve()
	case 4:
		b.transpose()
	case 5:
		b.pool()
	case 6:
		simple := []string{"Relu", "Sigmoid", "Tanh", "HardSwish", "Gelu", "Elu", "Softplus", "Softsign", "Mish", "Abs", "Neg", "Erf", "Exp"}
		b.unary(simple[b.rng.IntN(len(simple))], nil)
	case 7:
		b.unary("LeakyRelu", map[string]any{"alpha": float32(b.rng.Float32())})
	case 8:
		b.unary("PRelu", nil, b.normal(0.2, 0.2, n, 1, 1))
	case 9:
		b.Init = append(b.Init, Tensor{Name: fmt.Sprintf("low%d", len(b.Init)), Floats: []float32{-b.rng.Float32() * float32(b.rng.IntN(2))}}, Tensor{Name: fmt.Sprintf("high%d", len(b.Init)), Floats: []float32{b.rng.Float32()}})
		b.unary("Clip", nil, b.Init[len(b.Init)-2].Name, b.Init[len(b.Init)-1].Name)
	case 10:
		b.unary("BatchNormalization", nil, b.normal(1, 0.2, n), b.normal(0, 0.2, n), b.normal(0, 0.2, n), b.normal(2, 0.2, n))
	case 11:
		b.norm()
	case 12, 13:
		b.binary()
	case 14:
		b.join()
	case 15:
		b.cut()
	case 16:
		b.pad()
	case 17:
		b.shuffleNode()
	case 18:
		b.resizeNode()
	default:
		b.attention()
	}
}

func (b *randomNet) window(k int) (pads []int64, stride, dilation [2]int, out [2]int) {
	s := b.shapes[b.at]
	pads = make([]int64, 4)
	for i := range 2 {
		stride[i], dilation[i] = 1+b.rng.IntN(5)/3, 1+b.rng.IntN(5)/3
		pads[i], pads[i+2] = int64(b.rng.IntN(k)), int64(b.rng.IntN(k))
		room := s[1+i] + int(pads[i]+pads[i+2]) - (k-1)*dilation[i] - 1
		if out[i] = -1; room >= 0 {
			out[i] = room/stride[i] + 1
		}
	}
	return
}

func longs(v [2]int) []int64 { return []int64{int64(v[0]), int64(v[1])} }

func (b *randomNet) convolve() {
	c, k := b.shapes[b.at][0], 1+b.rng.IntN(5)
	pads, stride, dilation, out := b.window(k)
	if b.rng.IntN(3) > 0 { // the usual one
		k = 1 + 2*b.rng.IntN(3)
		stride, dilation, out = [2]int{1, 1}, [2]int{1, 1}, [2]int{b.shapes[b.at][1], b.shapes[b.at][2]}
		pads = []int64{int64(k / 2), int64(k / 2), int64(k / 2), int64(k / 2)}
	}
	groups := 1
	switch b.rng.IntN(4) {
	case 0:
		groups = c
	case 1:
		if c%2 == 0 {
			groups = 2
		}
	}
	outs := groups * (1 + b.rng.IntN(4))
	weight := b.normal(0, 0.4, int64(outs), int64(c/groups), int64(k), int64(k))
	b.made("Conv", map[string]any{"pads": pads, "strides": longs(stride), "dilations": longs(dilation), "group": groups}, [3]int{outs, out[0], out[1]}, weight, b.normal(0, 0.3, int64(outs)))
}

func (b *randomNet) transpose() {
	s, k, stride := b.shapes[b.at], 1+b.rng.IntN(4), 1+b.rng.IntN(3)
	outs, more, pad := 1+b.rng.IntN(4), b.rng.IntN(stride), b.rng.IntN(k)
	side := func(n int) int { return (n-1)*stride + k + more - 2*pad }
	p, t, m := int64(pad), int64(stride), int64(more)
	b.made("ConvTranspose", map[string]any{"pads": []int64{p, p, p, p}, "strides": []int64{t, t}, "output_padding": []int64{m, m}}, [3]int{outs, side(s[1]), side(s[2])},
		b.normal(0, 0.4, int64(s[0]), int64(outs), int64(k), int64(k)), b.normal(0, 0.3, int64(outs)))
}

func (b *randomNet) pool() {
	k := 1 + b.rng.IntN(3)
	pads, stride, _, _ := b.window(k)
	s := b.shapes[b.at]
	out := [3]int{s[0]}
	for i := range 2 {
		if room := s[1+i] + int(pads[i]+pads[i+2]) - k; room >= 0 {
			out[1+i] = room/stride[i] + 1
		}
	}
	attrs := map[string]any{"kernel_shape": []int64{int64(k), int64(k)}, "strides": longs(stride), "pads": pads}
	op := []string{"MaxPool", "AveragePool"}[b.rng.IntN(2)]
	if op == "AveragePool" {
		attrs["count_include_pad"] = b.rng.IntN(2)
	}
	b.made(op, attrs, out)
}

func (b *randomNet) norm() {
	n := int64(b.shapes[b.at][0])
	switch b.rng.IntN(4) {
	case 0:
		b.unary("InstanceNormalization", nil, b.normal(1, 0.2, n), b.normal(0, 0.2, n))
	case 1:
		groups := 1
		if n%2 == 0 {
			groups = 2
		}
		b.unary("GroupNormalization", map[string]any{"num_groups": groups}, b.normal(1, 0.2, n), b.normal(0, 0.2, n))
	case 2:
		b.unary("LRN", map[string]any{"size": 1 + 2*b.rng.IntN(3), "alpha": float32(0.1)})
	default:
		b.unary("Softmax", map[string]any{"axis": 1})
	}
}

// binary joins the last value with an earlier one of its shape, or with a constant.
func (b *randomNet) binary() {
	s := b.shapes[b.at]
	op := []string{"Add", "Sub", "Mul", "Max", "Min", "Div"}[b.rng.IntN(6)]
	for range 4 {
		other := b.values[b.rng.IntN(len(b.values))]
		if o := b.shapes[other]; op != "Div" && (o == s || o[0] == s[0] && o[1] == 1 && o[2] == 1 || o[0] == 1 && o[1] == s[1] && o[2] == s[2]) {
			b.unary(op, nil, other)
			return
		}
	}
	b.unary(op, nil, b.normal(2, 0.3, int64(s[0]), 1, 1))
}

func (b *randomNet) join() {
	s, inputs := b.shapes[b.at], []string{}
	all := s[0]
	for range 1 + b.rng.IntN(2) {
		other := b.values[b.rng.IntN(len(b.values))]
		if o := b.shapes[other]; o[1] == s[1] && o[2] == s[2] {
			inputs, all = append(inputs, other), all+o[0]
		}
	}
	b.made("Concat", map[string]any{"axis": 1}, [3]int{all, s[1], s[2]}, inputs...)
}

func (b *randomNet) cut() {
	s := b.shapes[b.at]
	out, axis := s, b.rng.IntN(3)
	from, step := b.rng.IntN(min(s[axis], 3)), 1
	if axis > 0 {
		step = 1 + b.rng.IntN(2)
	}
	to := from + 1 + b.rng.IntN(s[axis]-from)
	out[axis] = (to - from + step - 1) / step
	b.made("Slice", nil, out, b.ints(int64(from)), b.ints(int64(to)), b.ints(int64(axis+1)), b.ints(int64(step)))
}

func (b *randomNet) pad() {
	s, p := b.shapes[b.at], [4]int{b.rng.IntN(3), b.rng.IntN(3), b.rng.IntN(3), b.rng.IntN(3)}
	if s[1] < 4 || s[2] < 4 {
		return
	}
	mode := []string{"constant", "reflect", "edge"}[b.rng.IntN(3)]
	b.made("Pad", map[string]any{"mode": mode}, [3]int{s[0], s[1] + p[0] + p[2], s[2] + p[1] + p[3]}, b.ints(0, 0, int64(p[0]), int64(p[1]), 0, 0, int64(p[2]), int64(p[3])))
}

func (b *randomNet) shuffleNode() {
	s, f := b.shapes[b.at], 2
	switch {
	case s[0]%(f*f) == 0:
		b.made("DepthToSpace", map[string]any{"blocksize": f, "mode": []string{"CRD", "DCR"}[b.rng.IntN(2)]}, [3]int{s[0] / 4, 2 * s[1], 2 * s[2]})
	case s[1]%f == 0 && s[2]%f == 0:
		b.made("SpaceToDepth", map[string]any{"blocksize": f}, [3]int{4 * s[0], s[1] / 2, s[2] / 2})
	}
}

func (b *randomNet) resizeNode() {
	s := b.shapes[b.at]
	scales := [2]int{1 + b.rng.IntN(3), 1 + b.rng.IntN(3)}
	name := fmt.Sprintf("c%d", len(b.Init))
	b.Init = append(b.Init, Tensor{Name: name, Dims: []int64{4}, Floats: []float32{1, 1, float32(scales[0]), float32(scales[1])}})
	mode := []string{"nearest", "linear", "cubic"}[b.rng.IntN(3)]
	coordinates := []string{"half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel"}[b.rng.IntN(4)]
	if s[1] < 2 || s[2] < 2 {
		return
	}
	attrs := map[string]any{"mode": mode, "coordinate_transformation_mode": coordinates}
	if mode == "nearest" {
		attrs["nearest_mode"] = []string{"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"}[b.rng.IntN(4)]
	}
	b.made("Resize", attrs, [3]int{s[0], s[1] * scales[0], s[2] * scales[1]}, "", name)
}

// attention multiplies the last value by what its mean becomes.
func (b *randomNet) attention() {
	from, s := b.at, b.shapes[b.at]
	b.made([]string{"GlobalAveragePool", "GlobalMaxPool"}[b.rng.IntN(2)], nil, [3]int{s[0], 1, 1})
	n := int64(s[0])
	b.made("Conv", nil, [3]int{s[0], 1, 1}, b.normal(0, 0.4, n, n, 1, 1), b.normal(0, 0.3, n))
	b.made("Sigmoid", nil, [3]int{s[0], 1, 1})
	gate := b.at
	b.at = from
	b.made("Mul", nil, s, gate)
}
