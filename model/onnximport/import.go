package onnximport

import (
	"errors"
	"fmt"
	"slices"

	"enhance/internal/printable"
	"enhance/model"
	"enhance/model/onnx"
)

// Options of Import; the zero value takes the sizes that the file says.
type Options struct {
	// H and W are the rows and columns of the inputs, in place of the file's; 0 takes those.
	H, W int
	// Channels is the number of channels of inputs whose file does not say it; 0: none.
	Channels int
	// Batch is how many pictures the inputs hold, which are run together as channels of one; 0: one.
	Batch int
	// Constants are inputs that hold these values in every run.
	Constants map[string]*Constant
	// Output is the name of the result, "" the file's first.
	Output string
}

// Port is an input or the result of a network.
type Port struct {
	Name string
	Dims []int64 // in ONNX, at the imported size
	// Axes are the dimensions that are channels, rows and columns, -1 where there is none.
	Axes     [3]int
	First, C int // its channels among those of the model's input
	// ordered says that the samples of planes have the order of the tensor, whatever Axes says.
	ordered bool
	planes  model.Shape // if ordered
	layout  *layout     // of an input that is ordered
}

// Network is an imported file.
type Network struct {
	Model   *model.Model
	Inputs  []Port // their channels follow each other in the model's input
	Output  Port
	Outputs []string // all that the file has
	Opset   int64
	// SizedBy is the first node that reads rows or columns of a shape, "" if none does: the graph
	// is then the same at all sizes.
	SizedBy string
	// Nodes tells for every node of the model's graph which node of the file it comes from.
	Nodes map[string]string
}

// Arch is the architecture of imported models. MetaRAW is in the metadata of those whose convention says how
// a RAW photo becomes their input.
const (
	Arch    = "onnx"
	MetaRAW = "convention.raw"
)

// Opsets that are understood.
const (
	minOpset = 6
	maxOpset = 25
)

// Import makes a model of f. It returns an *Error, an onnx.FormatError, or the error of reading external data.
//
// An input's dimensions are first taken for channels, rows and columns in the order of most networks. If
// the network cannot run so, other orders are tried (see layouts), and then the first again with steps that
// rearrange planes (see layout). Every layout computes what ONNX says.
func Import(f *onnx.File, o Options) (*Network, error) {
	net, err := imported(f, o)
	if refused := new(Error); errors.As(err, &refused) {
		refused.Format = f.Format
	}
	return net, err
}

func imported(f *onnx.File, o Options) (*Network, error) {
	net, err := importAs(f, o, nil, true)
	if refused := new(Error); !errors.As(err, &refused) {
		return net, err
	}
	for _, layout := range layouts[rankOf(f, o)] {
		if net, other := importAs(f, o, &layout, true); other == nil {
			return net, nil
		}
	}
	return importAs(f, o, nil, false)
}

// layouts are the axes of channels, rows and columns that are tried, by the number of dimensions.
var layouts = map[int][][3]int{
	2: {{1, -1, 0}, {0, -1, 1}},
	3: {{0, 1, 2}, {2, 0, 1}, {1, 0, 2}},
	4: {{3, 1, 2}},
}

// rankOf is the number of dimensions of a file's only input without constants, 0 if there are
// several or it does not say, and for long graphs, whose layout is no question.
func rankOf(f *onnx.File, o Options) (rank int) {
	if len(f.Graph.Nodes) > 256 {
		return 0
	}
	for _, v := range f.Graph.Inputs {
		if f.Graph.Initializers[v.Name] != nil || o.Constants[v.Name] != nil {
			continue
		}
		if rank > 0 && rank != len(v.Dims) || !v.Ranked {
			return 0
		}
		rank = len(v.Dims)
	}
	return rank
}

// importAs imports with inputs of that layout; nil: the usual one. strict refuses what would rearrange planes.
func importAs(f *onnx.File, o Options, layout *[3]int, strict bool) (*Network, error) {
	im := &importer{f: f, o: o, layout: layout, strict: strict, opset: f.Opsets[""], values: map[string]*value{}, uses: map[string]int{},
		params: map[string]*model.Tensor{}, from: map[string]string{}, room: max(1<<24, f.Size())}
	if im.opset < minOpset || im.opset > maxOpset {
		return nil, refuse("the file uses opset %d of ONNX's operations: %d to %d are understood; convert it with onnx.version_converter", im.opset, minOpset, maxOpset)
	}
	net := &Network{Opset: im.opset}
	for _, v := range f.Graph.Outputs {
		net.Outputs = append(net.Outputs, v.Name)
	}
	if len(net.Outputs) == 0 {
		return nil, refuse("the graph has no outputs")
	}
	out := net.Outputs[0]
	if o.Output != "" {
		if !slices.Contains(net.Outputs, o.Output) {
			return nil, refuse("the graph has no output %q: there are %q", o.Output, net.Outputs)
		}
		out = o.Output
	}
	nodes, err := im.order(out)
	if err != nil {
		return nil, err
	}
	if err := im.inputs(nodes, net); err != nil {
		return nil, err
	}
	for _, n := range nodes {
		if err := im.node(n); err != nil {
			return nil, err
		}
	}
	return im.finish(net, out)
}

// importer is one import.
type importer struct {
	f      *onnx.File
	o      Options
	layout *[3]int // of inputs; nil: the usual one
	opset  int64
	grow   *model.Grower
	values map[string]*value
	uses   map[string]int // readers of each name
	params map[string]*model.Tensor
	from   map[string]string // node of the model -> node of the file
	now    *onnx.Node
	sized  string
	room   int64 // elements that folded constants may still have
	strict bool  // that no plane is rearranged
}

// order sorts the nodes that the output needs so that each follows what it reads, and counts the readers of names.
func (im *importer) order(out string) ([]*onnx.Node, error) {
	maker := map[string]*onnx.Node{}
	for _, n := range im.f.Graph.Nodes {
		for _, name := range n.Out {
			if name == "" {
				continue
			}
			if maker[name] != nil {
				return nil, refuse("%v and %v both make %q", maker[name], n, name)
			}
			maker[name] = n
		}
	}
	im.uses[out]++
	var list []*onnx.Node
	const begun, done = 1, 2
	state := make([]int, len(im.f.Graph.Nodes))
	type frame struct {
		n    *onnx.Node
		next int
	}
	var stack []frame
	visit := func(name string) error {
		n := maker[name]
		if n == nil || state[n.Index] == done {
			return nil
		}
		if state[n.Index] == begun {
			return refuse("%v needs its own result %q: the graph has a cycle", n, name)
		}
		state[n.Index] = begun
		stack = append(stack, frame{n: n})
		return nil
	}
	if err := visit(out); err != nil {
		return nil, err
	}
	for len(stack) > 0 { // without recursion: a file's chain may be as long as it likes
		top := &stack[len(stack)-1]
		if top.next == len(top.n.In) {
			state[top.n.Index] = done
			list = append(list, top.n)
			stack = stack[:len(stack)-1]
			continue
		}
		name := top.n.In[top.next]
		top.next++
		im.uses[name]++
		if err := visit(name); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// node imports one node.
func (im *importer) node(n *onnx.Node) error {
	im.now = n
	if n.Domain != "" && n.Domain != "ai.onnx" {
		return at(n, im.f.Opsets[n.Domain], refuse("operations of the domain %q are not known; export the network with ONNX's own", n.Domain))
	}
	c := &call{importer: im, n: n, read: map[string]bool{}}
	constant := true
	for _, name := range n.In {
		v, err := im.lookup(name)
		if err != nil {
			return at(n, im.opset, err)
		}
		c.in = append(c.in, v)
		constant = constant && (v == nil || v.con != nil)
	}
	handle := handlers[n.Op]
	if constant {
		handle = folders[n.Op]
	}
	if n.Op == "Shape" || n.Op == "Size" {
		handle = (*call).shape
	}
	var err error
	switch {
	case handle != nil:
		if err = handle(c); err == nil || c.err != nil {
			err = c.finish()
		}
	case constant && handlers[n.Op] != nil:
		err = refuse("all that it reads is constant, and that is not computed for this operation; simplify the network (onnxsim) before")
	default:
		err = refuse("this operation is not known; %s", instead(n.Op))
	}
	return at(n, im.opset, err)
}

// instead says what would do in place of an operation.
func instead(op string) string {
	switch op {
	case "If", "Loop", "Scan":
		return "control flow that depends on data cannot be planned: export the network with it resolved (onnxsim)"
	case "GridSample", "DeformConv", "RoiAlign", "NonMaxSuppression", "ScatterND", "GatherND":
		return "it reads where the data says, so that rows cannot stream"
	}
	return "docs/onnx.md lists those that are"
}

// lookup finds the value of a name, nil for one that is left out.
func (im *importer) lookup(name string) (*value, error) {
	if name == "" {
		return nil, nil
	}
	if v := im.values[name]; v != nil {
		return v, nil
	}
	t := im.f.Graph.Initializers[name]
	if t == nil {
		return nil, refuse("its input %q is neither made by a node nor given", name)
	}
	c, err := fromTensor(t)
	if err != nil {
		return nil, err
	}
	v := &value{con: c, dims: c.Dims}
	if im.uses[name] > 1 {
		im.values[name] = v
	}
	return v, nil
}

// finish makes the model of what was imported.
func (im *importer) finish(net *Network, out string) (*Network, error) {
	v, err := im.lookup(out)
	if err != nil {
		return nil, err
	}
	switch {
	case v == nil:
		return nil, refuse("the graph's output has no name")
	case v.con != nil:
		return nil, refuse("its result %q is a constant", out)
	}
	if v.mixed != nil && !v.mixed.ordered() {
		if v, err = im.inOrder(v); err != nil {
			return nil, err
		}
	}
	name := im.grow.Node(v.node).Name
	g, err := im.grow.Graph(v.node)
	if err != nil {
		return nil, refuse("%v", err)
	}
	m := &model.Model{Arch: Arch, Graph: g, Params: im.params, Convention: plain(), Meta: map[string]string{}}
	if net.Model, err = m.Until(name); err != nil {
		return nil, err
	}
	if err := net.Model.Validate(); err != nil {
		return nil, refuse("%v", err)
	}
	if p := im.f.Producer; p != "" {
		net.Model.Meta["producer"] = p
	}
	net.Output = Port{Name: out, Dims: v.dims, Axes: v.axes, C: im.grow.Shape(v.node).C}
	if v.mixed != nil {
		net.Output.ordered, net.Output.planes = true, im.grow.Shape(v.node)
	}
	net.SizedBy, net.Nodes = im.sized, im.from
	return net, nil
}

// inOrder gives a result's plane the order of its samples in ONNX.
func (im *importer) inOrder(v *value) (*value, error) {
	c := &call{importer: im, n: im.now}
	var to [3][]int
	var all []int
	for d, n := range v.dims {
		if n != 1 {
			all = append(all, d)
		}
	}
	switch n := len(all); {
	case n == 1:
		to[axisC] = all
	case n == 2:
		to = [3][]int{all[:1], nil, all[1:]}
	case n > 2:
		to = [3][]int{all[:n-2], all[n-2 : n-1], all[n-1:]}
	}
	return c.place(v, to)
}

// plain is the convention of a network that is no RAW network: nothing is done to its planes.
func plain() model.Convention {
	return model.Convention{Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, Gamma: 1, Divisor: 1, Output: model.OutputDisplaySRGB,
		Multiple: 1, MinSide: 1, ScaleNum: 1, ScaleDen: 1}
}

// readsSize notes that the current node depends on rows or columns.
func (im *importer) readsSize() {
	if im.sized == "" {
		im.sized = im.now.String()
	}
}

// name makes a name for a node of the model.
func (im *importer) name(suffix string) string {
	base := im.now.Name
	if base == "" && len(im.now.Out) > 0 {
		base = im.now.Out[0]
	}
	if base == "" {
		base = fmt.Sprintf("%s_%d", im.now.Op, im.now.Index)
	}
	const longest = 120
	if base = printable.Text(base) + suffix; len(base) > longest {
		base = base[:longest]
	}
	name := base
	for i := 2; name == "input" || im.grow.Named(name); i++ {
		name = fmt.Sprintf("%s_%d", base, i)
	}
	return name
}

// param keeps a parameter of node and returns its name.
func (im *importer) param(node, kind string, data []float32, shape ...int) string {
	name := node + "." + kind
	im.params[name] = &model.Tensor{Shape: shape, Data: data}
	return name
}
