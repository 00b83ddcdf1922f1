package ops

import (
	_ "embed"
	"fmt"
	"math"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

//go:embed apply.cl
var applyCL string

//go:embed codes.cl
var codesCL string

// ApplySource is the text of the kernels of steps of kind Apply, RowReduce and Merge, without
// the prelude: a program of its own, which networks without such steps do not compile.
func ApplySource() string { return linesCL + applyCL + planar.CodesSource() + codesCL }

// Applies reports whether a step is done by Apply.
func Applies(s *fuse.Step) bool {
	return s.Kind == fuse.Apply || s.Kind == fuse.RowReduce || s.Kind == fuse.Merge
}

// ApplyParams lists the parameters of a step as its kernel reads them; nil if it has none.
// value gives a parameter's values by name.
func ApplyParams(s *fuse.Step, value func(name string) []float32) []float32 {
	if s.Kind != fuse.Apply {
		return nil
	}
	n, c0, c := s.Node, s.Dst.C0, s.Dst.C
	both := func() []float32 {
		return append(append([]float32(nil), value(n.Weight)[c0:c0+c]...), value(n.Bias)[c0:c0+c]...)
	}
	switch n.Op {
	case model.OpAffine, model.OpLayerNorm:
		return both()
	case model.OpPReLU:
		return append([]float32(nil), value(n.Weight)[c0:c0+c]...)
	case model.OpBinary:
		if len(n.In) == 1 {
			return append([]float32(nil), value(n.Weight)[c0:c0+c]...)
		}
	case model.OpResize:
		return append(tapParams(s.Rows), tapParams(s.Columns)...)
	case model.OpRearrange:
		return moveParams(s.Moves)
	}
	return nil
}

// ApplyParamLen is how many values ApplyParams lists.
func ApplyParamLen(s *fuse.Step) int {
	if s.Kind != fuse.Apply {
		return 0
	}
	switch n := s.Node; n.Op {
	case model.OpAffine, model.OpLayerNorm:
		return 2 * s.Dst.C
	case model.OpPReLU:
		return s.Dst.C
	case model.OpBinary:
		if len(n.In) == 1 {
			return s.Dst.C
		}
	case model.OpResize:
		return 2 * (mostTaps(s.Rows)*len(s.Rows) + mostTaps(s.Columns)*len(s.Columns))
	case model.OpRearrange:
		return 3 * (1 + len(s.Moves[0]) + len(s.Moves[1]) + len(s.Moves[2]))
	}
	return 0
}

// moveParams lists the factors of a rearrangement as apply_rearrange reads them.
func moveParams(moves [3][]model.Move) []float32 {
	integer := func(i int) float32 { return math.Float32frombits(uint32(i)) }
	out := []float32{integer(len(moves[0])), integer(len(moves[1])), integer(len(moves[2]))}
	for _, list := range moves {
		for _, m := range list {
			out = append(out, integer(m.Size), integer(m.Side), integer(m.Stride))
		}
	}
	return out
}

// tapParams lists taps as apply_resize reads them.
func tapParams(taps []model.Tap) []float32 {
	n := mostTaps(taps)
	out := make([]float32, 2*n*len(taps))
	for i, t := range taps {
		for k := range n {
			at := t.At[min(k, len(t.At)-1)]
			if t.Outside {
				at = -1
			}
			out[2*n*i+k] = math.Float32frombits(uint32(at))
			if k < len(t.At) {
				out[2*n*i+n+k] = float32(t.Weight[k])
			}
		}
	}
	return out
}

func mostTaps(taps []model.Tap) int {
	n := 0
	for _, t := range taps {
		n = max(n, len(t.At))
	}
	return n
}

// Applier has the kernels of ApplySource.
type Applier struct{ kernels }

// NewApplier takes the kernels from a program built with ApplySource.
func NewApplier(p *clrt.Program, q *clrt.Queue, c conv.Caps) (*Applier, error) {
	k, err := takeKernels(p, q, c, "apply_map", "apply_channel", "apply_binary", "apply_move", "apply_shuffle", "apply_pool", "apply_across", "apply_resize",
		"apply_rearrange", "apply_matmul", "apply_row_reduce", "apply_merge", "codes_quantize", "codes_quantize4", "codes_number", "codes_dequantize")
	if err != nil {
		return nil, err
	}
	return &Applier{k}, nil
}

// Close releases the kernels.
func (a *Applier) Close() { a.release() }

// Apply makes rows [y0,y1) of dst by step s from src; params holds what ApplyParams lists.
func (a *Applier) Apply(s *fuse.Step, src []planar.Ring, dst planar.Ring, params *clrt.Buffer, y0, y1 int) error {
	n, args := s.Node, new(conv.KernelArgs).Ring(src[0])
	switch {
	case s.Kind == fuse.RowReduce:
		return a.launch("apply_row_reduce", args.Ring(dst).Int(y0, int(n.Reduce)).Float(n.Power), dst.C, y1-y0)
	case s.Kind == fuse.Merge:
		return a.launch("apply_merge", args.Ring(dst).Int(int(n.Reduce)).Float(n.Power).Int(src[0].W), dst.C)
	}
	switch n.Op {
	case model.OpQuantize, model.OpDequantize:
		return a.codes(s, args, dst, y0, y1)
	case model.OpReduceChannels, model.OpLayerNorm, model.OpSoftmax, model.OpLRN:
		return a.across(n, args.Ring(dst).Int(y0), params, dst.W, y1-y0)
	}
	kernel, along := byColumns(n, args, src, dst, params, y0)
	if kernel == "" {
		if kernel, along = bySamples(s, args, dst, params, y0), 1; kernel == "" {
			return fmt.Errorf("ops: step %s: no kernel for %s", s.Name, n.Op)
		}
	}
	return a.launch(kernel, args, (dst.W+along-1)/along, dst.C, y1-y0)
}

// codes makes codes of samples, and samples of codes.
func (a *Applier) codes(s *fuse.Step, args *conv.KernelArgs, dst planar.Ring, y0, y1 int) error {
	n := s.Node
	if n.Op == model.OpDequantize {
		q, _ := CodesOf(s.From)
		return a.launch("codes_dequantize", args.Ring(dst).Int(y0).Float(n.Step).Int(n.Zero-s.From.Zero+q.Zero), (dst.W+7)/8, dst.C, y1-y0)
	}
	q, least := CodesOf(n)
	args.Ring(dst).Int(y0).Float(q.Inverse).Float(float32(q.Zero))
	switch {
	case !dst.Codes:
		return a.launch("codes_number", args.Float(least), (dst.W+7)/8, dst.C, y1-y0)
	case a.caps.CPU:
		return a.launch("codes_quantize", args, 1, dst.C, y1-y0) // along whole lines
	}
	return a.launch("codes_quantize4", args, (dst.W+3)/4, dst.C, y1-y0)
}

// across launches the operations for which one item sees all channels of a pixel.
func (a *Applier) across(n *model.Node, args *conv.KernelArgs, params *clrt.Buffer, columns, rows int) error {
	kind, alpha := 0, n.Alpha // as apply_across numbers them
	switch n.Op {
	case model.OpLayerNorm:
		kind, alpha = 1, n.Eps
	case model.OpSoftmax:
		kind = 2
	case model.OpLRN:
		kind = 3
	}
	args.Int(kind, int(n.Reduce), n.Size).Float(alpha).Float(n.Beta).Float(n.Power).Buffer(params)
	return a.launch("apply_across", args, columns, 1, rows)
}

// byColumns gives the arguments of operations whose kernels make several columns an item. It
// names the kernel and that number; "" is for other operations.
func byColumns(n *model.Node, args *conv.KernelArgs, src []planar.Ring, dst planar.Ring, params *clrt.Buffer, y0 int) (kernel string, along int) {
	switch n.Op {
	case model.OpMap:
		kernel = "apply_map"
		args.Ring(dst).Int(y0, int(n.Func)).Float(n.Alpha).Float(n.Beta)
	case model.OpPReLU, model.OpAffine:
		kernel = "apply_channel"
		op := 0
		if n.Op == model.OpPReLU {
			op = -1
		}
		args.Ring(dst).Int(y0, op).Buffer(params)
	case model.OpBinary:
		if len(src) == 2 {
			kernel = "apply_binary"
			args.Ring(src[1]).Ring(dst).Int(y0, int(n.Binary))
			break
		}
		kernel = "apply_channel"
		op := int(n.Binary)
		if n.Swapped {
			op += 100
		}
		args.Ring(dst).Int(y0, op).Buffer(params)
	case model.OpDepthToSpace:
		kernel = "apply_shuffle"
		var base planar.Ring
		if len(src) == 2 {
			base = src[1]
		}
		args.Ring(base).Ring(dst).Int(y0, n.Factor, outermost(n))
	case model.OpMatMul:
		kernel = "apply_matmul"
		args.Ring(src[1]).Ring(dst).Int(y0)
	}
	return kernel, 8
}

// bySamples gives the arguments of operations whose kernels make one sample an item, and
// names the kernel; "" is for other operations.
func bySamples(s *fuse.Step, args *conv.KernelArgs, dst planar.Ring, params *clrt.Buffer, y0 int) (kernel string) {
	n := s.Node
	w := &n.Window
	args.Ring(dst)
	switch n.Op {
	case model.OpCrop:
		args.Int(y0, 0).Int4(w.Top, w.Left, w.StrideH, w.StrideW).Float(0)
		return "apply_move"
	case model.OpPad:
		args.Int(y0, 1).Int4(w.Top, w.Left, int(n.Pad), 0).Float(n.Alpha)
		return "apply_move"
	case model.OpSpaceToDepth:
		args.Int(y0, 2).Int4(n.Factor, outermost(n), 0, 0).Float(0)
		return "apply_move"
	case model.OpPool:
		args.Int(y0).Int4(w.KH, w.KW, w.StrideH, w.StrideW).Int4(w.DilationH, w.DilationW, w.Top, w.Left).Int(w.Bottom, w.Right, int(n.Reduce)).Float(n.Power)
		return "apply_pool"
	case model.OpRearrange:
		args.Int(y0).Buffer(params)
		return "apply_rearrange"
	case model.OpResize:
		args.Int(y0, mostTaps(s.Rows), mostTaps(s.Columns)).Float(n.Resize.Outside).Buffer(params)
		return "apply_resize"
	}
	return ""
}

// CodesOf gives the bytes that hold the codes of an OpQuantize, and the least of its codes, which is byte 0.
func CodesOf(n *model.Node) (q conv.Quantizer, least float32) {
	low, _ := n.Codes()
	return conv.Quantizer{Inverse: n.Inverse(), Zero: n.Zero - low}, float32(low)
}

// outermost is 1 if the channel is outermost in the order of n's blocks.
func outermost(n *model.Node) int {
	if n.CRD {
		return 1
	}
	return 0
}

// launch starts a kernel over items, the first along lines.
func (a *Applier) launch(name string, args *conv.KernelArgs, items ...int) error {
	local := make([]int, len(items))
	for i := range local {
		local[i] = 1
	}
	local[0] = alongLine(a.caps, items[0])
	if len(items) == 3 {
		local[1] = channels(a.caps, local[0], items[1])
	}
	items[0] = (items[0] + local[0] - 1) / local[0] * local[0]
	return args.Launch(a.q, a.all[name], items, local)
}

// alongLine is the local size along a line of so many items. Planes of imported networks have all widths,
// and drivers of CPUs compile a kernel once more for each size of its work-groups: there are three there.
func alongLine(c conv.Caps, items int) int {
	most := min(columns(c), items)
	switch {
	case !c.CPU, items == 1:
		return most
	case items <= 32:
		return min(8, columns(c))
	}
	return columns(c)
}
