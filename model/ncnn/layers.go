package ncnn

import (
	"math"

	"enhance/model/onnx"
)

// input makes an input of the network. Its sides are defaults, its channels are those of the convolution that
// reads it where the file does not say them.
func (t *translation) input() error {
	if err := t.sides(0, 1); err != nil {
		return err
	}
	w, h, c := t.l.int(0, 0), t.l.int(1, 0), t.l.int(2, 0)
	if c == 0 && h == 0 && w > 0 { // a row of numbers, which are channels
		w, h, c = 1, 1, w
	}
	dims := []int64{1, -1, -1, -1}
	for i, n := range [...]int{c, h, w} {
		if n < 0 || n > 1<<20 {
			return t.l.refuse("%d channels, %d rows, %d columns: want at most %d", c, h, w, 1<<20)
		}
		if n > 0 {
			dims[1+i] = int64(n)
		}
	}
	t.g.Inputs = append(t.g.Inputs, &onnx.Value{Name: t.l.out[0], Type: onnx.Float, Ranked: true, Dims: dims, Symbols: make([]string, 4)})
	return nil
}

// inputChannels finds the channels of inputs that do not say them: what the first convolution reads behind
// layers that keep them.
func (t *translation) inputChannels(layers []*layer) {
	for _, v := range t.g.Inputs {
		same, point := map[string]bool{v.Name: true}, map[string]bool{} // point: of one sample a channel
		for _, n := range t.g.Nodes {
			if v.Dims[1] >= 0 || len(n.In) == 0 || !same[n.In[0]] {
				continue
			}
			switch n.Op {
			case "Conv":
				group := int64(1)
				if g := n.Attrs["group"]; g != nil {
					group = g.I
				}
				v.Dims[1] = t.g.Initializers[n.In[1]].Dims[1] * group
			case "Gemm":
				v.Dims[1] = t.g.Initializers[n.In[1]].Dims[1]
			case "GlobalAveragePool", "GlobalMaxPool":
				same[n.Out[0]], point[n.Out[0]] = true, true
			case "Flatten":
				same[n.Out[0]] = point[n.In[0]]
			case "MaxPool", "AveragePool", "BatchNormalization", "Identity", "Resize", "Pad", "Clip", "Relu", "LeakyRelu", "Add", "Sub", "Mul", "Div", "PRelu", "Sigmoid":
				same[n.Out[0]] = true
			}
		}
	}
}

// window holds the parameters that convolutions and deconvolutions share.
type window struct {
	out, in, group, kw, kh int
	attrs                  attrs
	kind                   onnx.Type
	weight                 []byte
	bias                   []byte // nil: none
}

// window reads a convolution's parameters and takes its weights.
func (t *translation) window() (*window, error) {
	l := t.l
	if err := t.sides(1, 1); err != nil {
		return nil, err
	}
	if l.int(8, 0) != 0 {
		return nil, l.refuse("its weights are int8, which is not read: take the network in fp16 or fp32")
	}
	w := &window{out: l.int(0, 0), kw: l.int(1, 0), group: l.int(7, 1)}
	w.kh = l.int(11, w.kw)
	dw, sw := l.int(2, 1), l.int(3, 1)
	dh, sh := l.int(12, dw), l.int(13, sw)
	size, bias := l.int(6, 0), l.int(5, 0)
	for _, n := range [...]int{w.out, w.kw, w.kh, w.group, dw, dh, sw, sh, size} {
		if n < 1 {
			return nil, l.refuse("%d outputs, a kernel of %dx%d, %d groups, strides %dx%d, dilations %dx%d and %d weights: want 1 or more of each", w.out, w.kh, w.kw, w.group, sh, sw, dh, dw, size)
		}
	}
	if w.out > 1<<20 || w.kw > 1<<10 || w.kh > 1<<10 || w.group > 1<<20 {
		return nil, l.refuse("%d outputs in %d groups and a kernel of %dx%d", w.out, w.group, w.kh, w.kw)
	}
	each := int64(w.out) * int64(w.kw) * int64(w.kh) // of all groups
	if in := int64(size) * int64(w.group) / each; in < 1 || in > 1<<20 || in*each != int64(size)*int64(w.group) || w.out%w.group != 0 || in%int64(w.group) != 0 {
		return nil, l.refuse("%d weights do not fit %d outputs in %d groups and a kernel of %dx%d", size, w.out, w.group, w.kh, w.kw)
	} else {
		w.in = int(in)
	}
	w.attrs = attrs{"kernel_shape": []int64{int64(w.kh), int64(w.kw)}, "strides": []int64{int64(sh), int64(sw)},
		"dilations": []int64{int64(dh), int64(dw)}, "group": w.group}
	if err := t.pads(w.attrs); err != nil {
		return nil, err
	}
	var err error
	if w.kind, w.weight, err = t.weights.tagged(l, size); err != nil {
		return nil, err
	}
	if bias != 0 {
		w.bias, err = t.weights.take(l, w.out, 4)
	}
	return w, err
}

// Values of pad_left that stand for "as many as keep the size", the odd one after or before.
const (
	sameUpper = -233
	sameLower = -234
)

func (t *translation) pads(a attrs) error {
	left := t.l.int(4, 0)
	right, top := t.l.int(15, left), t.l.int(14, left)
	bottom := t.l.int(16, top)
	switch {
	case left == sameUpper && right == left && top == left && bottom == left:
		a["auto_pad"] = "SAME_UPPER"
	case left == sameLower && right == left && top == left && bottom == left:
		a["auto_pad"] = "SAME_LOWER"
	case min(left, right, top, bottom) < 0:
		return t.l.refuse("pads of %d, %d, %d and %d", left, top, right, bottom)
	default:
		a["pads"] = []int64{int64(top), int64(left), int64(bottom), int64(right)}
	}
	return nil
}

func (t *translation) convolution() error {
	w, err := t.window()
	if err != nil {
		return err
	}
	in := []string{t.l.in[0], t.constant(w.kind, w.weight, int64(w.out), int64(w.in/w.group), int64(w.kh), int64(w.kw))}
	if w.bias != nil {
		in = append(in, t.constant(onnx.Float, w.bias, int64(w.out)))
	}
	return t.activated(func(out string) string { return t.node("Conv", w.attrs, out, in...) })
}

// deconvolution is a transposed convolution. Within a group its weights are by output and then by input, and
// ONNX's the other way round.
func (t *translation) deconvolution() error {
	w, err := t.window()
	if err != nil {
		return err
	}
	if w.attrs["pads"] == nil {
		return t.l.refuse("its pads are those that keep a size, which a deconvolution does not")
	}
	w.attrs["output_padding"] = []int64{int64(t.l.int(19, 0)), int64(t.l.int(18, 0))}
	ins, outs, block := w.in/w.group, w.out/w.group, len(w.weight)/(w.in*w.out/w.group)
	turned := make([]byte, 0, len(w.weight))
	for g := range w.group {
		for i := range ins {
			for o := range outs {
				turned = append(turned, w.weight[((g*outs+o)*ins+i)*block:][:block]...)
			}
		}
	}
	in := []string{t.l.in[0], t.constant(w.kind, turned, int64(w.in), int64(outs), int64(w.kh), int64(w.kw))}
	if w.bias != nil {
		in = append(in, t.constant(onnx.Float, w.bias, int64(w.out)))
	}
	return t.activated(func(out string) string { return t.node("ConvTranspose", w.attrs, out, in...) })
}

// activated makes the layer's output by last, followed by the activation that the layer says.
func (t *translation) activated(last func(out string) string) error {
	kind, p := t.l.int(9, 0), t.l.floats(10)
	out := t.l.out[0]
	want := map[int]int{0: len(p), 1: len(p), 2: 1, 3: 2, 4: len(p), 5: len(p), 6: 2}
	if n, known := want[kind]; !known || len(p) < n {
		return t.l.refuse("its activation is %d with %d parameters", kind, len(p))
	}
	if kind == 0 {
		last(out)
		return nil
	}
	v := last("")
	switch kind {
	case 1:
		t.node("Relu", nil, out, v)
	case 2:
		t.node("LeakyRelu", attrs{"alpha": p[0]}, out, v)
	case 3:
		t.node("Clip", nil, out, v, t.numbers(p[:1]), t.numbers(p[1:2]))
	case 4:
		t.node("Sigmoid", nil, out, v)
	case 5:
		t.node("Mish", nil, out, v)
	case 6:
		t.hardSwish(p[0], p[1], v, out)
	}
	return nil
}

// innerProduct reads all samples as one row, channels first. Its outputs are channels of one sample.
func (t *translation) innerProduct() error {
	l := t.l
	if err := t.sides(1, 1); err != nil {
		return err
	}
	if l.int(8, 0) != 0 {
		return l.refuse("its weights are int8, which is not read: take the network in fp16 or fp32")
	}
	outs, bias, size := l.int(0, 0), l.int(1, 0), l.int(2, 0)
	if outs < 1 || outs > 1<<20 || size < outs || size%outs != 0 {
		return l.refuse("%d weights for %d outputs", size, outs)
	}
	kind, b, err := t.weights.tagged(l, size)
	if err != nil {
		return err
	}
	in := []string{t.node("Flatten", nil, "", l.in[0]), t.constant(kind, b, int64(outs), int64(size/outs))}
	if bias != 0 {
		if b, err = t.weights.take(l, outs, 4); err != nil {
			return err
		}
		in = append(in, t.constant(onnx.Float, b, int64(outs)))
	}
	row := t.node("Gemm", attrs{"transB": 1}, "", in...)
	return t.activated(func(out string) string {
		return t.node("Reshape", nil, out, row, t.integers(1, int64(outs), 1, 1))
	})
}

// vectors takes lists of n float32 without tags.
func (t *translation) vectors(n, lists int, dims ...int64) ([]string, error) {
	var names []string
	for range lists {
		b, err := t.weights.take(t.l, n, 4)
		if err != nil {
			return nil, err
		}
		names = append(names, t.constant(onnx.Float, b, dims...))
	}
	return names, nil
}

// channels is parameter 0 as a number of channels.
func (t *translation) channels() (int, error) {
	if err := t.sides(1, 1); err != nil {
		return 0, err
	}
	n := t.l.int(0, 0)
	if n < 1 || n > 1<<20 {
		return 0, t.l.refuse("%d channels: want 1..%d", n, 1<<20)
	}
	return n, nil
}

// batchNorm's vectors are a factor, mean, variance and a sum.
func (t *translation) batchNorm() error {
	n, err := t.channels()
	if err != nil {
		return err
	}
	v, err := t.vectors(n, 4, int64(n))
	if err != nil {
		return err
	}
	eps := t.l.float(1, 0)
	t.node("BatchNormalization", attrs{"epsilon": eps}, t.l.out[0], t.l.in[0], v[0], v[3], v[1], v[2])
	return nil
}

func (t *translation) scale() error {
	if t.l.int(0, 0) == -233 {
		return t.l.refuse("its factors are another input, which is not read")
	}
	n, err := t.channels()
	if err != nil {
		return err
	}
	bias := t.l.int(1, 0)
	v, err := t.vectors(n, 1, int64(n), 1, 1)
	if err != nil {
		return err
	}
	if bias == 0 {
		t.node("Mul", nil, t.l.out[0], t.l.in[0], v[0])
		return nil
	}
	b, err := t.vectors(n, 1, int64(n), 1, 1)
	if err != nil {
		return err
	}
	t.node("Add", nil, t.l.out[0], t.node("Mul", nil, "", t.l.in[0], v[0]), b[0])
	return nil
}

func (t *translation) prelu() error {
	n, err := t.channels()
	if err != nil {
		return err
	}
	v, err := t.vectors(n, 1, int64(n), 1, 1)
	if err != nil {
		return err
	}
	t.node("PRelu", nil, t.l.out[0], t.l.in[0], v[0])
	return nil
}

// memoryData is a constant blob.
func (t *translation) memoryData() error {
	l := t.l
	if err := t.sides(0, 1); err != nil {
		return err
	}
	w, h, c := l.int(0, 0), l.int(1, 0), l.int(2, 0)
	dims := []int64{1, int64(c), int64(h), int64(w)}
	if c == 0 && h == 0 { // a row of numbers goes along the channels
		dims = []int64{1, int64(w), 1, 1}
	}
	n := int64(1)
	for _, d := range dims {
		if d < 1 || n > math.MaxInt32/d {
			return l.refuse("%d columns, %d rows, %d channels: want all of them, or columns alone", w, h, c)
		}
		n *= d
	}
	b, err := t.weights.take(l, int(n), 4)
	if err != nil {
		return err
	}
	t.g.Initializers[l.out[0]] = onnx.NewTensor(l.out[0], onnx.Float, dims, b)
	return nil
}
