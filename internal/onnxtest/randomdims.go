package onnxtest

import "fmt"

// This file makes up operations that work on other dimensions than the channels, and so need planes rearranged. Each
// leaves a value of four dimensions, the first of which is 1.

// anyDimension appends one operation on the last value.
func (b *randomNet) anyDimension() {
	s := b.shapes[b.at]
	switch b.rng.IntN(11) {
	case 0:
		b.reduceNode()
	case 1:
		b.unary("Softmax", map[string]any{"axis": 1 + b.rng.IntN(3)})
	case 2:
		a := b.rng.IntN(3)
		var dims []int64
		for _, n := range s[a:] {
			dims = append(dims, int64(n))
		}
		b.unary("LayerNormalization", map[string]any{"axis": 1 + a}, b.normal(1, 0.2, dims...), b.normal(0, 0.2, dims...))
	case 3:
		b.regroup()
	case 4:
		p := b.rng.Perm(3)
		b.made("Transpose", map[string]any{"perm": []int64{0, int64(1 + p[0]), int64(1 + p[1]), int64(1 + p[2])}}, [3]int{s[p[0]], s[p[1]], s[p[2]]})
	case 5:
		b.products()
	case 6:
		b.windows()
	case 7: // a constant of which some dimensions are repeated
		dims := []int64{1, 1, 1}
		for i := range dims {
			if b.rng.IntN(2) == 0 {
				dims[i] = int64(s[i])
			}
		}
		b.unary([]string{"Add", "Mul", "Max"}[b.rng.IntN(3)], nil, b.normal(1, 0.5, dims...))
	case 8:
		axis, other := 1+b.rng.IntN(3), b.values[b.rng.IntN(len(b.values))]
		o, all := b.shapes[other], s
		all[axis-1] += o[axis-1]
		if o[axis-1] = s[axis-1]; o == s {
			b.made("Concat", map[string]any{"axis": axis}, all, other)
		}
	case 9:
		axis, out := b.rng.IntN(3), s
		step := 1 + b.rng.IntN(2)
		out[axis] = (s[axis] + step - 1) / step
		b.made("Slice", nil, out, b.ints(-1), b.ints(-1<<31), b.ints(int64(axis+1)), b.ints(int64(-step)))
	default:
		if s[1]%2 == 0 && s[2]%2 == 0 {
			name := fmt.Sprintf("c%d", len(b.Init))
			b.Init = append(b.Init, Tensor{Name: name, Dims: []int64{4}, Floats: []float32{1, 1, 0.5, 0.5}})
			b.made("Resize", map[string]any{"mode": []string{"linear", "cubic"}[b.rng.IntN(2)], "antialias": 1}, [3]int{s[0], s[1] / 2, s[2] / 2}, "", name)
		}
	}
}

func (b *randomNet) reduceNode() {
	out, axes := b.shapes[b.at], []int64{}
	for i := range out {
		if b.rng.IntN(2) == 0 {
			out[i], axes = 1, append(axes, int64(i+1))
		}
	}
	if len(axes) > 0 {
		b.made([]string{"ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2"}[b.rng.IntN(4)], map[string]any{"keepdims": 1}, out, b.ints(axes...))
	}
}

// regroup gives the samples other dimensions in the same order.
func (b *randomNet) regroup() {
	s := b.shapes[b.at]
	all := s[0] * s[1] * s[2]
	var divisors []int
	for d := 1; d <= all; d++ {
		if all%d == 0 {
			divisors = append(divisors, d)
		}
	}
	c := divisors[b.rng.IntN(len(divisors))]
	h := divisors[b.rng.IntN(len(divisors))]
	for (all/c)%h != 0 {
		h = divisors[b.rng.IntN(len(divisors))]
	}
	b.made("Reshape", nil, [3]int{c, h, all / c / h}, b.ints(1, int64(c), int64(h), -1))
}

// products multiplies by a constant on either side, or as attention does.
func (b *randomNet) products() {
	s, n := b.shapes[b.at], 1+b.rng.IntN(5)
	switch b.rng.IntN(4) {
	case 0:
		b.made("MatMul", nil, [3]int{s[0], s[1], n}, b.normal(0, 0.4, int64(s[2]), int64(n)))
	case 1:
		b.made("MatMul", nil, [3]int{s[0], s[1], n}, b.normal(0, 0.4, int64(s[0]), int64(s[2]), int64(n)))
	case 2:
		from := b.at
		w := b.normal(0, 0.4, int64(n), int64(s[1]))
		b.at = w
		b.made("MatMul", nil, [3]int{s[0], n, s[2]}, from)
		if b.at == w { // too large
			b.at = from
		}
	default:
		from := b.at
		b.made("Transpose", map[string]any{"perm": []int64{0, 1, 3, 2}}, [3]int{s[0], s[2], s[1]})
		turned := b.at
		b.at = from
		b.made("MatMul", nil, [3]int{s[0], s[1], s[1]}, turned)
		if b.at == from {
			return
		}
		b.unary("Softmax", map[string]any{"axis": 3})
		b.made("MatMul", nil, s, from)
	}
}

// windows partitions the plane into windows of 2×2, as networks with attention within windows do.
func (b *randomNet) windows() {
	s := b.shapes[b.at]
	if s[1]%2 != 0 || s[2]%2 != 0 {
		return
	}
	c, h, w := int64(s[0]), int64(s[1]/2), int64(s[2]/2)
	b.node("Reshape", nil, b.ints(1, c, h, 2, w, 2))
	b.node("Transpose", map[string]any{"perm": []int64{0, 2, 4, 3, 5, 1}})
	b.made("Reshape", nil, [3]int{int(h * w), 4, s[0]}, b.ints(1, h*w, 4, c))
}
