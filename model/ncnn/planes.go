package ncnn

import "slices"

// split gives its input to each of its outputs.
func (t *translation) split() error {
	if len(t.l.in) != 1 || len(t.l.out) < 1 {
		return t.l.refuse("%d inputs and %d outputs", len(t.l.in), len(t.l.out))
	}
	for _, out := range t.l.out {
		t.node("Identity", nil, out, t.l.in[0])
	}
	return nil
}

func (t *translation) concat() error {
	axis, err := t.axis(t.l.int(0, 0))
	if err != nil {
		return err
	}
	if len(t.l.in) < 1 || len(t.l.out) != 1 {
		return t.l.refuse("%d inputs and %d outputs", len(t.l.in), len(t.l.out))
	}
	t.node("Concat", attrs{"axis": axis}, t.l.out[0], t.l.in...)
	return nil
}

// slice takes a blob apart along a dimension: all parts of one size, or of the sizes given.
func (t *translation) slice() error {
	sizes := t.l.ints(0)
	axis, err := t.axis(t.l.int(1, 0))
	if err != nil {
		return err
	}
	if len(t.l.in) != 1 || len(t.l.out) < 1 || len(sizes) != len(t.l.out) || t.l.arrays[2] != nil {
		return t.l.refuse("%d inputs, %d outputs and %d sizes", len(t.l.in), len(t.l.out), len(sizes))
	}
	n := len(t.g.Nodes)
	const rest = -233 // an equal share of what is left
	if !slices.ContainsFunc(sizes, func(s int) bool { return s != rest }) {
		t.node("Split", attrs{"axis": axis, "num_outputs": len(sizes)}, t.l.out[0], t.l.in[0])
	} else {
		list := make([]int64, len(sizes))
		for i, s := range sizes {
			if s < 1 {
				return t.l.refuse("parts of %v: want sizes, or -233 for all", sizes)
			}
			list[i] = int64(s)
		}
		t.node("Split", attrs{"axis": axis}, t.l.out[0], t.l.in[0], t.integers(list...))
	}
	t.g.Nodes[n].Out = slices.Clone(t.l.out)
	return nil
}

// crop is of ranges by dimension, or of offsets at both ends.
func (t *translation) crop() error {
	l := t.l
	if len(l.in) != 1 {
		return l.refuse("it crops to the size of another blob, which is not read")
	}
	starts, ends, axes := l.ints(9), l.ints(10), l.ints(11)
	if len(starts) > 0 {
		if len(ends) != len(starts) || axes != nil && len(axes) != len(starts) || len(starts) > 3 {
			return l.refuse("%d starts, %d ends and %d axes", len(starts), len(ends), len(axes))
		}
		var list [3][]int64
		for i := range starts {
			a := i
			if axes != nil {
				a = axes[i]
			}
			a, err := t.axis(a)
			if err != nil {
				return err
			}
			end := int64(ends[i])
			if ends[i] == -233 { // up to the end
				end = 1 << 30
			}
			list[0], list[1], list[2] = append(list[0], int64(starts[i])), append(list[1], end), append(list[2], int64(a))
		}
		return t.one("Slice", nil, t.integers(list[0]...), t.integers(list[1]...), t.integers(list[2]...))
	}
	left, top, first := l.int(0, 0), l.int(1, 0), l.int(2, 0)
	width, height, channels := l.int(3, 0), l.int(4, 0), l.int(5, 0)
	right, bottom, last := l.int(6, 0), l.int(7, 0), l.int(8, 0)
	if first != 0 || last != 0 || channels != 0 && channels != -233 || width != -233 || height != -233 || min(left, top, right, bottom) < 0 {
		return l.refuse("it crops to a size, or channels, which is not read: want offsets of rows and columns")
	}
	end := func(n int) int64 {
		if n == 0 {
			return 1 << 30
		}
		return -int64(n)
	}
	return t.one("Slice", nil, t.integers(int64(top), int64(left)), t.integers(end(bottom), end(right)), t.integers(2, 3))
}

func (t *translation) pixelShuffle() error {
	mode := "CRD"
	if t.l.int(1, 0) != 0 {
		mode = "DCR"
	}
	return t.one("DepthToSpace", attrs{"blocksize": t.l.int(0, 1), "mode": mode})
}

// reorg is the inverse of the pixel shuffle. ONNX's has the order of channels of mode 1 alone.
func (t *translation) reorg() error {
	if t.l.int(1, 0) != 1 && t.l.int(0, 1) != 1 {
		return t.l.refuse("its mode is 0, which is not read")
	}
	return t.one("SpaceToDepth", attrs{"blocksize": t.l.int(0, 1)})
}

func (t *translation) interp() error {
	l := t.l
	kind, h, w, rows, columns := l.int(0, 0), l.float(1, 1), l.float(2, 1), l.int(3, 0), l.int(4, 0)
	a := attrs{"mode": map[int]string{1: "nearest", 2: "linear", 3: "cubic"}[kind], "coordinate_transformation_mode": "half_pixel"}
	align := l.int(6, 0) != 0
	switch {
	case a["mode"] == "":
		return l.refuse("its mode is %d: want 1 (nearest), 2 (bilinear) or 3 (bicubic)", kind)
	case kind == 1:
		a["coordinate_transformation_mode"], a["nearest_mode"] = "asymmetric", "floor"
	case align:
		a["coordinate_transformation_mode"] = "align_corners"
	}
	if rows != 0 || columns != 0 {
		if rows < 1 || columns < 1 {
			return l.refuse("it resizes to %d rows and %d columns", rows, columns)
		}
		a["axes"] = []int64{2, 3}
		return t.one("Resize", a, "", "", t.integers(int64(rows), int64(columns)))
	}
	return t.one("Resize", a, "", t.numbers([]float32{1, 1, h, w}, 4))
}

func (t *translation) padding() error {
	l := t.l
	top, bottom, left, right := l.int(0, 0), l.int(1, 0), l.int(2, 0), l.int(3, 0)
	mode := map[int]string{0: "constant", 1: "edge", 2: "reflect"}[l.int(4, 0)]
	value := l.float(5, 0)
	if mode == "" || min(top, bottom, left, right) < 0 {
		return l.refuse("pads of %d, %d, %d and %d in mode %d", top, left, bottom, right, l.int(4, 0))
	}
	pads := t.integers(0, 0, int64(top), int64(left), 0, 0, int64(bottom), int64(right))
	return t.one("Pad", attrs{"mode": mode}, pads, t.numbers([]float32{value}))
}

func (t *translation) flatten() error {
	if err := t.sides(1, 1); err != nil {
		return err
	}
	row := t.node("Flatten", nil, "", t.l.in[0])
	t.node("Reshape", nil, t.l.out[0], row, t.integers(1, -1, 1, 1))
	return nil
}

func (t *translation) pooling() error {
	l := t.l
	mean := l.int(0, 0)
	if mean != 0 && mean != 1 {
		return l.refuse("its kind is %d: want 0 (maximum) or 1 (mean)", mean)
	}
	op := [...]string{"MaxPool", "AveragePool"}[mean]
	kw, sw, left := l.int(1, 0), l.int(2, 1), l.int(3, 0)
	kh, sh, top := l.int(11, kw), l.int(12, sw), l.int(13, left)
	right := l.int(14, left)
	bottom := l.int(15, top)
	global, mode, padded := l.int(4, 0) != 0, l.int(5, 0), l.int(6, 0) != 0
	if l.int(7, 0) != 0 && !(l.int(8, 0) == 1 && l.int(18, l.int(8, 0)) == 1) {
		return l.refuse("it pools to a size (adaptive), of which 1x1 alone is read")
	}
	if global || l.int(7, 0) != 0 {
		return t.one("Global"+op, nil)
	}
	a := attrs{"kernel_shape": []int64{int64(kh), int64(kw)}, "strides": []int64{int64(sh), int64(sw)}}
	if mean == 1 && padded {
		a["count_include_pad"] = 1
	}
	switch mode {
	case 0, 1:
		if min(left, top, right, bottom) < 0 || max(left, right) >= max(kw, 1) || max(top, bottom) >= max(kh, 1) {
			return l.refuse("pads of %d, %d, %d and %d for a kernel of %dx%d", top, left, bottom, right, kh, kw)
		}
		a["pads"] = []int64{int64(top), int64(left), int64(bottom), int64(right)}
		if mode == 0 { // windows beyond the last pad count too: as in ONNX where none lies on pads alone
			if mean == 1 && padded || right > kw-sw || bottom > kh-sh || sw > kw || sh > kh {
				return l.refuse("windows of %dx%d by steps of %dx%d with pads in pad mode 0 may lie on pads alone, which is not read", kh, kw, sh, sw)
			}
			a["ceil_mode"] = 1
		}
	case 2:
		a["auto_pad"] = "SAME_UPPER"
	case 3:
		a["auto_pad"] = "SAME_LOWER"
	default:
		return l.refuse("its pad mode is %d", mode)
	}
	return t.one(op, a)
}
