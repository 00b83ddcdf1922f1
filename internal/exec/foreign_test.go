package exec_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/modeltest"
	"enhance/internal/planar"
	"enhance/model"
)

// foreign lists operations of imported networks, each on a value of six channels.
func foreign() map[string]model.Node {
	win := func(kh, kw, sh, sw, dh, dw, top, left, bottom, right int) model.Window {
		return model.Window{KH: kh, KW: kw, StrideH: sh, StrideW: sw, DilationH: dh, DilationW: dw, Top: top, Left: left, Bottom: bottom, Right: right}
	}
	ops := map[string]model.Node{
		"prelu":             {Op: model.OpPReLU, Weight: "w"},
		"affine":            {Op: model.OpAffine, Weight: "w", Bias: "b"},
		"constant":          {Op: model.OpBinary, Binary: model.BinaryMax, Weight: "w"},
		"constant swapped":  {Op: model.OpBinary, Binary: model.BinarySub, Weight: "w", Swapped: true},
		"slice":             {Op: model.OpSlice, First: 1, C: 4},
		"crop":              {Op: model.OpCrop, Window: model.Window{Top: 2, Left: 1, Bottom: 1, Right: 3, StrideH: 2, StrideW: 1}},
		"pad reflected":     {Op: model.OpPad, Window: model.Window{Top: 3, Left: 2, Bottom: 2, Right: 1}},
		"pad constant":      {Op: model.OpPad, Pad: model.PadConstant, Alpha: 0.5, Window: model.Window{Top: 1, Left: 2, Bottom: 4, Right: 1}},
		"pad edge":          {Op: model.OpPad, Pad: model.PadEdge, Window: model.Window{Top: 1, Bottom: 3, Right: 5}},
		"depthwise":         {Op: model.OpConv, C: 6, Groups: 6, Pad: model.PadZero, Window: win(3, 3, 1, 1, 1, 1, 1, 1, 1, 1), Weight: "w", Bias: "b"},
		"strided":           {Op: model.OpConv, C: 5, Groups: 1, Pad: model.PadZero, Window: win(3, 5, 2, 3, 1, 1, 1, 2, 0, 2), Weight: "w", Bias: "b"},
		"dilated, grouped":  {Op: model.OpConv, C: 4, Groups: 2, Pad: model.PadZero, Window: win(3, 2, 1, 2, 2, 3, 2, 1, 2, 2), Weight: "w", Bias: "b"},
		"window, reflected": {Op: model.OpConv, C: 3, Groups: 1, Pad: model.PadReflect, Window: win(4, 3, 2, 1, 1, 1, 2, 1, 2, 1), Weight: "w", Bias: "b"},
		"other padding":     {Op: model.OpConv, C: 3, K: 3, Pad: model.PadEdge, Weight: "w", Bias: "b"},
		"depth to space":    {Op: model.OpDepthToSpace, Factor: 1},
		"space to depth":    {Op: model.OpSpaceToDepth, Factor: 2},
		"max pool":          {Op: model.OpPool, Reduce: model.ReduceMax, Window: win(3, 3, 2, 2, 1, 1, 1, 1, 1, 1)},
		"mean pool":         {Op: model.OpPool, Reduce: model.ReduceMean, Window: win(2, 3, 1, 2, 1, 1, 0, 1, 1, 1)},
		"padded mean pool":  {Op: model.OpPool, Reduce: model.ReduceMeanPadded, Window: win(5, 3, 3, 2, 1, 1, 2, 1, 2, 0)},
		"LP pool":           {Op: model.OpPool, Reduce: model.ReduceLP, Power: 2, Window: win(2, 2, 2, 2, 1, 1, 0, 0, 0, 0)},
		"sum of channels":   {Op: model.OpReduceChannels, Reduce: model.ReduceSum},
		"layer norm":        {Op: model.OpLayerNorm, Eps: 1e-3, Weight: "w", Bias: "b"},
		"group norm":        {Op: model.OpGroupNorm, Groups: 2, Eps: 1e-3, Weight: "w", Bias: "b"},
		"one group":         {Op: model.OpGroupNorm, Groups: 1, Eps: 1e-3, Weight: "w", Bias: "b"},
		"instance norm":     {Op: model.OpInstanceNorm, Eps: 1e-3, Weight: "w", Bias: "b"},
		"softmax":           {Op: model.OpSoftmax},
		"LRN":               {Op: model.OpLRN, Size: 3, Alpha: 0.5, Beta: 1, Power: 0.75},
	}
	for name, r := range map[string]model.Resize{
		"nearest":      {Mode: model.ResizeNearest, Coordinates: model.CoordAsymmetric, Rounding: model.RoundFloor, NumH: 2, DenH: 1, NumW: 3, DenW: 1},
		"linear":       {Mode: model.ResizeLinear, NumH: 3, DenH: 2, NumW: 2, DenW: 1},
		"smaller":      {Mode: model.ResizeLinear, Coordinates: model.CoordAlignCorners, NumH: 1, DenH: 3, NumW: 1, DenW: 2},
		"cubic":        {Mode: model.ResizeCubic, CubicA: -0.75, NumH: 2, DenH: 1, NumW: 2, DenW: 1},
		"rounded":      {Mode: model.ResizeNearest, Coordinates: model.CoordAsymmetric, NumH: 2, DenH: 3, NumW: 3, DenW: 4, Round: true},
		"smooth":       {Mode: model.ResizeLinear, Antialias: true, NumH: 2, DenH: 5, NumW: 1, DenW: 3},
		"smooth cubic": {Mode: model.ResizeCubic, CubicA: -0.5, Antialias: true, ExcludeOutside: true, NumH: 1, DenH: 2, NumW: 3, DenW: 4},
		"region":       {Mode: model.ResizeLinear, Coordinates: model.CoordCrop, Crop: [4]float32{-0.2, 0.6, 0.1, 1.3}, Outside: 0.7, NumH: 1, DenH: 2, NumW: 3, DenW: 2},
		"outside":      {Mode: model.ResizeCubic, CubicA: -0.5, ExcludeOutside: true, NumH: 4, DenH: 3, NumW: 1, DenW: 1},
	} {
		ops["resize "+name] = model.Node{Op: model.OpResize, Resize: r}
	}
	for name, r := range map[string]model.Rearrange{
		"pairs of rows side by side": {Factors: [3][]int{{6}, {0, 2}, {0}}, To: [3][]int{{0}, {1}, {3, 2}}},
		"pairs of rows as channels":  {Factors: [3][]int{{6}, {0, 2}, {0}}, To: [3][]int{{2, 0}, {1}, {3}}},
		"channels as rows":           {Factors: [3][]int{{2, 3}, {0}, {0}}, To: [3][]int{{1}, {2, 0}, {3}}},
		"rows as columns":            {Factors: [3][]int{{6}, {0}, {0}}, To: [3][]int{{0}, {2}, {1}}},
		"blocks of four":             {Factors: [3][]int{{6}, {0, 2}, {0, 2}}, To: [3][]int{{0}, {1, 3}, {2, 4}}},
	} {
		ops[name] = model.Node{Op: model.OpRearrange, Rearrange: r}
	}
	for f := model.FuncClip; f <= model.FuncCos; f++ {
		if f == model.FuncFloor || f == model.FuncCeil || f == model.FuncRound || f == model.FuncSign || f == model.FuncLog || f == model.FuncSqrt || f == model.FuncReciprocal {
			continue // not continuous, or not everywhere: roundings before them show
		}
		ops[fmt.Sprintf("function %d", f)] = model.Node{Op: model.OpMap, Func: f, Alpha: 0.3, Beta: 0.9}
	}
	return ops
}

// foreignGraph puts an operation between two convolutions that pad with zeros.
func foreignGraph(n model.Node) *model.Graph {
	n.Name, n.In = "op", []int{1}
	return &model.Graph{Nodes: []model.Node{
		{Name: "in", Op: model.OpInput, C: 3},
		{Name: "first", Op: model.OpConv, In: []int{0}, C: 6, K: 5, Pad: model.PadZero, Weight: "f.w", Bias: "f.b"},
		n,
		{Name: "last", Op: model.OpConv, In: []int{2}, C: 2, K: 3, Pad: model.PadZero, Weight: "l.w", Bias: "l.b"},
	}, Out: 3}
}

// attention is a plane's mean that scales the plane, beside a gate of halves of the channels,
// as imported networks for restoration have them.
func attention(reduce model.Reduce) *model.Graph {
	power := float32(0)
	if reduce == model.ReduceLP {
		power = 2
	}
	return &model.Graph{Nodes: []model.Node{
		{Name: "in", Op: model.OpInput, C: 3},
		{Name: "first", Op: model.OpConv, In: []int{0}, C: 8, K: 3, Pad: model.PadZero, Weight: "f.w", Bias: "f.b"},
		{Name: "left", Op: model.OpSlice, In: []int{1}, C: 4},
		{Name: "right", Op: model.OpSlice, In: []int{1}, First: 4, C: 4},
		{Name: "gate", Op: model.OpBinary, Binary: model.BinaryMul, In: []int{2, 3}},
		{Name: "mean", Op: model.OpGlobalPool, Reduce: reduce, Power: power, In: []int{4}},
		{Name: "squeeze", Op: model.OpConv, In: []int{5}, C: 4, K: 1, Weight: "s.w", Bias: "s.b"},
		{Name: "scaled", Op: model.OpBinary, Binary: model.BinaryMul, In: []int{4, 6}},
		{Name: "one", Op: model.OpReduceChannels, Reduce: model.ReduceMean, In: []int{7}},
		{Name: "centred", Op: model.OpBinary, Binary: model.BinarySub, In: []int{7, 8}},
		{Name: "last", Op: model.OpConv, In: []int{9}, C: 2, K: 3, Pad: model.PadZero, Weight: "l.w", Bias: "l.b"},
	}, Out: 10}
}

const windowSide = 12

// windowAttention multiplies planes by planes, in every row for itself, as attention within windows does, after the mean of
// every row has been taken off.
func windowAttention() *model.Graph {
	turn := func(channels, columns int) model.Rearrange {
		return model.Rearrange{Factors: [3][]int{{channels}, {0}, {columns}}, To: [3][]int{{2}, {1}, {0}}}
	}
	return &model.Graph{Nodes: []model.Node{
		{Name: "in", Op: model.OpInput, C: 3},
		{Name: "first", Op: model.OpConv, In: []int{0}, C: 6, K: 3, Pad: model.PadZero, Weight: "f.w", Bias: "f.b"},
		{Name: "turned", Op: model.OpRearrange, In: []int{1}, Rearrange: turn(6, windowSide)},
		{Name: "mean", Op: model.OpReduceChannels, In: []int{2}, Reduce: model.ReduceMean},
		{Name: "means", Op: model.OpRearrange, In: []int{3}, Rearrange: turn(1, 6)},
		{Name: "centred", Op: model.OpBinary, In: []int{1, 4}, Binary: model.BinarySub},
		{Name: "keys", Op: model.OpRearrange, In: []int{5}, Rearrange: turn(6, windowSide)},
		{Name: "scores", Op: model.OpMatMul, In: []int{5, 6}},
		{Name: "share", Op: model.OpSoftmax, In: []int{7}},
		{Name: "mixed", Op: model.OpMatMul, In: []int{8, 1}},
		{Name: "last", Op: model.OpConv, In: []int{9}, C: 2, K: 3, Pad: model.PadZero, Weight: "l.w", Bias: "l.b"},
	}, Out: 10}
}

// enlarged is the end of networks that enlarge: a depth to space and the picture itself, every sample
// repeated.
func enlarged(factor int, outermost bool, rounding model.Rounding) *model.Graph {
	r := model.Resize{Mode: model.ResizeNearest, Coordinates: model.CoordAsymmetric, Rounding: rounding, NumH: factor, DenH: 1, NumW: factor, DenW: 1}
	return &model.Graph{Nodes: []model.Node{
		{Name: "in", Op: model.OpInput, C: 3},
		{Name: "first", Op: model.OpConv, In: []int{0}, C: 3 * factor * factor, K: 3, Pad: model.PadZero, Weight: "f.w", Bias: "f.b"},
		{Name: "shuffle", Op: model.OpDepthToSpace, In: []int{1}, Factor: factor, CRD: outermost},
		{Name: "base", Op: model.OpResize, In: []int{0}, Resize: r},
		{Name: "sum", Op: model.OpAdd, In: []int{3, 2}},
		{Name: "last", Op: model.OpConv, In: []int{4}, C: 2, K: 3, Pad: model.PadZero, Weight: "l.w", Bias: "l.b"},
	}, Out: 4 + factor%2}
}

// TestForeignOperations runs every operation of imported networks under every kind of plan:
// the bytes are the same, the peak is that predicted, and the result is the reference's.
func TestForeignOperations(t *testing.T) {
	graphs := map[string]*model.Graph{}
	for name, n := range foreign() {
		graphs[name] = foreignGraph(n)
	}
	for _, r := range []model.Reduce{model.ReduceMean, model.ReduceMax, model.ReduceMin, model.ReduceSum, model.ReduceLP} {
		graphs[fmt.Sprintf("attention %d", r)] = attention(r)
	}
	graphs["windows"] = windowAttention()
	graphs["0 enlarged by 2"], graphs["enlarged by 3"] = enlarged(2, true, model.RoundFloor), enlarged(3, false, model.RoundFloor)
	graphs["enlarged by others' samples"] = enlarged(2, false, model.RoundCeil)
	dev := convtest.Device(t)
	for k, name := range slices.Sorted(maps.Keys(graphs)) {
		if testing.Short() && k%5 != 0 {
			continue // the others differ in their kernel alone
		}
		g, seed := graphs[name], uint64(k)
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 21))
			h, w := 12+2*rng.IntN(20), 8+2*rng.IntN(9)
			if name == "windows" {
				w = windowSide // which its nodes say
			}
			p := &picture{TB: t, name: fmt.Sprintf("%s, %dx%d", name, h, w), m: modeltest.Model("foreign", g), info: dev.Info(),
				in: &tensor{c: 3, h: h, w: w, v: model.FormulaTensor("foreign", name, 3*h*w)}}
			p.opt = exec.Options{Poison: true, Algo: func(string, conv.Shape) conv.Algo { return naive{granule: 1} }}
			if seed%3 == 0 {
				p.opt.Precision = planar.FP16
			}
			if seed%2 == 1 {
				p.info.Type, p.info.Unified = clrt.Accelerator, false
			}
			p.plans(rng)
			p.close()
		})
	}
}
