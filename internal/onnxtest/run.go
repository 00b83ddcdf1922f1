package onnxtest

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"enhance/model"
	"enhance/model/onnx"
	"enhance/model/onnximport"
)

// Executor runs a model over an input of h rows and w columns.
type Executor func(m *model.Model, in []float32, h, w int) ([]float32, error)

// Refusal is why a test was not run: a network, or a part of it, that is not understood.
type Refusal struct{ Err error }

func (r *Refusal) Error() string { return r.Err.Error() }

func refusal(format string, args ...any) error { return &Refusal{fmt.Errorf(format, args...)} }

// Run runs the test with an executor. It returns nil if all outputs are right, a *Refusal if the network is refused,
// or what is wrong.
func (c *Case) Run(execute Executor) error {
	if why := disputed[c.Name]; why != "" {
		return refusal("%s", why)
	}
	f, err := onnx.Parse(c.Model, "")
	if err != nil {
		return &Refusal{err}
	}
	if len(c.Outputs) == 0 || len(c.Outputs) > len(f.Graph.Outputs) {
		return refusal("%d outputs are given for %d of the graph", len(c.Outputs), len(f.Graph.Outputs))
	}
	given, err := c.inputs(f)
	if err != nil {
		return &Refusal{err}
	}
	for i, b := range c.Outputs {
		want, err := tensor(b)
		if err != nil {
			return &Refusal{err}
		}
		if err := c.output(f, given, f.Graph.Outputs[i].Name, want, execute); err != nil {
			return err
		}
	}
	return nil
}

// disputed are tests that ask for something else than ONNX's definition of the operation, by name.
var disputed = map[string]string{
	"node/test_qlinearmatmul_2D_int8_float16": "the suite expects -236 to wrap around to 20, where ONNX says that codes saturate",
	"node/test_qlinearmatmul_2D_int8_float32": "the suite expects -236 to wrap around to 20, where ONNX says that codes saturate",
}

// inputs reads the test's inputs, by name.
func (c *Case) inputs(f *onnx.File) (map[string]*onnx.Tensor, error) {
	given := map[string]*onnx.Tensor{}
	at := 0
	for _, v := range f.Graph.Inputs {
		if f.Graph.Initializers[v.Name] != nil {
			continue // with data of its own
		}
		if at == len(c.Inputs) {
			break
		}
		t, err := tensor(c.Inputs[at])
		if err != nil {
			return nil, err
		}
		given[v.Name] = t
		at++
	}
	return given, nil
}

// output checks one output. Inputs of the first one's shape are pictures and the others constants, such as
// weights, which ONNX's tests give as inputs; if that is refused, the first alone is a picture.
func (c *Case) output(f *onnx.File, given map[string]*onnx.Tensor, name string, want *onnx.Tensor, execute Executor) error {
	var first error
	for _, like := range []bool{true, false} {
		net, err := bind(f, given, name, like, 0)
		if n := batch(f, given); n > 1 && mixes(f) && (err != nil || net.Inputs[0].Dims[0] != int64(n)) {
			net, err = bind(f, given, name, like, n)
		}
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		return run(net, given, want, execute)
	}
	return &Refusal{first}
}

// bind imports the network with constants for all inputs that are no pictures.
func bind(f *onnx.File, given map[string]*onnx.Tensor, output string, like bool, batch int) (*onnximport.Network, error) {
	o := onnximport.Options{Output: output, Batch: batch, Constants: map[string]*onnximport.Constant{}}
	var picture *onnx.Tensor
	for _, v := range f.Graph.Inputs {
		t := given[v.Name]
		if t == nil {
			continue
		}
		if picture == nil && (t.Type.Real() || quantised(f, v.Name)) {
			picture = t
			continue
		}
		if like && picture != nil && t.Type.Real() && slices.Equal(t.Dims, picture.Dims) {
			continue
		}
		k, err := onnximport.NewConstant(t)
		if err != nil {
			return nil, err
		}
		o.Constants[v.Name] = k
	}
	return onnximport.Import(f, o)
}

// quantised reports whether a node of a quantised network reads a graph's input as its codes.
func quantised(f *onnx.File, input string) bool {
	return slices.ContainsFunc(f.Graph.Nodes, func(n *onnx.Node) bool {
		switch n.Op {
		case "DequantizeLinear", "QLinearConv", "ConvInteger", "MatMulInteger", "QLinearMatMul":
			return len(n.In) > 0 && n.In[0] == input
		}
		return false
	})
}

// run runs a network over the pictures of a batch, one after another.
func run(net *onnximport.Network, given map[string]*onnx.Tensor, want *onnx.Tensor, execute Executor) error {
	batch := int64(0)
	values := make([][]float32, len(net.Inputs))
	for i, p := range net.Inputs {
		t := given[p.Name]
		if t == nil {
			return refusal("the test gives no input %q", p.Name)
		}
		n, err := batchOf(p.Dims, t.Dims)
		if err != nil {
			return &Refusal{err}
		}
		if batch != 0 && n != batch {
			return refusal("inputs of %d and %d pictures", batch, n)
		}
		batch = n
		if values[i], err = t.Floats(); err != nil {
			return &Refusal{err}
		}
	}
	right, err := want.Floats()
	if err != nil {
		return &Refusal{err}
	}
	shape := net.Shape()
	var result []float32
	for b := range int(batch) {
		in := make([]float32, shape.Elems())
		for i, p := range net.Inputs {
			each := len(values[i]) / int(batch)
			p.Planes(in[p.First*shape.H*shape.W:], values[i][b*each:][:each])
		}
		out, err := execute(net.Model, in, shape.H, shape.W)
		if err != nil {
			return err
		}
		result = append(result, net.Output.Tensor(out)...)
	}
	dims := slices.Clone(net.Output.Dims)
	if len(dims) > 0 && batch > 1 {
		dims[0] *= batch
	}
	if !slices.Equal(dims, want.Dims) {
		return fmt.Errorf("shape %v, want %v", dims, want.Dims)
	}
	return compare(result, right, want.Type)
}

// batch is how many pictures the first input holds if its first dimension is a batch.
func batch(f *onnx.File, given map[string]*onnx.Tensor) int {
	for _, v := range f.Graph.Inputs {
		if t := given[v.Name]; t != nil && t.Type.Real() {
			if len(t.Dims) < 2 {
				return 1
			}
			return int(t.Dims[0])
		}
	}
	return 1
}

// batchOf is how many pictures of shape one a tensor of shape all holds, one after another.
func batchOf(one, all []int64) (int64, error) {
	if len(one) != len(all) {
		return 0, fmt.Errorf("an input of shape %v where %v is declared", all, one)
	}
	for i := range one {
		if one[i] != all[i] && i != 0 || i == 0 && one[i] != all[i] && one[i] != 1 {
			return 0, fmt.Errorf("an input of shape %v where %v is declared", all, one)
		}
	}
	if len(one) == 0 || one[0] == all[0] {
		return 1, nil
	}
	return all[0], nil
}

var errNaN = errors.New("a sample is NaN where another is right, or the other way round")

// compare allows 1e-3 of the value, as the suite itself does for outputs that were written with few digits, and 1e-6; of
// bfloat16 the last digit.
func compare(got, want []float32, t onnx.Type) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d samples, want %d", len(got), len(want))
	}
	relative := 1e-3
	if t == onnx.BFloat16 {
		relative = 1.0 / (1 << 7)
	}
	worst, at := 0.0, 0
	for i, w := range want {
		g, w := float64(got[i]), float64(w)
		if math.IsNaN(g) != math.IsNaN(w) {
			return errNaN
		}
		if g == w || math.IsNaN(w) {
			continue
		}
		if d := math.Abs(g-w) / (1e-6 + relative*math.Abs(w)); d > worst || math.IsNaN(d) {
			worst, at = d, i
		}
	}
	if worst > 1 {
		return fmt.Errorf("sample %d is %g, want %g", at, got[at], want[at])
	}
	return nil
}

// mixes reports whether an operation may let the pictures of a batch meet: these are run together, and those of others one
// after another.
func mixes(f *onnx.File) bool {
	for _, n := range f.Graph.Nodes {
		switch n.Op {
		case "Reshape", "Flatten", "Squeeze", "Shape", "Slice", "Transpose", "Unsqueeze", "Gemm", "LayerNormalization":
			return true
		}
		if strings.HasPrefix(n.Op, "Reduce") {
			return true
		}
	}
	return false
}
