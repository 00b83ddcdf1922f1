package onnximport

import (
	"enhance/model"
)

func (c *call) concat() error {
	var list []*value
	for i := range c.in {
		v, err := c.plane(i)
		if err != nil {
			return err
		}
		list = append(list, v)
	}
	if len(list) == 0 {
		return refuse("it has no inputs")
	}
	like := list[0]
	a, err := axis(c.int("axis", 1), len(like.dims))
	if err != nil {
		return err
	}
	if len(list) == 1 {
		return c.set(0, like)
	}
	apart, total := false, int64(0)
	for i, v := range list {
		if len(v.dims) != len(like.dims) {
			return refuse("it joins planes of shapes %v and %v", like.dims, v.dims)
		}
		total += v.dims[a]
		apart = apart || v.mixed != nil || v.axes[axisC] != a || v.axes != list[0].axes
		for d, n := range v.dims {
			if d != a && n != like.dims[d] {
				return refuse("its inputs 0 and %d have the shapes %v and %v", i, like.dims, v.dims)
			}
		}
	}
	n, to := model.Node{Op: model.OpConcat}, channelPlaces(list[0], []int{a})
	for _, v := range list {
		if apart {
			if v, err = c.place(v, to); err != nil {
				return err
			}
			like = v
		}
		n.In = append(n.In, v.node)
	}
	if apart {
		like = like.withChannels([]int{a}, []int64{total})
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
	if v.mixed != nil || v.axes[axisC] != a {
		if v, err = c.channelsFrom(v, []int{a}); err != nil {
			return err
		}
	}
	first := 0
	for i, n := range sizes {
		if c.uses[c.n.Out[i]] > 0 {
			part, err := c.channels(v, a, first, int(n))
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

// picked are n channels of v, which are its dimension d, from first on by a step.
func (c *call) picked(v *value, d int, first, step, n int64) (*value, error) {
	if step == 1 {
		return c.channels(v, d, int(first), int(n))
	}
	const most, each = 1 << 10, 1 << 10 // nodes, and the room that one takes
	if n > most || n*each > c.room {
		return nil, refuse("it takes %d samples of dimension %d of %v by steps of %d; at most %d are run", n, d, v.dims, step, most)
	}
	c.room -= n * each
	all := model.Node{Op: model.OpConcat}
	for i := range n {
		one, err := c.channels(v, d, int(first+i*step), 1)
		if err != nil {
			return nil, err
		}
		all.In = append(all.In, one.node)
	}
	return c.emit(all, "", v.withChannels([]int{d}, []int64{n}))
}

// channels are n channels of v, which are its dimension d.
func (c *call) channels(v *value, d, first, n int) (*value, error) {
	if first == 0 && n == c.shapeOf(v).C {
		return v, nil
	}
	like := v
	if v.mixed != nil || v.axes[axisC] != d { // a dimension of size 1 stands anywhere
		like = v.withChannels([]int{d}, []int64{int64(n)})
	}
	return c.emit(model.Node{Op: model.OpSlice, First: first, C: n, In: []int{v.node}}, "", like)
}

func (c *call) slice() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	if c.opset < 10 {
		c.sliceInputs()
	}
	start, step, count, err := c.ranges(v.dims)
	if err != nil {
		return err
	}
	for a, n := range count {
		if n < 1 {
			return refuse("nothing is left of dimension %d of %v", a, v.dims)
		}
	}
	for a := 0; a < len(count); a++ { // of the channels, or of what is none of channels, rows and columns
		n := count[a]
		if n == 1 {
			step[a] = 1
		}
		side := v.mixed == nil && (v.axes[axisH] == a || v.axes[axisW] == a) && step[a] > 0
		if n == v.dims[a] && step[a] == 1 || side {
			continue
		}
		if v.mixed != nil || v.axes[axisC] != a {
			if v, err = c.channelsFrom(v, []int{a}); err != nil {
				return err
			}
		}
		if v, err = c.picked(v, a, start[a], step[a], n); err != nil {
			return err
		}
		start[a], step[a] = 0, 1
		a = -1 // what were rows or columns may now be channels
	}
	if v.mixed != nil {
		return c.set(0, v)
	}
	return c.result(c.sliceSides(v, start, step, count))
}

// sliceInputs makes inputs of the attributes starts, ends and axes, which opsets before 10 have in their place.
func (c *call) sliceInputs() {
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

// sliceSides is the part of v's rows and columns that a slice takes.
func (c *call) sliceSides(v *value, start, step, count []int64) (*value, error) {
	s := c.shapeOf(v)
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
	return c.crop(v, cut, by[0], by[1])
}

// crop leaves out top, left, bottom and right, and keeps every so many-th row and column.
func (c *call) crop(v *value, cut [4]int, rows, columns int) (*value, error) {
	if cut == [4]int{} && rows == 1 && columns == 1 {
		return v, nil
	}
	return c.emit(model.Node{Op: model.OpCrop, In: []int{v.node}, Window: model.Window{Top: cut[0], Left: cut[1], Bottom: cut[2], Right: cut[3],
		StrideH: rows, StrideW: columns}}, "", v)
}
