package onnximport

import (
	"slices"

	"enhance/model"
)

func (c *call) concat() error {
	var like *value
	n := model.Node{Op: model.OpConcat}
	for i := range c.in {
		v, err := c.plane(i)
		if err != nil {
			return err
		}
		if like == nil {
			like = v
		}
		if len(v.dims) != len(like.dims) || v.flat {
			return refuse("it joins planes of shapes %v and %v", like.dims, v.dims)
		}
		n.In = append(n.In, v.node)
	}
	a, err := axis(c.int("axis", 1), len(like.dims))
	if err != nil {
		return err
	}
	for i, v := range c.in {
		if v.axes[axisC] != a {
			return refuse("it joins along dimension %d of %v, which is not the channels: only those are joined", a, v.dims)
		}
		if v.axes != like.axes {
			return refuse("its inputs 0 and %d have their channels, rows and columns in different places", i)
		}
	}
	if len(c.in) == 1 {
		return c.set(0, like)
	}
	return c.result(c.emit(n, "", like))
}

// splits are the sizes of Split's parts of a dimension of n.
func (c *call) splits(n int64) ([]int64, error) {
	sizes, err := c.list("split", 1)
	if err != nil {
		return nil, err
	}
	parts := c.int("num_outputs", int64(len(c.n.Out)))
	if sizes == nil {
		if parts < 1 || parts > n || parts != int64(len(c.n.Out)) {
			return nil, refuse("%d parts of %d, and %d outputs", parts, n, len(c.n.Out))
		}
		for each := (n + parts - 1) / parts; n > 0; n -= each {
			sizes = append(sizes, min(each, n))
		}
		return sizes, nil
	}
	sum := int64(0)
	for _, s := range sizes {
		if s < 0 || s > n {
			return nil, refuse("parts of %v of a dimension of %d", sizes, n)
		}
		sum += s
	}
	if sum != n || len(sizes) != len(c.n.Out) {
		return nil, refuse("parts of %v of a dimension of %d, and %d outputs", sizes, n, len(c.n.Out))
	}
	return sizes, nil
}

func (c *call) split() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	a, err := axis(c.int("axis", 0), len(v.dims))
	if err != nil {
		return err
	}
	sizes, err := c.splits(v.dims[a])
	if err != nil {
		return err
	}
	if v.axes[axisC] != a || v.flat {
		return refuse("it splits dimension %d of %v, which is not the channels: only those are split", a, v.dims)
	}
	first := 0
	for i, n := range sizes {
		if c.uses[c.n.Out[i]] > 0 {
			part, err := c.channels(v, first, int(n))
			if err != nil {
				return err
			}
			if err := c.set(i, part); err != nil {
				return err
			}
		}
		first += int(n)
	}
	return nil
}

// channels are n channels of v.
func (c *call) channels(v *value, first, n int) (*value, error) {
	if first == 0 && n == c.shapeOf(v).C {
		return v, nil
	}
	return c.emit(model.Node{Op: model.OpSlice, First: first, C: n, In: []int{v.node}}, "", v)
}

func (c *call) slice() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	if c.opset < 10 { // starts, ends and axes are attributes
		c.in = c.in[:1]
		for _, name := range [...]string{"starts", "ends", "axes"} {
			list := c.ints(name)
			c.in = append(c.in, nil)
			if list != nil {
				c.in[len(c.in)-1] = shapeConstant(list)
			}
		}
		for _, name := range [...]string{"starts", "ends", "axes"} { // list reads the inputs made of them
			delete(c.n.Attrs, name)
		}
	}
	if v.flat {
		return refuse("it slices a plane that was flattened")
	}
	start, step, count, err := c.ranges(v.dims)
	if err != nil {
		return err
	}
	for a, n := range count {
		if n < 1 {
			return refuse("nothing is left of dimension %d of %v", a, v.dims)
		}
		if step[a] < 0 && n > 1 {
			return refuse("it reverses dimension %d of %v", a, v.dims)
		}
		if step[a] < 0 {
			step[a] = 1
		}
		if n != v.dims[a] && !slices.Contains(v.axes[:], a) {
			return refuse("it slices dimension %d of %v", a, v.dims)
		}
	}
	out, s := v, c.shapeOf(v)
	if a := v.axes[axisC]; a >= 0 && count[a] != int64(s.C) {
		if step[a] != 1 {
			return refuse("it takes every %d. channel", step[a])
		}
		if out, err = c.channels(v, int(start[a]), int(count[a])); err != nil {
			return err
		}
	}
	var cut [4]int
	by := [2]int{1, 1}
	for k, n := range [2]int{s.H, s.W} {
		a := v.axes[axisH+k]
		if a < 0 {
			continue
		}
		if count[a] != int64(n) {
			c.readsSize()
		}
		by[k], cut[k] = int(min(step[a], 1<<16)), int(start[a])
		cut[2+k] = n - int(start[a]) - by[k]*(int(count[a])-1) - 1
		if by[k] > 1 { // what a step passes over at the end is not cut, so that the crop is the same at all sizes
			cut[2+k] = max(0, cut[2+k]-by[k]+1)
		}
	}
	return c.result(c.crop(out, cut, by[0], by[1]))
}

// crop leaves out top, left, bottom and right, and keeps every so many-th row and column.
func (c *call) crop(v *value, cut [4]int, rows, columns int) (*value, error) {
	if cut == [4]int{} && rows == 1 && columns == 1 {
		return v, nil
	}
	return c.emit(model.Node{Op: model.OpCrop, In: []int{v.node}, Window: model.Window{Top: cut[0], Left: cut[1], Bottom: cut[2], Right: cut[3],
		StrideH: rows, StrideW: columns}}, "", v)
}
