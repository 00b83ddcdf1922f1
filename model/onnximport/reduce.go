package onnximport

import (
	"slices"

	"enhance/model"
)

var reductions = map[string]model.Reduce{"ReduceMean": model.ReduceMean, "ReduceSum": model.ReduceSum, "ReduceMax": model.ReduceMax,
	"ReduceMin": model.ReduceMin, "ReduceL1": model.ReduceLP, "ReduceL2": model.ReduceLP, "ReduceSumSquare": model.ReduceSum, "ReduceLogSum": model.ReduceSum}

// reduce imports reductions over all rows and columns, over the channels, or over both.
func (c *call) reduce() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	list, err := c.list("axes", 1)
	if err != nil {
		return err
	}
	noop := c.int("noop_with_empty_axes", 0) != 0
	keep := c.int("keepdims", 1) != 0
	if len(list) == 0 && noop {
		return c.set(0, v)
	}
	if len(list) == 0 {
		for i := range v.dims {
			list = append(list, int64(i))
		}
	}
	axes, err := axisList(list, len(v.dims))
	if err != nil {
		return err
	}
	out, err := c.reduced(v, axes)
	if err != nil {
		return err
	}
	if !keep {
		out = dropped(out, axes)
	}
	return c.set(0, out)
}

// reduced reduces v along dimensions, which stay with a size of 1.
func (c *call) reduced(v *value, axes []int) (*value, error) {
	if v.mixed != nil {
		return c.reducedChannels(v, axes)
	}
	s := c.shapeOf(v)
	over := func(k int, n int) bool { return n == 1 || slices.Contains(axes, v.axes[k]) && v.axes[k] >= 0 }
	plane, channels := s.H*s.W > 1 && over(axisH, s.H) && over(axisW, s.W), s.C > 1 && slices.Contains(axes, v.axes[axisC])
	if !plane && (s.H > 1 && slices.Contains(axes, v.axes[axisH]) || s.W > 1 && slices.Contains(axes, v.axes[axisW])) {
		return c.reducedChannels(v, axes)
	}
	n := c.reduction()
	v, err := c.squared(v)
	if err != nil {
		return nil, err
	}
	if !plane && !channels && n.Reduce == model.ReduceLP { // of one sample each
		return c.emit(model.Node{Op: model.OpMap, Func: model.FuncAbs, In: []int{v.node}}, "", v)
	}
	if plane {
		n.Op, n.In = model.OpGlobalPool, []int{v.node}
		if v, err = c.emit(n, ".plane", v); err != nil {
			return nil, err
		}
	}
	if channels {
		n.Op, n.In, n.Name = model.OpReduceChannels, []int{v.node}, ""
		if v, err = c.emit(n, "", v); err != nil {
			return nil, err
		}
	}
	if c.n.Op == "ReduceLogSum" {
		return c.emit(model.Node{Op: model.OpMap, Func: model.FuncLog, In: []int{v.node}}, ".log", v)
	}
	return v, nil
}

// reduction is the node's reduction.
func (c *call) reduction() model.Node {
	n := model.Node{Reduce: reductions[c.n.Op]}
	if n.Reduce == model.ReduceLP {
		n.Power = 2
		if c.n.Op == "ReduceL1" {
			n.Power = 1
		}
	}
	return n
}

// squared is v, squared if the node reduces squares.
func (c *call) squared(v *value) (*value, error) {
	if c.n.Op != "ReduceSumSquare" {
		return v, nil
	}
	return c.emit(model.Node{Op: model.OpMap, Func: model.FuncSquare, In: []int{v.node}}, ".square", v)
}

// reducedChannels is reduced for any dimensions: they become the channels.
func (c *call) reducedChannels(v *value, axes []int) (*value, error) {
	v, err := c.squared(v)
	if err != nil {
		return nil, err
	}
	if v, err = c.channelsFrom(v, axes); err != nil {
		return nil, err
	}
	n := c.reduction()
	n.Op, n.In = model.OpReduceChannels, []int{v.node}
	if v, err = c.emit(n, "", v.withChannels(axes, repeatInt(1, len(axes)))); err != nil || c.n.Op != "ReduceLogSum" {
		return v, err
	}
	return c.emit(model.Node{Op: model.OpMap, Func: model.FuncLog, In: []int{v.node}}, ".log", v)
}

// dropped is v without dimensions of size 1.
func dropped(v *value, axes []int) *value {
	if v.mixed != nil {
		l := v.mixed.clone()
		for _, a := range slices.Backward(axes) {
			l.dims = slices.Delete(l.dims, a, a+1)
		}
		return l.apply(v)
	}
	var dims []int64
	at := [3]int{-1, -1, -1}
	for i, d := range v.dims {
		if slices.Contains(axes, i) {
			continue
		}
		if k := slices.Index(v.axes[:], i); k >= 0 {
			at[k] = len(dims)
		}
		dims = append(dims, d)
	}
	return v.alias(dims, at)
}
