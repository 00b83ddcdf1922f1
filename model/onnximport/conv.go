package onnximport

import (
	"enhance/model"
)

// window reads the attributes that convolutions and poolings share, for a kernel of kh×kw or, if they are 0, that of
// kernel_shape, over v. Planes of one dimension are rows of a picture.
func (c *call) window(v *value, kh, kw int64) (model.Window, error) {
	one := len(v.dims) == 3
	two := func(name string, absent int64) (h, w int64, err error) {
		switch list := c.ints(name); {
		case list == nil:
			return absent, absent, nil
		case one && len(list) == 1:
			return absent, list[0], nil
		case !one && len(list) == 2:
			return list[0], list[1], nil
		default:
			return 0, 0, refuse("its %s is %v for %d dimensions of a picture", name, list, len(v.dims)-2)
		}
	}
	h, w, err := two("kernel_shape", 0)
	if err == nil && one && h == 0 {
		h = 1
	}
	switch {
	case err != nil:
		return model.Window{}, err
	case kh != 0 && (w != 0 && w != kw || h != 0 && h != kh):
		return model.Window{}, refuse("its kernel_shape is %dx%d, its weight's %dx%d", h, w, kh, kw)
	case kh == 0:
		kh, kw = h, w
	}
	sh, sw, err := two("strides", 1)
	if err != nil {
		return model.Window{}, err
	}
	dh, dw, err := two("dilations", 1)
	if err != nil {
		return model.Window{}, err
	}
	const most = 1 << 16
	for _, n := range [...]int64{kh, kw, sh, sw, dh, dw} {
		if n < 1 || n > most {
			return model.Window{}, refuse("a kernel of %dx%d with strides %dx%d and dilations %dx%d: want 1..%d", kh, kw, sh, sw, dh, dw, most)
		}
	}
	out := model.Window{KH: int(kh), KW: int(kw), StrideH: int(sh), StrideW: int(sw), DilationH: int(dh), DilationW: int(dw)}
	return out, c.pads(v, &out)
}

// pads sets a window's pads.
func (c *call) pads(v *value, w *model.Window) error {
	list, s := c.ints("pads"), c.shapeOf(v)
	switch auto := c.string("auto_pad", "NOTSET"); auto {
	case "NOTSET", "":
	case "VALID":
		return nil
	case "SAME_UPPER", "SAME_LOWER":
		if w.StrideH > 1 || w.StrideW > 1 {
			c.readsSize()
		}
		lower := auto == "SAME_LOWER"
		w.Top, w.Bottom = same(s.H, w.KH, w.StrideH, w.DilationH, lower)
		w.Left, w.Right = same(s.W, w.KW, w.StrideW, w.DilationW, lower)
		return nil
	default:
		return refuse("its auto_pad is %q", auto)
	}
	if list == nil {
		return nil
	}
	if len(v.dims) == 3 && len(list) == 2 {
		list = []int64{0, list[0], 0, list[1]}
	}
	if len(list) != 4 {
		return refuse("its pads are %v for %d dimensions of a picture", list, len(v.dims)-2)
	}
	for _, p := range list {
		if p < 0 || p > 1<<16 {
			return refuse("its pads are %v: want 0..%d", list, 1<<16)
		}
	}
	w.Top, w.Left, w.Bottom, w.Right = int(list[0]), int(list[1]), int(list[2]), int(list[3])
	return nil
}

// same gives the pads for which n samples become ⌈n/stride⌉, the odd one after, or before if lower.
func same(n, k, stride, dilation int, lower bool) (before, after int) {
	total := max(0, ((n+stride-1)/stride-1)*stride+(k-1)*dilation+1-n)
	if lower {
		return total - total/2, total / 2
	}
	return total / 2, total - total/2
}

// kernel is a convolution's weight as four dimensions.
func (c *call) kernel(v *value) (data []float32, o, i, kh, kw int64, err error) {
	if len(v.dims) < 3 {
		err = refuse("its input of shape %v has neither rows nor columns", v.dims)
		return
	}
	k, err := c.weight(1, len(v.dims))
	if err != nil {
		return
	}
	if k == nil {
		err = refuse("its weight is missing")
		return
	}
	kh = 1
	if len(k.Dims) == 4 {
		kh = k.Dims[2]
	}
	return k.Floats, k.Dims[0], k.Dims[1], kh, k.Dims[len(k.Dims)-1], nil
}

func (c *call) conv() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	weight, o, i, kh, kw, err := c.kernel(v)
	if err != nil {
		return err
	}
	w, err := c.window(v, kh, kw)
	if err != nil {
		return err
	}
	bias, err := c.vector(2, int(o), 0)
	if err != nil {
		return err
	}
	groups := c.int("group", 1)
	if s := c.shapeOf(v); groups < 1 || groups > 1<<20 || i*groups != int64(s.C) {
		return refuse("its weight reads %d channels in each of %d groups, its input has %d", i, groups, s.C)
	}
	if out, err := c.convOfCodes(v, bias, w, int(groups)); out != nil || err != nil {
		return c.result(out, err)
	}
	return c.result(c.convolution(v, weight, bias, w, int(groups), ""))
}

// convOfCodes emits a convolution of what codes stand for by what integers stand for as one of the codes, nil
// if it is another.
func (c *call) convOfCodes(v *value, bias []float32, w model.Window, groups int) (*value, error) {
	d, k := c.grow.Node(v.node), c.arg(1).con
	if d.Op != model.OpDequantize || k.from == nil || c.grow.Node(d.In[0]).Zero != d.Zero {
		return nil, nil
	}
	weight := make([]float32, len(k.from.Codes))
	for i, q := range k.from.Codes {
		weight[i] = float32(q)
	}
	if !codable(w, groups, c.shapeOf(v).C, weight) {
		return nil, nil
	}
	by, err := factors(d.Step, k.from.Steps, len(bias))
	if err != nil {
		return nil, err
	}
	codes := *v
	codes.node = d.In[0]
	return c.codeConv(&codes, weight, by, bias, w.KH, "")
}

// convolution emits a convolution with zeros outside, in the form that has the fastest kernels. A pad before it that nothing
// else reads becomes its own.
func (c *call) convolution(v *value, weight, bias []float32, w model.Window, groups int, suffix string) (*value, error) {
	from, mode := v.node, model.PadZero
	if p := c.grow.Node(v.node); v.sole && p.Op == model.OpPad {
		none := w.Top+w.Left+w.Bottom+w.Right == 0
		if none && p.Pad != model.PadConstant || p.Pad == model.PadConstant && p.Alpha == 0 {
			if p.Pad != model.PadConstant {
				mode = p.Pad
			}
			from = p.In[0]
			w.Top, w.Left, w.Bottom, w.Right = w.Top+p.Window.Top, w.Left+p.Window.Left, w.Bottom+p.Window.Bottom, w.Right+p.Window.Right
		}
	}
	name, o := c.name(suffix), len(bias)
	n := model.Node{Name: name, Op: model.OpConv, In: []int{from}, C: o, Pad: mode, Bias: c.param(name, "bias", bias, o),
		Weight: c.param(name, "weight", weight, o, c.grow.Shape(from).C/groups, w.KH, w.KW)}
	half := w.KH / 2
	if w == (model.Window{KH: w.KH, KW: w.KH, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Top: half, Left: half, Bottom: half, Right: half}) &&
		w.KH%2 == 1 && groups == 1 {
		n.K = w.KH
	} else {
		n.Window, n.Groups = w, groups
	}
	return c.emit(n, "", v)
}
