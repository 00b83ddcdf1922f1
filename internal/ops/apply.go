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
	n := s.Node
	w := &n.Window
	args := new(conv.KernelArgs).Ring(src[0])
	switch {
	case s.Kind == fuse.RowReduce:
		return a.launch("apply_row_reduce", args.Ring(dst).Int(y0, int(n.Reduce)).Float(n.Power), dst.C, y1-y0)
	case s.Kind == fuse.Merge:
		return a.launch("apply_merge", args.Ring(dst).Int(int(n.Reduce)).Float(n.Power).Int(src[0].W), dst.C)
	}
	kernel, side := "", 1
	switch n.Op {
	case model.OpQuantize:
		q, least := CodesOf(n)
		if args.Ring(dst).Int(y0).Float(q.Inverse).Float(float32(q.Zero)); dst.Codes {
			if a.caps.CPU {
				return a.launch("codes_quantize", args, 1, dst.C, y1-y0) // along whole lines
			}
			return a.launch("codes_quantize4", args, (dst.W+3)/4, dst.C, y1-y0)
		}
		return a.launch("codes_number", args.Float(least), (dst.W+7)/8, dst.C, y1-y0)
	case model.OpDequantize:
		q, _ := CodesOf(s.From)
		return a.launch("codes_dequantize", args.Ring(dst).Int(y0).Float(n.Step).Int(n.Zero-s.From.Zero+q.Zero), (dst.W+7)/8, dst.C, y1-y0)
	case model.OpMap:
		kernel, side = "map", 8
		args.Ring(dst).Int(y0, int(n.Func)).Float(n.Alpha).Float(n.Beta)
	case model.OpPReLU, model.OpAffine:
		kernel, side = "channel", 8
		op := 0
		if n.Op == model.OpPReLU {
			op = -1
		}
		args.Ring(dst).Int(y0, op).Buffer(params)
	case model.OpBinary:
		kernel, side = "binary", 8
		if len(src) == 2 {
			args.Ring(src[1]).Ring(dst).Int(y0, int(n.Binary))
			break
		}
		op := int(n.Binary)
		if n.Swapped {
			op += 100
		}
		kernel = "channel"
		args.Ring(dst).Int(y0, op).Buffer(params)
	case model.OpCrop:
		kernel = "move"
		args.Ring(dst).Int(y0, 0).Int4(w.Top, w.Left, w.StrideH, w.StrideW).Float(0)
	case model.OpPad:
		kernel = "move"
		args.Ring(dst).Int(y0, 1).Int4(w.Top, w.Left, int(n.Pad), 0).Float(n.Alpha)
	case model.OpDepthToSpace:
		kernel, side = "shuffle", 8
		var base planar.Ring
		if len(src) == 2 {
			base = src[1]
		}
		args.Ring(base).Ring(dst).Int(y0, n.Factor, outermost(n))
	case model.OpSpaceToDepth:
		kernel = "move"
		args.Ring(dst).Int(y0, 2).Int4(n.Factor, outermost(n), 0, 0).Float(0)
	case model.OpPool:
		kernel = "pool"
		args.Ring(dst).Int(y0).Int4(w.KH, w.KW, w.StrideH, w.StrideW).Int4(w.DilationH, w.DilationW, w.Top, w.Left).Int(w.Bottom, w.Right, int(n.Reduce)).Float(n.Power)
	case model.OpReduceChannels, model.OpLayerNorm, model.OpSoftmax, model.OpLRN:
		kind, alpha := 0, n.Alpha // as apply_across numbers them
		switch n.Op {
		case model.OpLayerNorm:
			kind, alpha = 1, n.Eps
		case model.OpSoftmax:
			kind = 2
		case model.OpLRN:
			kind = 3
		}
		args.Ring(dst).Int(y0, kind, int(n.Reduce), n.Size).Float(alpha).Float(n.Beta).Float(n.Power).Buffer(params)
		return a.launch("apply_across", args, dst.W, 1, y1-y0)
	case model.OpRearrange:
		kernel = "rearrange"
		args.Ring(dst).Int(y0).Buffer(params)
	case model.OpMatMul:
		kernel, side = "matmul", 8
		args.Ring(src[1]).Ring(dst).Int(y0)
	case model.OpResize:
		kernel = "resize"
		args.Ring(dst).Int(y0, mostTaps(s.Rows), mostTaps(s.Columns)).Float(n.Resize.Outside).Buffer(params)
	default:
		return fmt.Errorf("ops: step %s: no kernel for %s", s.Name, n.Op)
	}
	return a.launch("apply_"+kernel, args, (dst.W+side-1)/side, dst.C, y1-y0)
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
	local[0] = min(columns(a.caps), items[0])
	if len(items) == 3 {
		local[1] = channels(a.caps, local[0], items[1])
	}
	items[0] = (items[0] + local[0] - 1) / local[0] * local[0]
	return args.Launch(a.q, a.all[name], items, local)
}
