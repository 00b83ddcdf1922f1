package onnximport_test

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"enhance/internal/onnxtest"
	"enhance/model"
	"enhance/model/onnx"
	"enhance/model/onnximport"
	"enhance/model/ref"
)

func importNet(t *testing.T, n *onnxtest.Net, o onnximport.Options) (*onnximport.Network, error) {
	t.Helper()
	f, err := onnx.Parse(n.Encode(), t.TempDir())
	if err != nil {
		return nil, err
	}
	return onnximport.Import(f, o)
}

// TestImportByHand compares a small network with sums worked out here.
func TestImportByHand(t *testing.T) {
	const h, w = 3, 4
	net, err := importNet(t, onnxtest.Smoother(1), onnximport.Options{H: h, W: w})
	if err != nil {
		t.Fatal(err)
	}
	in := make([]float32, h*w)
	for i := range in {
		in[i] = float32(i*i%11) / 8
	}
	got, _, err := ref.Run(t.Context(), net.Model, in, h, w, ref.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for y := range h {
		for x := range w {
			sum := 0.0
			for i := range 9 {
				if sy, sx := y+i/3-1, x+i%3-1; sy >= 0 && sy < h && sx >= 0 && sx < w {
					sum += float64(i%7-3) / 32 * float64(in[sy*w+sx])
				}
			}
			want := float64(in[y*w+x]) + max(sum, sum/4)
			if d := math.Abs(float64(got[y*w+x]) - want); d > 1e-6 {
				t.Errorf("sample %d,%d is %g, want %g", y, x, got[y*w+x], want)
			}
		}
	}
}

// TestNetworks compares the networks in shared/onnx with the outputs that PyTorch computed.
func TestNetworks(t *testing.T) {
	for name, s := range map[string]model.Shape{"dncnn25": {C: 1, H: 96, W: 112}, "pmrid": {C: 4, H: 96, W: 128}, "nafnet_w8": {C: 3, H: 64, W: 80}} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join("..", "..", "..", "shared", "onnx", "networks", name)
			f, err := onnx.Open(at + ".onnx")
			if err != nil {
				t.Skipf("NO NETWORKS to compare with: %v", err)
			}
			net, err := onnximport.Import(f, onnximport.Options{H: s.H, W: s.W})
			if err != nil {
				t.Fatal(err)
			}
			in, want := samples(t, at+".in0.f32"), samples(t, at+".out.f32")
			got, _, err := ref.Run(t.Context(), net.Model, in, s.H, s.W, ref.Options{})
			if err != nil || len(got) != len(want) {
				t.Fatalf("%d samples, want %d: %v", len(got), len(want), err)
			}
			worst := 0.0
			for i := range got {
				worst = max(worst, math.Abs(float64(got[i])-float64(want[i])))
			}
			t.Logf("largest difference %.2g", worst)
			if !(worst < 1e-5) {
				t.Errorf("off by %g, more than 1e-5", worst)
			}
		})
	}
}

func samples(t *testing.T, path string) []float32 {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(b)/4)
	for i := range out {
		out[i] = math.Float32frombits(uint32(b[4*i]) | uint32(b[4*i+1])<<8 | uint32(b[4*i+2])<<16 | uint32(b[4*i+3])<<24)
	}
	return out
}

// small is a network of one node over a picture of 1×4×8×8.
func small(op string, attrs map[string]any, in []string, init ...onnxtest.Tensor) *onnxtest.Net {
	return &onnxtest.Net{Opset: 17, Inputs: []onnxtest.Value{{Name: "x", Dims: []int64{1, 4, 8, 8}}}, Outputs: []onnxtest.Value{{Name: "y"}}, Init: init,
		Nodes: []onnxtest.Node{{Op: op, Name: "the node", In: append([]string{"x"}, in...), Out: []string{"y"}, Attrs: attrs}}}
}

func ints(name string, v ...int64) onnxtest.Tensor {
	return onnxtest.Tensor{Name: name, Dims: []int64{int64(len(v))}, Ints: v}
}

// TestRefusals: bad files and networks that cannot be run are one line that names the node and says why.
func TestRefusals(t *testing.T) {
	weight := func(dims ...int64) onnxtest.Tensor {
		n := int64(1)
		for _, d := range dims {
			n *= d
		}
		return onnxtest.Tensor{Name: "w", Dims: dims, Floats: make([]float32, n)}
	}
	nan := weight(4, 4, 1, 1)
	nan.Floats[5] = float32(math.NaN())
	outside := weight(4, 4, 1, 1)
	outside.Floats, outside.External = nil, "../weights.bin"
	absolute := outside
	absolute.External = "/etc/passwd"
	absent := outside
	absent.External = "weights.bin"
	huge := weight(4, 4, 1, 1)
	huge.Dims = []int64{1 << 31, 1 << 31, 4, 4}
	cycle := small("Relu", nil, nil)
	cycle.Nodes = []onnxtest.Node{{Op: "Add", Name: "the node", In: []string{"x", "z"}, Out: []string{"y"}}, {Op: "Relu", In: []string{"y"}, Out: []string{"z"}}}
	custom := small("Fancy", nil, nil)
	custom.Domain, custom.Nodes[0].Domain = "com.example", "com.example"
	old, sized := small("Relu", nil, nil), small("Relu", nil, nil)
	old.Opset = 5
	sized.Inputs[0].Dims = []int64{1, 4, 1 << 62, 8}
	fill := small("Add", nil, []string{"f"}, ints("s", 1<<40, 1<<20))
	fill.Nodes = append([]onnxtest.Node{{Op: "ConstantOfShape", Name: "fill", In: []string{"s"}, Out: []string{"f"}}}, fill.Nodes...)
	for name, test := range map[string]struct {
		net  *onnxtest.Net
		want string
	}{
		"cycle":              {cycle, "cycle"},
		"missing":            {small("Conv", nil, []string{"w"}), `"the node" (Conv) of opset 17: its input "w" is neither made`},
		"shapes":             {small("Conv", nil, []string{"w"}, weight(4, 3, 1, 1)), "reads 3 channels in each of 1 groups, its input has 4"},
		"sizes":              {small("Conv", nil, []string{"w"}, huge), "shape"},
		"NaN":                {small("Conv", nil, []string{"w"}, nan), "must be finite"},
		"external ..":        {small("Conv", nil, []string{"w"}, outside), "out of the network's folder"},
		"external /":         {small("Conv", nil, []string{"w"}, absolute), "out of the network's folder"},
		"domain":             {custom, `the domain "com.example"`},
		"unknown":            {small("Fancy", nil, nil), "not known"},
		"attribute":          {small("Relu", map[string]any{"magic": 1}, nil), `attribute "magic"`},
		"control flow":       {small("Loop", nil, nil), "control flow"},
		"opset":              {old, "opset 5"},
		"2^62 rows":          {sized, "want sides"},
		"constant":           {fill, "more memory than the file"},
		"pads":               {small("MaxPool", map[string]any{"kernel_shape": []int64{2, 2}, "pads": []int64{0, 0, 1 << 40, 0}}, nil), "pads"},
		"stride 0":           {small("MaxPool", map[string]any{"kernel_shape": []int64{2, 2}, "strides": []int64{0, 1}}, nil), "strides 0x1"},
		"kernel too large":   {small("MaxPool", map[string]any{"kernel_shape": []int64{9, 2}}, nil), "want sides"},
		"matrices":           {small("MatMul", nil, []string{"m"}, onnxtest.Tensor{Name: "m", Dims: []int64{3, 1}, Floats: []float32{1, 2, 3}}), "it multiplies shapes"},
		"region":             {small("Resize", map[string]any{"coordinate_transformation_mode": "tf_crop_and_resize"}, []string{"", "", "n"}, ints("n", 1, 4, 5, 5)), "region of interest"},
		"slice to nothing":   {small("Slice", nil, []string{"a", "b", "c"}, ints("a", 9), ints("b", 9), ints("c", 1)), "nothing is left"},
		"reshape":            {small("Reshape", nil, []string{"s"}, ints("s", 7, -1)), "does not hold the 256 elements"},
		"reshape twice open": {small("Reshape", nil, []string{"s"}, ints("s", -1, -1)), "its shape is"},
		"type of attribute":  {small("Softmax", map[string]any{"axis": "one"}, nil), "another type"},
		"axis":               {small("Softmax", map[string]any{"axis": 9}, nil), "axis 9 of 4"},
		"scale":              {small("Resize", nil, []string{"", "s"}, onnxtest.Tensor{Name: "s", Dims: []int64{4}, Floats: []float32{1, 1, float32(math.Inf(1)), 1}}), "factor"},
	} {
		_, err := importNet(t, test.net, onnximport.Options{})
		if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, test.want)
		}
	}
	if _, err := importNet(t, small("Conv", nil, []string{"w"}, absent), onnximport.Options{}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("absent external data: %v, want an error that the file does not exist", err)
	}
}

// TestSizes: sizes in a file are defaults where nothing depends on them, and Differ names the node that does.
func TestSizes(t *testing.T) {
	fixed := func(sizes bool) *onnxtest.Net {
		if sizes {
			n := small("Resize", nil, []string{"", "", "s"}, ints("s", 1, 4, 16, 16))
			return n
		}
		return small("Resize", nil, []string{"", "s"}, onnxtest.Tensor{Name: "s", Dims: []int64{4}, Floats: []float32{1, 1, 2, 2}})
	}
	for _, sizes := range []bool{false, true} {
		a, err := importNet(t, fixed(sizes), onnximport.Options{})
		if err != nil {
			t.Fatal(err)
		}
		b, err := importNet(t, fixed(sizes), onnximport.Options{H: 32, W: 8})
		if err != nil {
			t.Fatal(err)
		}
		if got := onnximport.Differ(a, b); (got != "") != sizes || sizes && !strings.Contains(got, "the node") {
			t.Errorf("sizes %v: the imports differ by %q", sizes, got)
		}
		if (a.SizedBy != "") != sizes {
			t.Errorf("sizes %v: %q reads them", sizes, a.SizedBy)
		}
	}
}

// FuzzImport: whatever a file holds, import gives a model that is valid at the imported size or an error of a known
// kind, in memory bounded by the file.
func FuzzImport(f *testing.F) {
	for _, n := range []*onnxtest.Net{onnxtest.Smoother(2), onnxtest.Quantized(2), small("MaxPool", map[string]any{"kernel_shape": []int64{2, 2}, "ceil_mode": 1}, nil),
		small("Resize", nil, []string{"", "", "s"}, ints("s", 1, 4, 16, 16)), small("Slice", nil, []string{"a", "b"}, ints("a", 0, 1), ints("b", 1, -1)),
		small("Reshape", nil, []string{"s"}, ints("s", 1, -1)), small("Split", map[string]any{"axis": 1}, nil)} {
		f.Add(n.Encode())
	}
	cases, _ := onnxtest.Open(f)
	for i, c := range cases {
		if i%7 == 0 && len(c.Model) < 4096 {
			f.Add(c.Model)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		file, err := onnx.Parse(b, "")
		if err == nil {
			for _, o := range []onnximport.Options{{}, {H: 8, W: 6, Channels: 3}} {
				var net *onnximport.Network
				if net, err = onnximport.Import(file, o); err != nil {
					continue
				}
				if s := net.Shape(); net.Model.Validate() != nil {
					t.Errorf("an invalid model: %v", net.Model.Validate())
				} else if _, err := net.Model.Graph.Shapes(s.H, s.W); err != nil {
					t.Errorf("no shapes at the imported size: %v", err)
				}
			}
		}
		if err != nil && !errors.As(err, new(onnx.FormatError)) && !errors.As(err, new(*onnximport.Error)) {
			t.Errorf("error %T: %v", err, err)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30+1000*uint64(len(b)) {
			t.Errorf("%d bytes were allocated for a file of %d", used, len(b))
		}
	})
}
