package onnximport

import (
	"enhance/model"
)

// poolVolume imports poolings of three dimensions of a picture: first over rows and columns of every slice, then over
// the slices, which become rows. The largest of largest ones is the largest of all, and the mean of means is the
// mean, as all slices count as many samples; the same is true of sums of powers.
func (c *call) poolVolume(v *value) error {
	list := func(name string, absent int64) ([3]int64, error) {
		out := [3]int64{absent, absent, absent}
		given := c.ints(name)
		if given == nil {
			return out, nil
		}
		if len(given) != 3 {
			return out, refuse("its %s is %v for 3 dimensions of a picture", name, given)
		}
		for _, n := range given {
			if n < 1 || n > 1<<16 {
				return out, refuse("its %s is %v: want 1..%d", name, given, 1<<16)
			}
		}
		return [3]int64(given), nil
	}
	kernel, err := list("kernel_shape", 1)
	if err != nil {
		return err
	}
	stride, err := list("strides", 1)
	if err != nil {
		return err
	}
	dilation, err := list("dilations", 1)
	if err != nil {
		return err
	}
	before, after, err := c.volumePads(v, kernel, stride, dilation)
	if err != nil {
		return err
	}
	window := func(h, w int) model.Window { // of dimensions of the picture; -1: none
		out := model.Window{KH: 1, KW: 1, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Ceil: c.int("ceil_mode", 0) != 0}
		out.KH, out.StrideH, out.DilationH, out.Top, out.Bottom = int(kernel[h]), int(stride[h]), int(dilation[h]), before[h], after[h]
		if w >= 0 {
			out.KW, out.StrideW, out.DilationW, out.Left, out.Right = int(kernel[w]), int(stride[w]), int(dilation[w]), before[w], after[w]
		}
		return out
	}
	if v, err = c.place(v, [3][]int{{0, 1, 2}, {3}, {4}}); err != nil {
		return err
	}
	if v, err = c.pooled(v, window(1, 2), [2]int{3, 4}); err != nil {
		return err
	}
	if v, err = c.place(v, [3][]int{{0, 1}, {2}, {3, 4}}); err != nil {
		return err
	}
	return c.result(c.pooled(v, window(0, -1), [2]int{2, -1}))
}

// volumePads are the pads of a pooling along the three dimensions of a picture.
func (c *call) volumePads(v *value, kernel, stride, dilation [3]int64) (before, after [3]int, err error) {
	auto, given := c.string("auto_pad", "NOTSET"), c.ints("pads")
	switch auto {
	case "NOTSET", "":
		if given == nil {
			return before, after, nil
		}
		if len(given) != 6 {
			return before, after, refuse("its pads are %v for 3 dimensions of a picture", given)
		}
		for i, n := range given {
			if n < 0 || n > 1<<16 {
				return before, after, refuse("its pads are %v: want 0..%d", given, 1<<16)
			}
			if i < 3 {
				before[i] = int(n)
			} else {
				after[i-3] = int(n)
			}
		}
	case "VALID":
	case "SAME_UPPER", "SAME_LOWER":
		for i := range before {
			before[i], after[i] = same(int(v.dims[2+i]), int(kernel[i]), int(stride[i]), int(dilation[i]), auto == "SAME_LOWER")
		}
	default:
		return before, after, refuse("its auto_pad is %q", auto)
	}
	return before, after, nil
}

// pooled emits the node's pooling by a window over v, whose rows and columns are dimensions of those numbers;
// -1: the columns stay.
func (c *call) pooled(v *value, w model.Window, dims [2]int) (*value, error) {
	s := c.shapeOf(v)
	sides := [2]int{s.H, s.W}
	sides[0], sides[1] = w.Out(s.H, s.W)
	l := layoutOf(v).clone()
	for i, d := range dims {
		if d < 0 {
			continue
		}
		l.axes[axisH+i], l.dims[d] = nil, nil
		if sides[i] > 1 {
			l.axes[axisH+i], l.dims[d] = []int{len(l.sizes)}, []int{len(l.sizes)}
			l.sizes = append(l.sizes, int64(sides[i]))
		}
	}
	n, err := c.pooling(w)
	if err != nil {
		return nil, err
	}
	n.In = []int{v.node}
	return c.emit(n, ".pool", l.apply(v))
}
