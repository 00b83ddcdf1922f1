package ncnn_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"enhance/internal/onnxtest"
	"enhance/model/ncnn"
	"enhance/model/onnx"
	"enhance/model/onnximport"
	"enhance/model/ref"
)

// pair is one network written twice.
type pair struct {
	*onnxtest.NCNN
	net *onnxtest.Net
	rng *rand.Rand
	n   int
}

func newPair(seed uint64, channels int64) *pair {
	p := &pair{NCNN: &onnxtest.NCNN{}, net: &onnxtest.Net{Opset: 18}, rng: rand.New(rand.NewPCG(seed, 6))}
	p.net.Inputs = []onnxtest.Value{{Name: "x", Dims: []int64{1, channels, -1, -1}}}
	p.Layer("Input", "", "x", "")
	return p
}

// values are numbers that binary16 holds.
func (p *pair) values(n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(p.rng.IntN(511)-255) / 512
	}
	return v
}

// init adds a constant to the ONNX file and returns its name.
func (p *pair) init(v []float32, dims ...int64) string {
	p.n++
	name := fmt.Sprint("w", p.n)
	p.net.Init = append(p.net.Init, onnxtest.Tensor{Name: name, Dims: dims, Floats: v})
	return name
}

func (p *pair) ints(v ...int64) string {
	p.n++
	name := fmt.Sprint("i", p.n)
	p.net.Init = append(p.net.Init, onnxtest.Tensor{Name: name, Dims: []int64{int64(len(v))}, Ints: v})
	return name
}

func (p *pair) node(op, in, out string, attrs map[string]any) {
	ins := strings.Fields(in)
	for i := range ins {
		if ins[i] == "_" {
			ins[i] = ""
		}
	}
	p.net.Nodes = append(p.net.Nodes, onnxtest.Node{Op: op, In: ins, Out: strings.Fields(out), Attrs: attrs})
}

// conv adds a convolution with a bias to both.
func (p *pair) conv(in, out string, from, to, k, group int, params string, attrs map[string]any) {
	kind := "Convolution"
	if group > 1 {
		kind, params = "ConvolutionDepthWise", params+fmt.Sprintf(" 7=%d", group)
	}
	w, b := p.values(to*from/group*k*k), p.values(to)
	p.Layer(kind, in, out, fmt.Sprintf("0=%d 1=%d 5=1 6=%d %s", to, k, len(w), params)).Tagged(w).Raw(b)
	all := map[string]any{"group": group}
	for name, v := range attrs {
		all[name] = v
	}
	p.node("Conv", in+" "+p.init(w, int64(to), int64(from/group), int64(k), int64(k))+" "+p.init(b, int64(to)), out, all)
}

var pads1 = map[string]any{"pads": []int64{1, 1, 1, 1}}

// networks are by name those of upscalers, denoisers and classifiers, small.
var networks = map[string]func(half bool) *pair{
	"upscaler": func(half bool) *pair {
		p := newPair(1, 3)
		p.Half = half
		p.conv("x", "a", 3, 8, 3, 1, "4=1", pads1)
		slopes := p.values(8)
		p.Layer("PReLU", "a", "b", "0=8").Raw(slopes)
		p.node("PRelu", "a "+p.init(slopes, 8, 1, 1), "b", nil)
		p.conv("b", "c", 8, 12, 3, 1, "4=1", pads1)
		p.Layer("PixelShuffle", "c", "d", "0=2")
		p.node("DepthToSpace", "c", "d", map[string]any{"blocksize": 2, "mode": "CRD"})
		p.Layer("Interp", "x", "e", "0=1 1=2.0 2=2.000000e+00")
		p.node("Resize", "x _ "+p.init([]float32{1, 1, 2, 2}, 4), "e", map[string]any{"mode": "nearest", "nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"})
		p.Layer("BinaryOp", "d e", "y", "0=0")
		p.node("Add", "d e", "y", nil)
		return p
	},
	"deconvolution": func(half bool) *pair {
		p := newPair(2, 3)
		p.Half = half
		w, b := p.values(6*3*9), p.values(6)
		p.Layer("Convolution", "x", "a", "0=6 1=3 3=2 4=1 5=1 6=162 9=2 -23310=1,0.25").Tagged(w).Raw(b)
		p.node("Conv", "x "+p.init(w, 6, 3, 3, 3)+" "+p.init(b, 6), "a0", map[string]any{"pads": []int64{1, 1, 1, 1}, "strides": []int64{2, 2}})
		p.node("LeakyRelu", "a0", "a", map[string]any{"alpha": float32(0.25)})
		w = p.values(4 * 6 * 16) // by output and input; ONNX has them by input and output
		turned := make([]float32, 0, len(w))
		for i := range 6 {
			for o := range 4 {
				turned = append(turned, w[(o*6+i)*16:][:16]...)
			}
		}
		p.Layer("Deconvolution", "a", "b", "0=4 1=4 3=2 4=1 6=384").Tagged(w)
		p.node("ConvTranspose", "a "+p.init(turned, 6, 4, 4, 4), "b", map[string]any{"pads": []int64{1, 1, 1, 1}, "strides": []int64{2, 2}})
		p.Layer("Sigmoid", "b", "c", "")
		p.node("Sigmoid", "b", "c", nil)
		p.Layer("BinaryOp", "c", "y", "0=7 1=1 2=0.75")
		p.node("Sub", p.init([]float32{0.75})+" c", "y", nil)
		return p
	},
	"blocks": func(half bool) *pair {
		p := newPair(3, 8)
		p.Half = half
		p.conv("x", "a", 8, 8, 3, 8, "4=1 9=1", pads1)
		p.net.Nodes[0].Out[0] = "a0"
		p.node("Relu", "a0", "a", nil)
		var v [4][]float32
		names := ""
		p.Layer("BatchNorm", "a", "b", "0=8 1=1e-3")
		for i := range v {
			if v[i] = p.values(8); i == 2 {
				for k := range v[i] {
					v[i][k] = 1 + v[i][k]*v[i][k]
				}
			}
			p.Raw(v[i])
		}
		for _, i := range []int{0, 3, 1, 2} {
			names += " " + p.init(v[i], 8)
		}
		p.node("BatchNormalization", "a"+names, "b", map[string]any{"epsilon": float32(1e-3)})
		mul, add := p.values(8), p.values(8)
		p.Layer("Scale", "b", "c", "0=8 1=1").Raw(mul).Raw(add)
		p.node("Mul", "b "+p.init(mul, 8, 1, 1), "c0", nil)
		p.node("Add", "c0 "+p.init(add, 8, 1, 1), "c", nil)
		p.Layer("Slice", "c", "d e", "-23300=2,3,5 1=0")
		p.node("Split", "c "+p.ints(3, 5), "d e", map[string]any{"axis": 1})
		p.Layer("Clip", "d", "f", "0=-0.5 1=0.5")
		p.node("Clip", "d "+p.init([]float32{-0.5})+" "+p.init([]float32{0.5}), "f", nil)
		p.Layer("Concat", "e f", "g", "0=0")
		p.node("Concat", "e f", "g", map[string]any{"axis": 1})
		p.Layer("Eltwise", "g x", "y", "0=1 -23301=2,1.0,0.5")
		p.node("Mul", "x "+p.init([]float32{0.5}), "h", nil)
		p.node("Add", "g h", "y", nil)
		return p
	},
	"attention of channels": func(half bool) *pair {
		p := newPair(4, 6)
		p.Half = half
		p.Layer("Split", "x", "x1 x2 x3", "")
		p.node("Identity", "x", "x1", nil)
		p.node("Identity", "x", "x2", nil)
		p.node("Identity", "x", "x3", nil)
		p.Layer("Pooling", "x1", "a", "0=1 4=1")
		p.node("GlobalAveragePool", "x1", "a", nil)
		w, b := p.values(6*6), p.values(6)
		p.Layer("InnerProduct", "a", "b", "0=6 1=1 2=36 9=4").Tagged(w).Raw(b)
		p.node("Flatten", "a", "b0", nil)
		p.node("Gemm", "b0 "+p.init(w, 6, 6)+" "+p.init(b, 6), "b1", map[string]any{"transB": 1})
		p.node("Reshape", "b1 "+p.ints(1, 6, 1, 1), "b2", nil)
		p.node("Sigmoid", "b2", "b", nil)
		p.Layer("BinaryOp", "x2 b", "c", "0=2")
		p.node("Mul", "x2 b", "c", nil)
		p.Layer("Pooling", "c", "d", "0=0 1=3 2=2 3=1 5=1")
		p.node("MaxPool", "c", "d", map[string]any{"kernel_shape": []int64{3, 3}, "strides": []int64{2, 2}, "pads": []int64{1, 1, 1, 1}})
		p.Layer("Pooling", "x3", "e", "0=1 1=2 2=2")
		p.node("AveragePool", "x3", "e", map[string]any{"kernel_shape": []int64{2, 2}, "strides": []int64{2, 2}, "ceil_mode": 1})
		p.Layer("BinaryOp", "d e", "y", "0=4")
		p.node("Max", "d e", "y", nil)
		return p
	},
	"edges": func(half bool) *pair {
		p := newPair(5, 4)
		p.Half = half
		p.Layer("Padding", "x", "a", "0=2 1=1 2=3 3=2 4=2")
		p.node("Pad", "x "+p.ints(0, 0, 2, 3, 0, 0, 1, 2), "a", map[string]any{"mode": "reflect"})
		p.conv("a", "b", 4, 4, 3, 2, "4=0 2=2", map[string]any{"dilations": []int64{2, 2}})
		p.Layer("ReLU", "b", "c", "0=0.125")
		p.node("LeakyRelu", "b", "c", map[string]any{"alpha": float32(0.125)})
		p.Layer("Interp", "c", "d", "0=2 1=1.5 2=2")
		p.node("Resize", "c _ "+p.init([]float32{1, 1, 1.5, 2}, 4), "d", map[string]any{"mode": "linear"})
		p.Layer("Crop", "d", "e", "0=1 1=2 3=-233 4=-233 5=-233 6=1 7=0")
		p.node("Slice", "d "+p.ints(2, 1)+" "+p.ints(1000, -1)+" "+p.ints(2, 3), "e", nil)
		p.Layer("HardSwish", "e", "y", "0=1.666667e-01")
		p.node("HardSwish", "e", "y", nil)
		return p
	},
}

// TestSameAsONNX: a network gives the same bytes as the same network written as ONNX.
func TestSameAsONNX(t *testing.T) {
	for name, make := range networks {
		for _, half := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", fp16 ", half), func(t *testing.T) {
				p := make(half)
				p.net.Outputs = []onnxtest.Value{{Name: "y", Dims: []int64{1, -1, -1, -1}}}
				f, err := ncnn.Parse(p.Param(), p.Bin)
				if err != nil {
					t.Fatal(err)
				}
				g, err := onnx.Parse(p.net.Encode(), "")
				if err != nil {
					t.Fatal(err)
				}
				const h, w = 12, 16
				got, want := result(t, f, h, w), result(t, g, h, w)
				if len(got) == 0 || !slices.Equal(got, want) {
					t.Errorf("%d samples differ from ONNX's %d", len(got), len(want))
				}
			})
		}
	}
}

func result(t *testing.T, f *onnx.File, h, w int) []float32 {
	t.Helper()
	net, err := onnximport.Import(f, onnximport.Options{H: h, W: w})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(3, 3))
	in := make([]float32, net.Shape().Elems())
	for i := range in {
		in[i] = rng.Float32() - 0.5
	}
	out, _, err := ref.Run(t.Context(), net.Model, in, h, w, ref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRefusals(t *testing.T) {
	conv := func(params string, bin ...byte) (string, []byte) {
		return "7767517\n2 2\nInput x 0 1 x\nConvolution c 1 1 x y " + params + "\n", bin
	}
	fp32 := make([]byte, 4+36)
	tests := map[string]struct {
		param string
		bin   []byte
		want  string
	}{
		"magic":        {"7767516\n1 1\nInput x 0 1 x\n", nil, "does not begin with 7767517"},
		"empty":        {"", nil, "does not begin"},
		"counts":       {"7767517\n2\nInput x 0 1 x\n", nil, "numbers of layers and blobs"},
		"fewer layers": {"7767517\n2 1\nInput x 0 1 x\n", nil, "says 2 layers"},
		"many layers":  {"7767517\n99999999 1\nInput x 0 1 x\n", nil, "want 1..65536"},
		"kind":         {"7767517\n2 2\nInput x 0 1 x\nLSTM l 1 1 x y\n", nil, `layer "l" (LSTM): layers of this kind are not read`},
		"order":        {"7767517\n2 2\nReLU r 1 1 x y\nInput x 0 1 x\n", nil, `input "x" is made by no layer`},
		"twice":        {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x x\n", nil, "made by another layer"},
		"parameter":    {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x y 0=much\n", nil, `parameter 0 is "much"`},
		"unknown":      {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x y 5=1\n", nil, "parameter 5=1 is not known"},
		"unknown far":  {"7767517\n2 2\nInput x 0 1 x\nReLU r 1 1 x y 99=1\n", nil, "parameter 99=1 is not known"},
		"array":        {"7767517\n2 2\nInput x 0 1 x\nSlice r 1 1 x y -23300=3,1\n", nil, "its array is"},
		"names":        {"7767517\n2 2\nInput x 0 1 x\nReLU r 9 1 x y\n", nil, "want a type, a name"},
	}
	add := func(name, want, params string, bin ...byte) {
		p, b := conv(params, bin...)
		tests[name] = struct {
			param string
			bin   []byte
			want  string
		}{p, b, want}
	}
	add("weights end", "end beyond the .bin file", "0=1 1=3 6=9", fp32[:20]...)
	add("weights left", "4 of 44 bytes", "0=1 1=3 6=9", append(slices.Clone(fp32), 0, 0, 0, 0)...)
	add("int8 tag", "int8", "0=1 1=3 6=9", append([]byte{0x38, 0x4b, 0x0d, 0x00}, fp32...)...)
	add("int8 scales", "int8", "0=1 1=3 6=9 8=1", fp32...)
	add("other tag", "neither fp32 nor fp16", "0=1 1=3 6=9", append([]byte{1, 2, 3, 4}, fp32...)...)
	add("size", "do not fit", "0=2 1=3 6=9", fp32...)
	add("no kernel", "want 1 or more", "0=1 6=9", fp32...)
	add("large", "2147483647 weights", "0=1048576 1=1 6=2147483647", fp32...)
	add("activation", "activation is 2", "0=1 1=3 6=9 9=2", fp32...)
	for name, test := range tests {
		_, err := ncnn.Parse([]byte(test.param), test.bin)
		if !errors.As(err, new(ncnn.FormatError)) || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, test.want)
		}
	}
	p := newPair(1, 3)
	p.Layer("Softmax", "x", "y", "0=2")
	p.Layer("Crop", "y x", "z", "")
	if _, err := ncnn.Parse(p.Param(), p.Bin); err == nil || !strings.Contains(err.Error(), "size of another blob") {
		t.Errorf("a crop by another blob: %v", err)
	}
}

func TestOpen(t *testing.T) {
	p := networks["upscaler"](false)
	at := filepath.Join(t.TempDir(), "net.ncnn.param")
	if err := os.WriteFile(at, p.Param(), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ncnn.Open(at); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "net.ncnn.bin") {
		t.Errorf("without weights: %v", err)
	}
	if err := os.WriteFile(strings.TrimSuffix(at, "param")+"bin", p.Bin, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := ncnn.Open(at)
	if err != nil || f.Size() != int64(len(p.Bin)+len(p.Param())) || f.Graph.Inputs[0].Dims[1] != 3 {
		t.Errorf("%+v, %v", f, err)
	}
}

// FuzzParse: files are read, and imported, or refused with an error of a known kind, in bounded memory.
func FuzzParse(f *testing.F) {
	for _, make := range networks {
		p := make(true)
		f.Add(p.Param(), p.Bin)
	}
	f.Fuzz(func(t *testing.T, param, bin []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, err := ncnn.Parse(param, bin)
		if err == nil {
			var net *onnximport.Network
			if net, err = onnximport.Import(file, onnximport.Options{H: 8, W: 6, Channels: 3}); err == nil && net.Model.Validate() != nil {
				t.Errorf("an invalid model: %v", net.Model.Validate())
			}
		}
		if err != nil && !errors.As(err, new(ncnn.FormatError)) && !errors.As(err, new(onnx.FormatError)) && !errors.As(err, new(*onnximport.Error)) {
			t.Errorf("error %T: %v", err, err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30+1000*uint64(len(param)+len(bin)) {
			t.Errorf("%d bytes were allocated for files of %d and %d", used, len(param), len(bin))
		}
	})
}
