package ncnn

import (
	"fmt"
	"path/filepath"
	"strings"

	"enhance/internal/regularfile"
	"enhance/model/onnx"
)

// maxBin is the largest .bin file that is read.
const maxBin = 1<<31 - 1

// Open reads the network of a .param file and of the .bin file beside it, which has the same name otherwise. It returns a
// [FormatError], or the error of reading a file.
func Open(path string) (*onnx.File, error) {
	param, err := regularfile.Read(path, maxParam)
	if err != nil {
		return nil, err
	}
	bin, err := regularfile.Read(strings.TrimSuffix(path, filepath.Ext(path))+".bin", maxBin)
	if err != nil {
		return nil, err
	}
	return Parse(param, bin)
}

// Parse reads a network's text and weights. The file that it returns keeps bin.
func Parse(param, bin []byte) (*onnx.File, error) {
	layers, err := parseParam(param)
	if err != nil {
		return nil, err
	}
	t := &translation{weights: weights{b: bin}, made: map[string]bool{}, g: &onnx.Graph{Initializers: map[string]*onnx.Tensor{}}}
	read := map[string]bool{}
	for _, l := range layers {
		for _, name := range l.in {
			read[name] = true
		}
	}
	for _, l := range layers {
		if err := t.layer(l); err != nil {
			return nil, err
		}
	}
	if left := len(bin) - t.weights.at; left > 0 {
		return nil, formatError("%d of %d bytes of the .bin file are left over: it does not belong to the .param file", left, len(bin))
	}
	t.inputChannels(layers)
	for _, l := range layers {
		for _, name := range l.out {
			if !read[name] {
				t.g.Outputs = append(t.g.Outputs, &onnx.Value{Name: name, Type: onnx.Float})
			}
		}
	}
	return onnx.NewFile(t.g, "ncnn", opset, int64(len(bin)+len(param))), nil
}

// opset is that of the operations which layers become.
const opset = 18

// translation rewrites layers as nodes.
type translation struct {
	weights weights
	g       *onnx.Graph
	made    map[string]bool // blobs
	l       *layer          // the current one
	parts   int             // names made for values within layers
}

var translators map[string]func(*translation) error

func init() {
	translators = map[string]func(*translation) error{
		"Input": (*translation).input, "Convolution": (*translation).convolution, "ConvolutionDepthWise": (*translation).convolution,
		"Deconvolution": (*translation).deconvolution, "DeconvolutionDepthWise": (*translation).deconvolution,
		"InnerProduct": (*translation).innerProduct, "BatchNorm": (*translation).batchNorm, "Scale": (*translation).scale, "PReLU": (*translation).prelu,
		"MemoryData": (*translation).memoryData,
		"ReLU":       (*translation).relu, "Clip": (*translation).clip, "HardSwish": (*translation).hard, "HardSigmoid": (*translation).hard,
		"ELU": (*translation).elu, "GELU": (*translation).gelu, "Softmax": (*translation).softmax, "UnaryOp": (*translation).unary,
		"Sigmoid": (*translation).plain, "TanH": (*translation).plain, "Swish": (*translation).plain, "Mish": (*translation).plain,
		"BinaryOp": (*translation).binary, "Eltwise": (*translation).eltwise, "Dropout": (*translation).dropout,
		"Split": (*translation).split, "Noop": (*translation).split, "Concat": (*translation).concat, "Slice": (*translation).slice, "Crop": (*translation).crop,
		"PixelShuffle": (*translation).pixelShuffle, "Reorg": (*translation).reorg, "Interp": (*translation).interp, "Padding": (*translation).padding,
		"Pooling": (*translation).pooling, "Flatten": (*translation).flatten,
	}
}

func (t *translation) layer(l *layer) error {
	t.l = l
	do := translators[l.kind]
	if do == nil {
		return l.refuse("layers of this kind are not read; docs/onnx.md lists those that are")
	}
	for _, name := range l.in {
		if !t.made[name] {
			return l.refuse("its input %q is made by no layer before it", short(name))
		}
	}
	for _, name := range l.out {
		if t.made[name] {
			return l.refuse("its output %q is made by another layer too", short(name))
		}
		t.made[name] = true
	}
	if err := do(t); err != nil {
		return err
	}
	return l.finish()
}

// sides says how many inputs and outputs the layer has to have.
func (t *translation) sides(in, out int) error {
	if len(t.l.in) != in || len(t.l.out) != out {
		return t.l.refuse("%d inputs and %d outputs: want %d and %d", len(t.l.in), len(t.l.out), in, out)
	}
	return nil
}

// attrs are a node's attributes: int, float32, string or []int64.
type attrs map[string]any

// node appends a node from in to out; with out "" to a name of its own, which it returns.
func (t *translation) node(op string, a attrs, out string, in ...string) string {
	if out == "" {
		out = t.part()
	}
	n := &onnx.Node{Name: t.l.name, Op: op, In: in, Out: []string{out}, Attrs: map[string]*onnx.Attr{}, Index: len(t.g.Nodes)}
	for name, v := range a {
		switch v := v.(type) {
		case int:
			n.Attrs[name] = &onnx.Attr{Kind: onnx.AttrInt, I: int64(v)}
		case float32:
			n.Attrs[name] = &onnx.Attr{Kind: onnx.AttrFloat, F: v}
		case string:
			n.Attrs[name] = &onnx.Attr{Kind: onnx.AttrString, S: v}
		case []int64:
			n.Attrs[name] = &onnx.Attr{Kind: onnx.AttrInts, Ints: v}
		}
	}
	t.g.Nodes = append(t.g.Nodes, n)
	return out
}

// part is a name for a value within the layer. A blob's name holds no space, and layers may have the same name.
func (t *translation) part() string {
	t.parts++
	return fmt.Sprintf("%s part %d", t.l.name, t.parts)
}

// constant keeps weights under a name of its own, which it returns.
func (t *translation) constant(kind onnx.Type, b []byte, dims ...int64) string {
	name := t.part()
	t.g.Initializers[name] = onnx.NewTensor(name, kind, dims, b)
	return name
}

// numbers is constant of float32.
func (t *translation) numbers(values []float32, dims ...int64) string {
	return t.constant(onnx.Float, onnx.FloatBytes(values), dims...)
}

// integers is constant of a list of integers.
func (t *translation) integers(values ...int64) string {
	return t.constant(onnx.Int64, onnx.IntBytes(values), int64(len(values)))
}
