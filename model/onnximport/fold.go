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
		"DequantizeLinear": (*call).foldDequantize, "QuantizeLinear": (*call).foldQuantize,
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
