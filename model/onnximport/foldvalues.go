package onnximport

import (
	"math"
	"slices"

	"enhance/model/onnx"
)

// This file folds operations that compute the elements of constants, apart from arithmetic (foldmath.go).

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
	if symmetric := !slices.ContainsFunc(zero.Ints, func(z int64) bool { return z != 0 }); symmetric && a == 0 && (k.Type == onnx.Int8 || k.Type == onnx.Uint8) {
		out.from = &quantised{Codes: k.Ints, Steps: scale.Floats}
	}
	return c.con(out)
}
