package onnximport

import "enhance/model"

func (c *call) pool() error {
	if v := c.arg(0); v != nil && v.con == nil && len(v.dims) == 5 {
		return c.poolVolume(v)
	}
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	if len(v.dims) < 3 {
		return refuse("its input of shape %v has neither rows nor columns", v.dims)
	}
	w, err := c.window(v, 0, 0)
	if err != nil {
		return err
	}
	w.Ceil = c.int("ceil_mode", 0) != 0
	n, err := c.pooling(w)
	if err != nil {
		return err
	}
	if n.Reduce == model.ReduceMax && w == (model.Window{KH: 2, KW: 2, StrideH: 2, StrideW: 2, DilationH: 1, DilationW: 1}) {
		n = model.Node{Op: model.OpMaxPool}
	}
	return c.result(c.emitOn(n, v))
}

// pooling is the node's pooling by a window.
func (c *call) pooling(w model.Window) (model.Node, error) {
	n := model.Node{Op: model.OpPool, Window: w}
	switch c.n.Op {
	case "MaxPool":
		n.Reduce = model.ReduceMax
		if c.int("storage_order", 0) != 0 {
			return n, refuse("its storage_order is not 0")
		}
	case "AveragePool":
		n.Reduce = model.ReduceMean
		if c.int("count_include_pad", 0) != 0 {
			n.Reduce = model.ReduceMeanPadded
		}
	default:
		n.Reduce, n.Power = model.ReduceLP, float32(c.int("p", 2))
	}
	return n, nil
}

func (c *call) globalPool() error {
	if _, err := c.picture(0); err != nil {
		return err
	}
	n := model.Node{Op: model.OpGlobalPool}
	switch c.n.Op {
	case "GlobalMaxPool":
		n.Reduce = model.ReduceMax
	case "GlobalAveragePool":
		n.Reduce = model.ReduceMean
	default:
		n.Reduce, n.Power = model.ReduceLP, float32(c.int("p", 2))
	}
	return c.unary(n)
}
