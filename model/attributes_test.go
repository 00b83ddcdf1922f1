package model

import (
	"math"
	"strings"
	"testing"
)

// one is the graph of one node behind an input of c channels.
func one(c int, n Node) *Graph {
	n.Name = "n"
	if n.In == nil {
		n.In = []int{0}
	}
	return &Graph{Nodes: []Node{{Name: "input", Op: OpInput, C: c}, n}, Out: 1}
}

func TestShapesOfForeignOperations(t *testing.T) {
	plain := func(kh, kw int) Window {
		return Window{KH: kh, KW: kw, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1}
	}
	strided := Window{KH: 3, KW: 5, StrideH: 2, StrideW: 3, DilationH: 2, DilationW: 1, Top: 1, Right: 2}
	ceil := Window{KH: 2, KW: 2, StrideH: 2, StrideW: 2, DilationH: 1, DilationW: 1, Ceil: true}
	tests := map[string]struct {
		n    Node
		want Shape // of an input of 8×11×13
	}{
		"conv valid":       {Node{Op: OpConv, C: 4, Groups: 4, Window: plain(3, 2), Weight: "w", Bias: "b"}, Shape{4, 9, 12}},
		"conv strided":     {Node{Op: OpConv, C: 4, Groups: 1, Window: strided, Weight: "w", Bias: "b", Pad: PadZero}, Shape{4, 4, 4}},
		"conv zero":        {Node{Op: OpConv, C: 4, K: 3, Weight: "w", Bias: "b", Pad: PadZero}, Shape{4, 11, 13}},
		"pool ceil":        {Node{Op: OpPool, Reduce: ReduceMean, Window: ceil}, Shape{8, 6, 7}},
		"global pool":      {Node{Op: OpGlobalPool, Reduce: ReduceMax}, Shape{8, 1, 1}},
		"depth to space":   {Node{Op: OpDepthToSpace, Factor: 2}, Shape{2, 22, 26}},
		"slice":            {Node{Op: OpSlice, First: 5, C: 3}, Shape{3, 11, 13}},
		"crop":             {Node{Op: OpCrop, Window: Window{Top: 1, Right: 2, StrideH: 3, StrideW: 1}}, Shape{8, 4, 11}},
		"pad":              {Node{Op: OpPad, Pad: PadConstant, Alpha: 2, Window: Window{Top: 1, Right: 2}}, Shape{8, 12, 15}},
		"resize":           {Node{Op: OpResize, Resize: Resize{Mode: ResizeCubic, NumH: 3, DenH: 2, NumW: 1, DenW: 2}}, Shape{8, 16, 6}},
		"resize rounded":   {Node{Op: OpResize, Resize: Resize{Mode: ResizeLinear, Antialias: true, NumH: 1, DenH: 2, NumW: 1, DenW: 2, Round: true}}, Shape{8, 6, 7}},
		"rearrange":        {Node{Op: OpRearrange, Rearrange: Rearrange{Factors: [3][]int{{2, 4}, {0}, {0}}, To: [3][]int{{1}, {2}, {3, 0}}}}, Shape{4, 11, 26}},
		"transposed":       {Node{Op: OpRearrange, Rearrange: Rearrange{Factors: [3][]int{{8}, {0}, {13}}, To: [3][]int{{2}, {0}, {1}}}}, Shape{13, 8, 11}},
		"reduce channels":  {Node{Op: OpReduceChannels, Reduce: ReduceMin}, Shape{1, 11, 13}},
		"binary, constant": {Node{Op: OpBinary, Binary: BinaryPow, Weight: "w", Swapped: true}, Shape{8, 11, 13}},
	}
	for name, test := range tests {
		got, err := one(8, test.n).Shapes(11, 13)
		if err != nil || got[1] != test.want {
			t.Errorf("%s: %v, %v, want %v", name, got, err, test.want)
		}
	}
}

func TestBinaryBroadcasts(t *testing.T) {
	g := one(6, Node{Op: OpGlobalPool, Reduce: ReduceMean})
	g.Nodes = append(g.Nodes,
		Node{Name: "scaled", Op: OpBinary, Binary: BinaryMul, In: []int{1, 0}},
		Node{Name: "grey", Op: OpReduceChannels, Reduce: ReduceMean, In: []int{2}},
		Node{Name: "less", Op: OpBinary, Binary: BinarySub, In: []int{3, 2}})
	g.Out = 4
	shapes, err := g.Shapes(5, 7)
	if want := (Shape{6, 5, 7}); err != nil || shapes[2] != want || shapes[4] != want {
		t.Errorf("%v, %v, want %v of nodes 2 and 4", shapes, err, want)
	}
}

func TestMatMulShapes(t *testing.T) {
	turn := Rearrange{Factors: [3][]int{{6}, {0}, {7}}, To: [3][]int{{2}, {1}, {0}}}
	g := one(6, Node{Op: OpRearrange, Rearrange: turn})
	g.Nodes = append(g.Nodes, Node{Name: "scores", Op: OpMatMul, In: []int{0, 1}}, Node{Name: "mixed", Op: OpMatMul, In: []int{2, 0}})
	g.Out = 3
	shapes, err := g.Shapes(5, 7)
	if err != nil || shapes[2] != (Shape{7, 5, 7}) || shapes[3] != (Shape{6, 5, 7}) {
		t.Errorf("%v, %v", shapes, err)
	}
	if flops := g.NodeFLOPs(2, shapes); flops != 2*6*7*5*7 {
		t.Errorf("%d operations", flops)
	}
	if _, err := g.Shapes(5, 8); err == nil || !strings.Contains(err.Error(), "takes 8 columns apart as [7]") {
		t.Errorf("another width: %v", err)
	}
	g.Nodes[3].In = []int{0, 1}
	g.Nodes[2].In = []int{1, 1}
	if _, err := g.Shapes(5, 7); err == nil || !strings.Contains(err.Error(), "multiplies") {
		t.Errorf("matrices that do not fit: %v", err)
	}
}

func TestValidateRefusesForeign(t *testing.T) {
	window := Window{KH: 3, KW: 3, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1}
	far := window
	far.Left = 1 << 40
	tests := map[string]struct {
		n    Node
		want string
	}{
		"groups":          {Node{Op: OpConv, C: 4, Groups: 3, Window: window, Weight: "w", Bias: "b"}, "3 groups do not divide 4 channels"},
		"groups of input": {Node{Op: OpConv, C: 9, Groups: 9, Window: window, Weight: "w", Bias: "b"}, "9 groups do not divide 8 channels"},
		"both forms":      {Node{Op: OpConv, C: 4, K: 3, Groups: 1, Window: window, Weight: "w", Bias: "b"}, "not zero"},
		"pads":            {Node{Op: OpPool, Reduce: ReduceMax, Window: far}, "want 0..65536"},
		"no stride":       {Node{Op: OpPool, Reduce: ReduceMax, Window: Window{KH: 1, KW: 1}}, "strides 0x0"},
		"function":        {Node{Op: OpMap, Func: funcs}, "unknown function"},
		"alpha":           {Node{Op: OpMap, Func: FuncClip, Alpha: float32(math.NaN())}, "want numbers"},
		"slice":           {Node{Op: OpSlice, First: 6, C: 3}, "channels 6 to 8 of 8"},
		"reduction":       {Node{Op: OpGlobalPool, Reduce: ReduceMeanPadded}, "unknown reduction"},
		"resize":          {Node{Op: OpResize, Resize: Resize{Mode: ResizeLinear, NumH: 1, DenH: 1, NumW: 1}}, "ratios"},
		"blocks":          {Node{Op: OpDepthToSpace, Factor: 3}, "not a multiple of 9"},
		"factors":         {Node{Op: OpRearrange, Rearrange: Rearrange{Factors: [3][]int{{3}, {0}, {0}}, To: [3][]int{{0}, {1}, {2}}}}, "takes 8 channels apart as [3]"},
		"open factors":    {Node{Op: OpRearrange, Rearrange: Rearrange{Factors: [3][]int{{8}, {0, 0}, {0}}, To: [3][]int{{0}, {1, 2}, {3}}}}, "two of them are open"},
		"open channels":   {Node{Op: OpRearrange, Rearrange: Rearrange{Factors: [3][]int{{8}, {0}, {0}}, To: [3][]int{{1}, {0}, {2}}}}, "makes channels"},
		"factor twice":    {Node{Op: OpRearrange, Rearrange: Rearrange{Factors: [3][]int{{8}, {0}, {0}}, To: [3][]int{{0}, {0}, {2}}}}, "once"},
		"region":          {Node{Op: OpResize, Resize: Resize{Mode: ResizeLinear, NumH: 1, DenH: 1, NumW: 1, DenW: 1, Crop: [4]float32{0, 1, 0, 1}}}, "region of interest"},
		"binary":          {Node{Op: OpBinary, Binary: BinaryAdd}, "no name"},
	}
	for name, test := range tests {
		err := one(8, test.n).Validate()
		if err == nil {
			_, err = one(8, test.n).Shapes(12, 12)
		}
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want one with %q", name, err, test.want)
		}
	}
}
