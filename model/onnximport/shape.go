package onnximport

import (
	"slices"

	"enhance/model/onnx"
)

// reshaped gives the dimensions that Reshape, Squeeze, Unsqueeze or Flatten make of dims.
func (c *call) reshaped(dims []int64) ([]int64, error) {
	switch c.n.Op {
	case "Flatten":
		a := c.int("axis", 1)
		if a < 0 {
			a += int64(len(dims))
		}
		if a < 0 || a > int64(len(dims)) {
			return nil, refuse("axis %d of %d dimensions", a, len(dims))
		}
		return []int64{int64(product(dims[:a])), int64(product(dims[a:]))}, nil
	case "Squeeze":
		return c.squeezed(dims)
	case "Unsqueeze":
		axes, err := c.list("axes", 1)
		if err != nil {
			return nil, err
		}
		rank := len(dims) + len(axes)
		places, err := axisList(axes, rank)
		if err != nil {
			return nil, err
		}
		out := slices.Clone(dims)
		for _, a := range places {
			out = slices.Insert(out, a, 1)
		}
		return out, nil
	}
	return c.resolved(dims)
}

func (c *call) squeezed(dims []int64) ([]int64, error) {
	axes, err := c.list("axes", 1)
	if err != nil {
		return nil, err
	}
	drop, err := axisList(axes, len(dims))
	if err != nil {
		return nil, err
	}
	var out []int64
	for i, d := range dims {
		switch {
		case axes != nil && !slices.Contains(drop, i) || axes == nil && d != 1:
			out = append(out, d)
		case d != 1:
			return nil, refuse("it drops dimension %d of %v, which is not 1", i, dims)
		}
	}
	return out, nil
}

// resolved is the shape that a Reshape asks for, with 0 and -1 resolved.
func (c *call) resolved(dims []int64) ([]int64, error) {
	want, err := c.list("shape", 1)
	if err != nil {
		return nil, err
	}
	allowZero := c.int("allowzero", 0) != 0
	out, total, open := slices.Clone(want), int64(product(dims)), -1
	known := int64(1)
	for i, d := range want {
		switch {
		case d == 0 && !allowZero:
			if i >= len(dims) {
				return nil, refuse("its shape %v copies a dimension that %v does not have", want, dims)
			}
			out[i] = dims[i]
		case d == -1 && open < 0:
			open = i
			continue
		case d < 0:
			return nil, refuse("its shape is %v", want)
		}
		if out[i] > 0 && known > total/out[i] && total > 0 {
			return nil, refuse("shape %v does not hold the %d elements of %v", want, total, dims)
		}
		known *= out[i]
	}
	if open >= 0 {
		if known == 0 || total%known != 0 {
			return nil, refuse("shape %v does not hold the %d elements of %v", want, total, dims)
		}
		out[open], known = total/known, total
	}
	if known != total {
		return nil, refuse("shape %v does not hold the %d elements of %v", want, total, dims)
	}
	return out, nil
}

// reshape lets a plane have other dimensions.
func (c *call) reshape() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	dims, err := c.reshaped(v.dims)
	if err != nil {
		return err
	}
	out, err := c.relabel(v, dims)
	if err != nil {
		return err
	}
	return c.set(0, out)
}

// permutation is that of a Transpose.
func (c *call) permutation(rank int) ([]int, error) {
	list := c.ints("perm")
	if list == nil {
		for i := rank - 1; i >= 0; i-- {
			list = append(list, int64(i))
		}
	}
	perm := make([]int, 0, rank)
	for _, p := range list {
		a, err := axis(p, rank)
		if err != nil || slices.Contains(perm, a) {
			return nil, refuse("%v is no order of %d dimensions", list, rank)
		}
		perm = append(perm, a)
	}
	if len(perm) != rank {
		return nil, refuse("%v is no order of %d dimensions", list, rank)
	}
	return perm, nil
}

// transpose only notes where the plane's sides are now.
func (c *call) transpose() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	perm, err := c.permutation(len(v.dims))
	if err != nil {
		return err
	}
	if v.mixed != nil {
		l := v.mixed.clone()
		for i, p := range perm {
			l.dims[i] = v.mixed.dims[p]
		}
		return c.set(0, l.apply(v))
	}
	dims, axes := make([]int64, len(perm)), [3]int{-1, -1, -1}
	for i, p := range perm {
		dims[i] = v.dims[p]
		if k := slices.Index(v.axes[:], p); k >= 0 {
			axes[k] = i
		}
	}
	return c.set(0, v.alias(dims, axes))
}

// same passes input 0 on.
func (c *call) same() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	switch c.n.Op {
	case "Dropout":
		c.float("ratio", 0)
		c.int("seed", 0)
		if c.opset < 7 && c.int("is_test", 0) == 0 {
			return refuse("it drops samples, as in training: export the network for inference")
		}
		if t := c.arg(2); t != nil && (t.con == nil || t.con.Len() != 1 || t.con.float(0) != 0) {
			return refuse("it drops samples, as in training: export the network for inference")
		}
	case "Cast":
		c.int("saturate", 1)
		if to := onnx.Type(c.int("to", 0)); !to.Real() && (codeRange[to] == [2]float32{} || !c.integral(v.node, 8)) {
			return refuse("planes of integers are not run")
		}
	}
	return c.set(0, v)
}
