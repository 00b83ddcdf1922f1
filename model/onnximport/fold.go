package onnximport

import (
	"math"
	"slices"

	"enhance/model/onnx"
)

// folders compute operations whose inputs are all constant. Most of them are what exporters
// make of shapes: they are small.
var folders map[string]handler

func init() {
	folders = map[string]handler{
		"Constant": (*call).foldConstant, "ConstantOfShape": (*call).foldFill, "Identity": (*call).foldSame, "Dropout": (*call).foldSame,
		"Cast": (*call).foldCast, "Gather": (*call).foldGather, "Concat": (*call).foldConcat, "Slice": (*call).foldSlice,
		"Unsqueeze": (*call).foldReshape, "Squeeze": (*call).foldReshape, "Reshape": (*call).foldReshape, "Flatten": (*call).foldReshape,
		"Transpose": (*call).foldTranspose, "Range": (*call).foldRange, "Expand": (*call).foldExpand, "Where": (*call).foldWhere, "Split": (*call).foldSplit,
		"ReduceProd": (*call).foldReduce, "ReduceSum": (*call).foldReduce, "ReduceMin": (*call).foldReduce, "ReduceMax": (*call).foldReduce,
		"DequantizeLinear": (*call).foldDequantize,
	}
	for name := range foldTwo {
		folders[name] = (*call).foldBinary
	}
	for name := range foldOne {
		folders[name] = (*call).foldUnary
	}
}

// con sets output 0 to a constant.
func (c *call) con(k *constant) error { return c.set(0, &value{con: k, dims: k.Dims}) }

func (c *call) need(i int) (*constant, error) {
	v := c.arg(i)
	if v == nil {
		return nil, refuse("its input %d is missing", i)
	}
	return v.con, nil
}

func (c *call) foldConstant() error {
	if a := c.attr("value", onnx.AttrTensor); a != nil && a.T != nil {
		k, err := fromTensor(a.T)
		if err != nil {
			return err
		}
		return c.con(k)
	}
	for _, name := range [...]string{"value_float", "value_floats", "value_int", "value_ints"} {
		a := c.n.Attrs[name]
		if a == nil {
			continue
		}
		c.read[name] = true
		switch name {
		case "value_float":
			return c.con(&constant{Real: true, Floats: []float32{a.F}})
		case "value_floats":
			return c.con(&constant{Real: true, Floats: a.Floats, Dims: []int64{int64(len(a.Floats))}})
		case "value_int":
			return c.con(&constant{Ints: []int64{a.I}})
		default:
			return c.con(&constant{Ints: a.Ints, Dims: []int64{int64(len(a.Ints))}})
		}
	}
	return refuse("its value is neither numbers nor a tensor of them")
}

// shape handles Shape and Size, whose result is known at the size of the import.
func (c *call) shape() error {
	v := c.arg(0)
	if v == nil {
		return refuse("its input is missing")
	}
	dims := slices.Clone(v.dims)
	if v.con == nil {
		c.readsSize()
	}
	if c.n.Op == "Size" {
		n := int64(1)
		for _, d := range dims {
			if d > 0 && n > math.MaxInt64/d {
				return refuse("a size beyond 2^63")
			}
			n *= d
		}
		return c.con(&constant{Ints: []int64{n}})
	}
	bound := func(v int64) int64 {
		if v < 0 {
			v += int64(len(dims))
		}
		return min(max(v, 0), int64(len(dims)))
	}
	start, end := bound(c.int("start", 0)), bound(c.int("end", int64(len(dims))))
	return c.set(0, shapeConstant(dims[start:max(start, end)]))
}

func (c *call) foldFill() error {
	shape, err := c.need(0)
	if err != nil || shape.Real {
		return refuse("its shape is no list of integers")
	}
	n, err := c.elements(shape.Ints)
	if err != nil {
		return err
	}
	fill := &constant{Real: true, Floats: []float32{0}}
	if a := c.attr("value", onnx.AttrTensor); a != nil && a.T != nil {
		if fill, err = fromTensor(a.T); err != nil {
			return err
		}
		if fill.Len() != 1 {
			return refuse("its value has %d elements", fill.Len())
		}
	}
	out := fill.like(slices.Clone(shape.Ints), n)
	for i := range n {
		out.copy(i, fill, 0)
	}
	return c.con(out)
}

func (c *call) foldSame() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	if c.n.Op == "Dropout" {
		c.float("ratio", 0)
		c.int("seed", 0)
	}
	return c.con(k)
}

func (c *call) foldCast() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	c.int("saturate", 1)
	to := onnx.Type(c.int("to", 0))
	switch {
	case to.Real() == k.Real:
		return c.con(k)
	case to.Real():
		return c.con(&constant{Dims: k.Dims, Real: true, Floats: k.floats()})
	}
	out := &constant{Dims: k.Dims, Ints: make([]int64, len(k.Floats))}
	for i, v := range k.Floats {
		if v != v || v >= 1<<62 || v <= -1<<62 {
			return refuse("%v has no integer", v)
		}
		if out.Ints[i] = int64(v); to == onnx.Bool && v != 0 {
			out.Ints[i] = 1
		}
	}
	return c.con(out)
}

func (c *call) foldGather() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	index, err := c.need(1)
	if err != nil || index.Real || len(k.Dims) == 0 {
		return refuse("its indices are not integers, or there is nothing to choose from")
	}
	a, err := axis(c.int("axis", 0), len(k.Dims))
	if err != nil {
		return err
	}
	dims := slices.Concat(k.Dims[:a], index.Dims, k.Dims[a+1:])
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	inner := product(k.Dims[a+1:])
	out := k.like(dims, n)
	for i := range n {
		block, rest := i/inner/max(1, len(index.Ints)), i%inner
		j := index.Ints[i/inner%max(1, len(index.Ints))]
		if j < 0 {
			j += k.Dims[a]
		}
		if j < 0 || j >= k.Dims[a] {
			return refuse("index %d of %d", j, k.Dims[a])
		}
		out.copy(i, k, (block*int(k.Dims[a])+int(j))*inner+rest)
	}
	return c.con(out)
}

func product(dims []int64) int {
	n := 1
	for _, d := range dims {
		n *= int(d)
	}
	return n
}

func (c *call) foldConcat() error {
	first, err := c.need(0)
	if err != nil {
		return err
	}
	a, err := axis(c.int("axis", 1), len(first.Dims))
	if err != nil {
		return err
	}
	dims := slices.Clone(first.Dims)
	dims[a] = 0
	for i := range c.in {
		k, err := c.need(i)
		if err != nil {
			return err
		}
		if len(k.Dims) != len(dims) || k.Real != first.Real {
			return refuse("it joins constants of shapes %v and %v", first.Dims, k.Dims)
		}
		for j, d := range k.Dims {
			if j != a && d != dims[j] {
				return refuse("it joins constants of shapes %v and %v", first.Dims, k.Dims)
			}
		}
		dims[a] += k.Dims[a]
	}
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	out, inner, at := first.like(dims, n), product(dims[a+1:]), 0
	if n == 0 {
		return c.con(out)
	}
	for outer := range product(dims[:a]) {
		for i := range c.in {
			k := c.in[i].con
			part := int(k.Dims[a]) * inner
			for j := range part {
				out.copy(at, k, outer*part+j)
				at++
			}
		}
	}
	return c.con(out)
}

// ranges are what Slice takes of each dimension.
func (c *call) ranges(dims []int64) (start, step, count []int64, err error) {
	starts, err := c.list("starts", 1)
	if err != nil {
		return
	}
	ends, err := c.list("ends", 2)
	if err != nil {
		return
	}
	axes, err := c.list("axes", 3)
	if err != nil {
		return
	}
	steps, err := c.list("", 4)
	if err != nil {
		return
	}
	if axes == nil {
		for i := range starts {
			axes = append(axes, int64(i))
		}
	}
	if len(ends) != len(starts) || len(axes) != len(starts) || steps != nil && len(steps) != len(starts) {
		err = refuse("%d starts, %d ends, %d axes and %d steps", len(starts), len(ends), len(axes), len(steps))
		return
	}
	start, step, count = make([]int64, len(dims)), repeatInt(1, len(dims)), slices.Clone(dims)
	for i := range starts {
		var a int
		if a, err = axis(axes[i], len(dims)); err != nil {
			return
		}
		n, by := dims[a], int64(1)
		if steps != nil {
			by = steps[i]
		}
		if by == 0 || by == math.MinInt64 {
			err = refuse("a step of %d", by)
			return
		}
		from, to := starts[i], ends[i]
		if from < 0 {
			from += n
		}
		if to < 0 && to >= -n {
			to += n
		} else if to < 0 {
			to = -1
		}
		if by > 0 {
			from, to = min(max(from, 0), n), min(max(to, 0), n)
			count[a] = max(0, (to-from+by-1)/by)
			if by > n {
				count[a] = min(1, max(0, to-from))
			}
		} else {
			from, to = min(max(from, 0), n-1), min(max(to, -1), n-1)
			count[a] = max(0, (from-to-by-1)/-by)
			if -by > n {
				count[a] = min(1, max(0, from-to))
			}
		}
		start[a], step[a] = from, by
	}
	return
}

func repeatInt(v int64, n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

func (c *call) foldSlice() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	start, step, count, err := c.ranges(k.Dims)
	if err != nil {
		return err
	}
	n, err := c.elements(count)
	if err != nil {
		return err
	}
	out := k.like(count, n)
	for i := range n {
		at, rest, stride := 0, i, 1
		for d := len(count) - 1; d >= 0; d-- {
			x := int64(rest % int(count[d]))
			rest /= int(count[d])
			at += int(start[d]+x*step[d]) * stride
			stride *= int(k.Dims[d])
		}
		out.copy(i, k, at)
	}
	return c.con(out)
}

func (c *call) foldReshape() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	dims, err := c.reshaped(k.Dims)
	if err != nil {
		return err
	}
	out := *k
	out.Dims = dims
	return c.con(&out)
}

func (c *call) foldTranspose() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	perm, err := c.permutation(len(k.Dims))
	if err != nil {
		return err
	}
	dims := make([]int64, len(perm))
	for i, p := range perm {
		dims[i] = k.Dims[p]
	}
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	strides := make([]int, len(dims))
	for i, s := len(dims)-1, 1; i >= 0; i-- {
		strides[i] = s
		s *= int(k.Dims[i])
	}
	out := k.like(dims, n)
	for i := range n {
		at, rest := 0, i
		for d := len(dims) - 1; d >= 0; d-- {
			at += rest % int(dims[d]) * strides[perm[d]]
			rest /= int(dims[d])
		}
		out.copy(i, k, at)
	}
	return c.con(out)
}

func (c *call) foldRange() error {
	var v [3]*constant
	for i := range v {
		k, err := c.need(i)
		if err != nil {
			return err
		}
		if k.Len() != 1 {
			return refuse("its bounds are no numbers")
		}
		v[i] = k
	}
	start, limit, delta := v[0].float(0), v[1].float(0), v[2].float(0)
	count := math.Ceil((limit - start) / delta)
	if !(count <= 1<<40) {
		return refuse("a range from %g to %g by %g", start, limit, delta)
	}
	n, err := c.elements([]int64{int64(max(0, count))})
	if err != nil {
		return err
	}
	out := v[0].like([]int64{int64(n)}, n)
	for i := range n {
		if x := start + float64(i)*delta; out.Real {
			out.Floats[i] = float32(x)
		} else {
			out.Ints[i] = int64(x)
		}
	}
	return c.con(out)
}

// broadcast is the shape that shapes have together.
func broadcast(a, b []int64) ([]int64, error) {
	out := make([]int64, max(len(a), len(b)))
	for i := range out {
		x, y := dimFromEnd(a, len(out)-1-i), dimFromEnd(b, len(out)-1-i)
		if x != y && x != 1 && y != 1 {
			return nil, refuse("shapes %v and %v do not fit together", a, b)
		}
		if out[i] = x; x == 1 {
			out[i] = y
		}
	}
	return out, nil
}

func dimFromEnd(dims []int64, i int) int64 {
	if i < len(dims) {
		return dims[len(dims)-1-i]
	}
	return 1
}

// index finds the element of a constant of shape dims that stands for element i of shape out.
func index(i int, out, dims []int64) int {
	at, stride := 0, 1
	for d := range out {
		n := int(out[len(out)-1-d])
		x := i % n
		i /= n
		if own := int(dimFromEnd(dims, d)); own > 1 {
			at += x * stride
			stride *= own
		}
	}
	return at
}

func (c *call) foldExpand() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	shape, err := c.need(1)
	if err != nil {
		return err
	}
	dims, err := broadcast(k.Dims, shape.Ints)
	if err != nil {
		return err
	}
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	out := k.like(dims, n)
	for i := range n {
		out.copy(i, k, index(i, dims, k.Dims))
	}
	return c.con(out)
}

func (c *call) foldWhere() error {
	var v [3]*constant
	dims := []int64{}
	for i := range v {
		k, err := c.need(i)
		if err != nil {
			return err
		}
		if dims, err = broadcast(dims, k.Dims); err != nil {
			return err
		}
		v[i] = k
	}
	if v[1].Real != v[2].Real || v[0].Real {
		return refuse("its inputs have different types")
	}
	n, err := c.elements(dims)
	if err != nil {
		return err
	}
	out := v[1].like(dims, n)
	for i := range n {
		from := v[2]
		if v[0].Ints[index(i, dims, v[0].Dims)] != 0 {
			from = v[1]
		}
		out.copy(i, from, index(i, dims, from.Dims))
	}
	return c.con(out)
}

func (c *call) foldSplit() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	a, err := axis(c.int("axis", 0), len(k.Dims))
	if err != nil {
		return err
	}
	sizes, err := c.splits(k.Dims[a])
	if err != nil {
		return err
	}
	inner, first := product(k.Dims[a+1:]), 0
	for o, size := range sizes {
		dims := slices.Clone(k.Dims)
		dims[a] = size
		n, err := c.elements(dims)
		if err != nil {
			return err
		}
		out, part := k.like(dims, n), int(size)*inner
		for i := range n {
			out.copy(i, k, (i/part*int(k.Dims[a])+first)*inner+i%part)
		}
		first += int(size)
		if err := c.set(o, &value{con: out, dims: dims}); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) foldReduce() error {
	k, err := c.need(0)
	if err != nil {
		return err
	}
	axes, err := c.list("axes", 1)
	if err != nil {
		return err
	}
	keep := c.int("keepdims", 1) != 0
	c.int("noop_with_empty_axes", 0)
	if len(axes) > 0 && len(k.Dims) != 1 || k.Len() == 0 {
		return refuse("constants of shape %v are not reduced", k.Dims)
	}
	sum := k.float(0)
	for i := 1; i < k.Len(); i++ {
		switch x := k.float(i); c.n.Op {
		case "ReduceProd":
			sum *= x
		case "ReduceSum":
			sum += x
		case "ReduceMin":
			sum = min(sum, x)
		default:
			sum = max(sum, x)
		}
	}
	out := k.like(nil, 1)
	if keep {
		out.Dims = repeatInt(1, len(k.Dims))
	}
	if k.Real {
		out.Floats[0] = float32(sum)
	} else if out.Ints[0] = int64(sum); math.Abs(sum) > 1<<53 {
		return refuse("a number beyond 2^53")
	}
	return c.con(out)
}

// foldDequantize turns quantised weights into fractions: (x - zero)·scale.
func (c *call) foldDequantize() error {
	k, err := c.need(0)
	if err != nil || k.Real {
		return refuse("what it takes is not quantised")
	}
	scale, err := c.need(1)
	if err != nil {
		return err
	}
	zero := &constant{Dims: scale.Dims, Ints: make([]int64, scale.Len())}
	if c.arg(2) != nil {
		zero = c.arg(2).con
	}
	a := 0
	if scale.Len() != 1 {
		if a, err = axis(c.int("axis", 1), len(k.Dims)); err != nil {
			return err
		}
		if k.Dims[a] != int64(scale.Len()) {
			return refuse("%d scales for %d channels", scale.Len(), k.Dims[a])
		}
	}
	c.int("axis", 1)
	if c.int("block_size", 0) != 0 || zero.Len() != scale.Len() || zero.Real || !scale.Real {
		return refuse("this form of quantisation is not known")
	}
	out := &constant{Dims: k.Dims, Real: true, Floats: make([]float32, len(k.Ints))}
	inner := 1
	if len(k.Dims) > 0 {
		inner = product(k.Dims[a+1:])
	}
	for i, q := range k.Ints {
		j := 0
		if scale.Len() != 1 {
			j = i / inner % scale.Len()
		}
		out.Floats[i] = float32(q-zero.Ints[j]) * scale.Floats[j]
	}
	return c.con(out)
}
