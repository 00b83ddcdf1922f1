package onnximport

import (
	"slices"

	"enhance/model"
)

var binaries = map[string]model.Binary{"Add": model.BinaryAdd, "Sum": model.BinaryAdd, "Sub": model.BinarySub, "Mul": model.BinaryMul,
	"Div": model.BinaryDiv, "Pow": model.BinaryPow, "Min": model.BinaryMin, "Max": model.BinaryMax, "Mean": model.BinaryAdd}

// arithmetic imports functions of two operands, or of any number where ONNX allows it, taken from left to right.
func (c *call) arithmetic() error {
	if len(c.in) == 0 || slices.Contains(c.in, nil) {
		return refuse("an input is missing")
	}
	v := c.in[0]
	if err := c.oldBroadcast(); err != nil {
		return err
	}
	for i, w := range c.in[1:] {
		var err error
		switch {
		case v.con != nil && w.con != nil:
			var k *constant
			if k, err = c.foldPair(v.con, w.con); err == nil {
				v = &value{con: k, dims: k.Dims}
			}
		case w.con != nil:
			v, err = c.withConstant(v, w.con, false)
		case v.con != nil:
			v, err = c.withConstant(w, v.con, true)
		default:
			v, err = c.two(v, w)
		}
		if err != nil {
			return err
		}
		if i+2 < len(c.in) { // a step between: no other node reads it
			v.sole = true
		}
	}
	if n := len(c.in); c.n.Op == "Mean" && n > 1 {
		s := c.shapeOf(v)
		return c.result(c.affine(v, repeat(1/float32(n), s.C), make([]float32, s.C)))
	}
	return c.set(0, v)
}

// withConstant is the operation on plane v and a constant, which stands left if swapped.
func (c *call) withConstant(v *value, k *constant, swapped bool) (*value, error) {
	v, err := c.widened(v, k)
	if err != nil {
		return nil, err
	}
	v, values, err := c.channelValues(k, v)
	if err != nil {
		return nil, err
	}
	n, b := len(values), binaries[c.n.Op]
	ones, zeros := repeat(1, n), make([]float32, n)
	switch {
	case b == model.BinaryAdd:
		return c.affine(v, ones, values)
	case b == model.BinarySub && swapped:
		return c.affine(v, repeat(-1, n), values)
	case b == model.BinarySub:
		return c.affine(v, ones, apply(values, func(x float32) float32 { return -x }))
	case b == model.BinaryMul:
		return c.affine(v, values, zeros)
	case b == model.BinaryDiv && !swapped && !slices.Contains(values, 0):
		return c.affine(v, apply(values, func(x float32) float32 { return 1 / x }), zeros)
	case b == model.BinaryPow && !swapped:
		if f, ok := powers[values[0]]; ok && slices.Max(values) == slices.Min(values) {
			return c.emit(model.Node{Op: model.OpMap, Func: f, In: []int{v.node}}, "", v)
		}
	}
	name := c.name("")
	return c.emit(model.Node{Name: name, Op: model.OpBinary, Binary: b, In: []int{v.node}, Swapped: swapped, Weight: c.param(name, "weight", values, n)}, "", v)
}

// powers are functions for powers that are met often.
var powers = map[float32]model.Func{2: model.FuncSquare, 0.5: model.FuncSqrt, -1: model.FuncReciprocal}

func apply(values []float32, f func(float32) float32) []float32 {
	out := make([]float32, len(values))
	for i, v := range values {
		out[i] = f(v)
	}
	return out
}

// widened lets a plane have the dimensions that it has beside a constant of more of them, and the constant's
// channels if it has one.
func (c *call) widened(v *value, k *constant) (*value, error) {
	v = c.deepened(v, len(k.Dims))
	a := v.axes[axisC]
	if v.mixed != nil || a < 0 || c.shapeOf(v).C != 1 {
		return v, nil
	}
	n := dimFromEnd(k.Dims, len(v.dims)-1-a)
	if n <= 1 {
		return v, nil
	}
	return c.repeated(v, []int{a}, []int64{n})
}

// deepened gives a plane at least so many dimensions, the new ones first.
func (c *call) deepened(v *value, rank int) *value {
	more := rank - len(v.dims)
	if more <= 0 {
		return v
	}
	if v.mixed != nil {
		l := v.mixed.clone()
		l.dims = append(make([][]int, more), l.dims...)
		return l.apply(v)
	}
	axes := v.axes
	for k := range axes {
		if axes[k] >= 0 {
			axes[k] += more
		}
	}
	return v.alias(append(repeatInt(1, more), v.dims...), axes)
}

// two is the operation on two planes.
func (c *call) two(v, w *value) (*value, error) { return c.twoBy(binaries[c.n.Op], v, w) }

// twoBy is an operation on two planes.
func (c *call) twoBy(b model.Binary, v, w *value) (*value, error) {
	rank := max(len(v.dims), len(w.dims))
	v, w = c.deepened(v, rank), c.deepened(w, rank)
	dims, err := broadcast(v.dims, w.dims)
	if err != nil {
		return nil, err
	}
	if b == model.BinaryMul && c.shapeOf(v) == c.shapeOf(w) && alike(v, w) {
		if n := c.activationOf(v.node, w.node); n != nil {
			return c.emit(*n, "", v)
		}
	}
	if !alike(v, w) {
		return c.aligned(b, v, w, dims)
	}
	if v.mixed != nil {
		return c.emit(model.Node{Op: model.OpBinary, Binary: b, In: []int{v.node, w.node}}, "", v)
	}
	x, y := extents(c.shapeOf(v)), extents(c.shapeOf(w))
	like := v.alias(dims, v.axes)
	for k := range like.axes {
		if x[k] == 1 && y[k] != 1 {
			like.axes[k] = w.axes[k]
		}
	}
	n := model.Node{Op: model.OpBinary, Binary: b, In: []int{v.node, w.node}}
	switch {
	case x == y && n.Binary == model.BinarySub && c.negated(w):
		fallthrough
	case x == y && n.Binary == model.BinaryAdd:
		n = model.Node{Op: model.OpAdd, In: n.In}
	case n.Binary == model.BinaryDiv:
		if x, eps, ok := c.layerNormed(v.node, w.node); ok {
			return c.normalised(x, eps, like)
		}
	}
	return c.emit(n, "", like)
}

// alike reports whether planes of as many dimensions lie alike: those of the larger one are where the other has them or
// has a size of 1.
func alike(v, w *value) bool {
	if v.mixed != nil || w.mixed != nil {
		a, b := layoutOf(v), layoutOf(w)
		return slices.Equal(v.dims, w.dims) && slices.Equal(a.sizes, b.sizes) && slices.EqualFunc(a.dims, b.dims, slices.Equal) &&
			slices.EqualFunc(a.axes[:], b.axes[:], slices.Equal)
	}
	axes := v.axes
	for k := range axes {
		one := func(x *value) bool { return x.axes[k] < 0 || x.dims[x.axes[k]] == 1 }
		switch {
		case !one(v) && !one(w) && v.axes[k] != w.axes[k]:
			return false
		case one(v) && !one(w):
			axes[k] = w.axes[k]
		}
	}
	for k, x := range axes { // a dimension is one of the plane's only once
		if x >= 0 && slices.Contains(axes[:k], x) {
			return false
		}
	}
	return true
}

// aligned is the operation on planes that lie otherwise: both are rearranged.
func (c *call) aligned(op model.Binary, v, w *value, dims []int64) (*value, error) {
	kind := func(d int) int {
		switch {
		case v.dims[d] == w.dims[d]:
			return 0
		case v.dims[d] == 1:
			return 1
		}
		return 2
	}
	var runs [][]int // of dimensions that follow each other and are broadcast alike
	for d, n := range dims {
		if n != 1 {
			runs = append(runs, []int{d})
		}
	}
	for i := 1; len(runs) > 3 && i < len(runs); {
		if kind(runs[i-1][0]) == kind(runs[i][0]) {
			runs[i-1] = append(runs[i-1], runs[i]...)
			runs = slices.Delete(runs, i, i+1)
		} else {
			i++
		}
	}
	var to [3][]int
	switch len(runs) {
	case 0:
	case 1:
		to[axisC] = runs[0]
	case 2:
		to[axisC], to[axisW] = runs[0], runs[1]
	case 3:
		to = [3][]int{runs[0], runs[1], runs[2]}
	default:
		return nil, refuse("shapes %v and %v meet in too many ways for channels, rows and columns", v.dims, w.dims)
	}
	a, err := c.place(v, to)
	if err != nil {
		return nil, err
	}
	b, err := c.place(w, to)
	if err != nil {
		return nil, err
	}
	l := &layout{dims: make([][]int, len(dims))}
	for k, run := range to {
		for _, d := range run {
			l.dims[d] = []int{len(l.sizes)}
			l.axes[k] = append(l.axes[k], len(l.sizes))
			l.sizes = append(l.sizes, dims[d])
		}
	}
	return c.emit(model.Node{Op: model.OpBinary, Binary: op, In: []int{a.node, b.node}}, "", l.apply(a))
}

// negated turns the sign of a convolution's value that nothing else reads, so that what subtracts it may add it: an
// addition is part of the convolution's step.
func (c *call) negated(v *value) bool {
	n := c.shapeOf(v).C
	return c.foldAffine(v, repeat(-1, n), make([]float32, n))
}

// oldBroadcast gives a constant at the right the dimensions that attributes gave it before opset 7.
func (c *call) oldBroadcast() error {
	if c.opset >= 7 {
		return nil
	}
	a := c.int("axis", -1)
	if c.int("broadcast", 0) == 0 || c.n.Attrs["axis"] == nil || len(c.in) != 2 || c.in[1].con == nil || c.in[0].con != nil {
		return nil
	}
	first, err := axis(a, len(c.in[0].dims))
	if err != nil {
		return err
	}
	k := *c.in[1].con
	after := len(c.in[0].dims) - first - len(k.Dims)
	if after < 0 {
		return refuse("shape %v from dimension %d of %v on", k.Dims, first, c.in[0].dims)
	}
	k.Dims = append(slices.Clone(k.Dims), repeatInt(1, after)...)
	c.in[1] = &value{con: &k, dims: k.Dims}
	return nil
}
