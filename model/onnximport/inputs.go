package onnximport

import (
	"slices"

	"enhance/model"
	"enhance/model/onnx"
)

// inputs makes the model's input of the file's: those with planes follow each other as its channels.
func (im *importer) inputs(nodes []*onnx.Node, net *Network) error {
	type input struct {
		port  Port
		shape model.Shape
	}
	var list []input
	total := 0
	for _, v := range im.f.Graph.Inputs {
		if im.f.Graph.Initializers[v.Name] != nil || im.uses[v.Name] == 0 {
			continue // a constant that may be replaced, in old files; or an input that the result does not need
		}
		if c := im.o.Constants[v.Name]; c != nil {
			im.values[v.Name] = &value{con: c, dims: c.Dims}
			continue
		}
		port, s, err := im.port(v, nodes)
		if err != nil {
			return err
		}
		port.First, port.C = total, s.C
		total += s.C
		list = append(list, input{port, s})
	}
	if len(list) == 0 {
		return refuse("the result depends on no input")
	}
	s := list[0].shape
	for _, in := range list[1:] {
		if in.shape.H != s.H || in.shape.W != s.W {
			return refuse("the inputs %q of %dx%d and %q of %dx%d differ in size: inputs are read together, row by row",
				list[0].port.Name, s.H, s.W, in.port.Name, in.shape.H, in.shape.W)
		}
	}
	var err error
	if im.grow, err = model.NewGrower(model.Shape{C: total, H: s.H, W: s.W}); err != nil {
		return refuse("input %q: %v", list[0].port.Name, err)
	}
	for _, in := range list {
		v := &value{dims: in.port.Dims, axes: in.port.Axes}
		if in.port.layout != nil {
			v = in.port.layout.apply(v)
		}
		if len(list) > 1 {
			im.now = &onnx.Node{Name: in.port.Name, Op: "input"}
			if v.node, err = im.grow.Add(model.Node{Name: im.name(""), Op: model.OpSlice, In: []int{0}, First: in.port.First, C: in.port.C}); err != nil {
				return refuse("input %q: %v", in.port.Name, err)
			}
		}
		im.values[in.port.Name] = v
		net.Inputs = append(net.Inputs, in.port)
	}
	return nil
}

// port finds the layout of an input and its size in this import.
func (im *importer) port(v *onnx.Value, nodes []*onnx.Node) (Port, model.Shape, error) {
	p := Port{Name: v.Name, Dims: slices.Clone(v.Dims)}
	bad := func(format string, args ...any) (Port, model.Shape, error) {
		return p, model.Shape{}, refuse("input %q: "+format, append([]any{v.Name}, args...)...)
	}
	if v.Type != 0 && !v.Type.Real() && !codesOnly(v, nodes) {
		return bad("its samples are %v; networks that take float32, float16, bfloat16 or float64 can be run", v.Type)
	}
	rank := len(p.Dims)
	switch {
	case !v.Ranked:
		p.Dims = []int64{1, -1, -1, -1}
		rank = 4
	case rank < 1 || rank > 5:
		return bad("%d dimensions; a picture has a batch, channels, rows and columns", rank)
	case rank == 5 || im.o.Batch > 1:
		return im.together(p)
	}
	p.Axes = standard(rank)
	switch {
	case im.layout != nil:
		p.Axes = *im.layout
	case rank == 3 && !batched(nodes) && !(im.opset < 7 && slopes(nodes)):
		p.Axes = [3]int{0, 1, 2}
	case rank == 2 && !batched(nodes) && !rows(nodes):
		p.Axes = [3]int{0, -1, 1}
	case rank == 4 && p.Dims[3] >= 1 && p.Dims[3] <= 4 && transposed4(v.Name, nodes):
		p.Axes = [3]int{3, 1, 2} // channels last, as TensorFlow exports
	}
	sizes := [3]int64{1, 1, 1}
	for k, a := range p.Axes {
		if a < 0 {
			continue
		}
		given := int64([...]int{im.o.Channels, im.o.H, im.o.W}[k])
		switch {
		case k != axisC && given > 0:
			p.Dims[a] = given
		case p.Dims[a] >= 0:
		case given > 0:
			p.Dims[a] = given
		default:
			return bad("the file does not say how many %s it has: give --shape C,H,W", [...]string{"channels", "rows", "columns"}[k])
		}
		if p.Dims[a] < 1 || p.Dims[a] > 1<<20 {
			return bad("shape %v: want sides and channels of 1..%d", p.Dims, 1<<20)
		}
		sizes[k] = p.Dims[a]
	}
	for a := range p.Dims {
		if !slices.Contains(p.Axes[:], a) {
			p.Dims[a] = 1 // the batch: one picture at a time
		}
	}
	return p, model.Shape{C: int(sizes[0]), H: int(sizes[1]), W: int(sizes[2])}, nil
}

// together is the layout of an input whose channels are several dimensions: a batch of pictures, or volumes.
func (im *importer) together(p Port) (Port, model.Shape, error) {
	rank := len(p.Dims)
	bad := func(what string) (Port, model.Shape, error) {
		return p, model.Shape{}, refuse("input %q of shape %v: %s", p.Name, p.Dims, what)
	}
	if rank < 2 {
		return bad("a batch has two dimensions or more")
	}
	if p.Dims[0] = int64(max(im.o.Batch, 1)); rank >= 4 && im.o.H > 0 && im.o.W > 0 {
		p.Dims[rank-2], p.Dims[rank-1] = int64(im.o.H), int64(im.o.W)
	}
	s := model.Shape{C: 1, H: 1, W: 1}
	l := &layout{dims: make([][]int, rank)}
	p.Axes = [3]int{-1, -1, -1}
	for d, n := range p.Dims {
		if n < 1 || n > 1<<20 {
			return bad("want sides and channels of 1..1048576, as the file says or --shape")
		}
		k := axisC
		switch {
		case rank > 2 && d == rank-1:
			k, s.W, p.Axes[axisW] = axisW, int(n), d
		case rank > 3 && d == rank-2:
			k, s.H, p.Axes[axisH] = axisH, int(n), d
		case int64(s.C) > 1<<20/n:
			return bad("more than 1048576 channels")
		default:
			s.C *= int(n)
		}
		if n > 1 {
			l.dims[d] = []int{len(l.sizes)}
			l.axes[k] = append(l.axes[k], len(l.sizes))
			l.sizes = append(l.sizes, n)
		}
	}
	p.ordered, p.planes, p.layout = true, s, l
	return p, s, nil
}

// batched reports whether a node demands that the first dimension is a batch.
func batched(nodes []*onnx.Node) bool {
	return slices.ContainsFunc(nodes, func(n *onnx.Node) bool {
		switch n.Op {
		case "Conv", "ConvTranspose", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool",
			"BatchNormalization", "InstanceNormalization", "GroupNormalization", "LRN", "DepthToSpace", "SpaceToDepth", "QLinearConv", "ConvInteger":
			return true
		}
		return false
	})
}

// rows reports whether a node works at the rows of a matrix, each of which is then an input of its own.
func rows(nodes []*onnx.Node) bool {
	return slices.ContainsFunc(nodes, func(n *onnx.Node) bool {
		return n.Op == "Gemm" || n.Op == "MatMul" || n.Op == "MatMulInteger" || n.Op == "QLinearMatMul" || n.Op == "Softmax" ||
			n.Op == "LogSoftmax" || n.Op == "LayerNormalization"
	})
}

// codesOnly reports whether an input of integers of up to 16 bits is read as codes alone.
func codesOnly(v *onnx.Value, nodes []*onnx.Node) bool {
	if _, ok := codeRange[v.Type]; !ok {
		return false
	}
	for _, n := range nodes {
		at := slices.Index(n.In, v.Name)
		switch n.Op {
		case "DequantizeLinear", "QLinearConv", "ConvInteger", "MatMulInteger", "QLinearMatMul":
			if at > 0 {
				return false
			}
		default:
			if at >= 0 {
				return false
			}
		}
	}
	return true
}

// transposed4 reports whether all that reads an input first moves its last dimension to where channels are.
func transposed4(input string, nodes []*onnx.Node) bool {
	found := false
	for _, n := range nodes {
		if !slices.Contains(n.In, input) {
			continue
		}
		perm := n.Attrs["perm"]
		if n.Op != "Transpose" || perm == nil || !slices.Equal(perm.Ints, []int64{0, 3, 1, 2}) {
			return false
		}
		found = true
	}
	return found
}

// slopes reports whether a node is a PRelu, whose slopes are along the second dimension in old files.
func slopes(nodes []*onnx.Node) bool {
	return slices.ContainsFunc(nodes, func(n *onnx.Node) bool { return n.Op == "PRelu" })
}
