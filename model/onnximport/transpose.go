package onnximport

import (
	"enhance/model"
)

// convTranspose imports a transposed convolution of stride s as a convolution to s·s times the channels, one for each
// place of an s×s block of outputs, followed by a shuffle of these channels to their places. Output q·s+p
// along a line is Σ over m of kernel[p+s·m] · input[q-m]: a convolution with ⌈k/s⌉ taps in reversed order.
func (c *call) convTranspose() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	weight, in, perGroup, kh, kw, err := c.kernel(v)
	if err != nil {
		return err
	}
	w, err := c.window(v, kh, kw)
	if err != nil {
		return err
	}
	groups, s := c.int("group", 1), c.shapeOf(v)
	if groups < 1 || in != int64(s.C) || in%groups != 0 || perGroup < 1 || perGroup > 1<<20/groups {
		return refuse("its weight reads %d channels in %d groups, its input has %d", in, groups, s.C)
	}
	bias, err := c.vector(2, int(perGroup*groups), 0)
	if err != nil {
		return err
	}
	var more [2]int
	if list := c.ints("output_padding"); list != nil {
		if len(list) != len(v.dims)-2 {
			return refuse("its output_padding is %v", list)
		}
		for i, p := range list {
			if p < 0 || p > 1<<16 {
				return refuse("its output_padding is %v", list)
			}
			more[2-len(list)+i] = int(p)
		}
	}
	if err := c.outputPads(v, &w, &more); err != nil {
		return err
	}
	t := transposed{w: w, in: int(in), groups: int(groups), perGroup: int(perGroup)}
	if err := t.plan(more); err != nil {
		return err
	}
	return c.result(c.emitTransposed(v, &t, weight, bias))
}

// outputPads sets the pads of a transposed convolution whose file says, in place of them, that its
// result has the stride times the sides of its input (auto_pad) or output_shape.
func (c *call) outputPads(v *value, w *model.Window, more *[2]int) error {
	auto, shape, s := c.string("auto_pad", "NOTSET"), c.ints("output_shape"), c.shapeOf(v)
	is := auto == "SAME_UPPER" || auto == "SAME_LOWER"
	if !is && shape == nil {
		return nil
	}
	if shape == nil {
		shape = []int64{int64(s.H) * int64(w.StrideH), int64(s.W) * int64(w.StrideW)}[4-len(v.dims):]
	} else {
		c.readsSize()
	}
	if len(shape) != len(v.dims)-2 {
		return refuse("its output_shape is %v", shape)
	}
	line := func(n, stride, k, dilation, more int, out int64, before, after *int) (int, error) {
		total := int64(stride)*int64(n-1) + int64(more) + int64(k-1)*int64(dilation) + 1 - out
		if out < 1 || total > 1<<16 || total < -1<<16 {
			return 0, refuse("its result has a side of %d", out)
		}
		if total < 0 { // more than the input reaches
			return more - int(total), nil
		}
		half := int(total) / 2
		if *before, *after = half, int(total)-half; auto != "SAME_UPPER" {
			*before, *after = *after, *before
		}
		return more, nil
	}
	var err error
	if w.Top, w.Bottom, w.Left, w.Right = 0, 0, 0, 0; len(shape) == 2 {
		if more[0], err = line(s.H, w.StrideH, w.KH, w.DilationH, more[0], shape[0], &w.Top, &w.Bottom); err != nil {
			return err
		}
	}
	more[1], err = line(s.W, w.StrideW, w.KW, w.DilationW, more[1], shape[len(shape)-1], &w.Left, &w.Right)
	return err
}

// transposed is a transposed convolution and the convolution that it becomes.
type transposed struct {
	w                    model.Window // as the file says
	in, groups, perGroup int
	factor               [2]int // the strides
	taps                 model.Window
	// The rows and columns of the shuffled result that are left out at the end, besides
	// w.Top and w.Left at the start.
	cutBottom, cutRight int
}

// plan sets the convolution's window and what is cut.
func (t *transposed) plan(more [2]int) error {
	w := t.w
	t.factor = [2]int{w.StrideH, w.StrideW}
	t.taps = model.Window{StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1}
	line := func(factor, k, dilation, after, more int) (taps, before, pad, cut int) {
		extent := (k-1)*dilation + 1
		taps = (extent + factor - 1) / factor
		blocks := (extent - after + more + factor - 1) / factor // beyond those of all but the last input sample
		if extent-after+more <= 0 {
			blocks = 0
		}
		pad = max(0, blocks-1)
		cut = (pad+1)*factor - (extent - after + more)
		return taps, taps - 1, pad, cut
	}
	t.taps.KH, t.taps.Top, t.taps.Bottom, t.cutBottom = line(w.StrideH, w.KH, w.DilationH, w.Bottom, more[0])
	t.taps.KW, t.taps.Left, t.taps.Right, t.cutRight = line(w.StrideW, w.KW, w.DilationW, w.Right, more[1])
	if t.taps.KH > 1<<10 || t.taps.KW > 1<<10 {
		return refuse("a kernel of %dx%d", w.KH, w.KW)
	}
	return nil
}

// weights reorders ONNX's weights (input, output of its group, row, column) for the convolution.
func (t *transposed) weights(from []float32) []float32 {
	w, fh, fw := t.w, t.factor[0], t.factor[1]
	perIn := t.in / t.groups
	out := make([]float32, t.groups*t.perGroup*fh*fw*perIn*t.taps.KH*t.taps.KW)
	for i := range t.in {
		g := i / perIn
		for o := range t.perGroup {
			for y := range w.KH {
				for x := range w.KW {
					ey, ex := y*w.DilationH, x*w.DilationW
					channel := (g*t.perGroup+o)*fh*fw + ey%fh*fw + ex%fw
					ty, tx := t.taps.KH-1-ey/fh, t.taps.KW-1-ex/fw
					out[((channel*perIn+i%perIn)*t.taps.KH+ty)*t.taps.KW+tx] = from[((i*t.perGroup+o)*w.KH+y)*w.KW+x]
				}
			}
		}
	}
	return out
}

func (c *call) emitTransposed(v *value, t *transposed, weight, bias []float32) (*value, error) {
	fh, fw := t.factor[0], t.factor[1]
	if int64(len(bias))*int64(fh)*int64(fw) > 1<<20 {
		return nil, refuse("%d channels for strides of %dx%d", len(bias), fh, fw)
	}
	spread := make([]float32, 0, len(bias)*fh*fw)
	for _, b := range bias {
		spread = append(spread, repeat(b, fh*fw)...)
	}
	suffix := ""
	if fh*fw > 1 {
		suffix = ".phases"
	}
	out, err := c.convolution(v, t.weights(weight), spread, t.taps, t.groups, suffix)
	switch {
	case err != nil || fh*fw == 1:
	case fh == fw:
		out, err = c.shuffle(out, fh, true)
	default: // channels of places in blocks, rows and columns
		out, err = c.emitOn(model.Node{Op: model.OpRearrange, Rearrange: model.Rearrange{Factors: [3][]int{{len(bias), fh, fw}, {0}, {0}},
			To: [3][]int{{0}, {3, 1}, {4, 2}}}}, out)
	}
	if err != nil {
		return nil, err
	}
	return c.crop(out, [4]int{t.w.Top, t.w.Left, t.cutBottom, t.cutRight}, 1, 1)
}
