package fuse

import (
	"fmt"

	"enhance/model"
)

// This file lowers the operations that imported networks bring. Each becomes a step of kind
// Apply with a kernel of its own, for which this file says what rows it reads; a reduction of
// whole planes becomes numbers for every row and their merge, as norms do.

// lowerForeign emits the steps of node i.
func (f *fuser) lowerForeign(i int) error {
	n := &f.g.Nodes[i]
	switch n.Op {
	case model.OpSlice:
		f.val[i] = f.channels(n.In[0], n.First, n.C)
	case model.OpMap, model.OpPReLU, model.OpAffine, model.OpCrop, model.OpPad, model.OpPool, model.OpResize:
		f.applyEach(i, n)
	case model.OpBinary:
		if len(n.In) == 1 {
			f.applyEach(i, n)
			return nil
		}
		f.apply(i, n, f.gather(n.In[0])[0], f.gather(n.In[1])[0])
	case model.OpMatMul:
		f.apply(i, n, f.gather(n.In[0])[0], f.gather(n.In[1])[0])
	case model.OpRearrange:
		f.apply(i, n, f.gather(n.In[0])[0])
		s := &f.p.Steps[len(f.p.Steps)-1]
		var err error
		if s.Moves, err = n.Rearrange.Moves(f.shapes[n.In[0]]); err != nil {
			return fmt.Errorf("fuse: node %s: %w", n.Name, err)
		}
		s.BlockIn, s.BlockOut = n.Rearrange.Blocks(f.shapes[n.In[0]])
	case model.OpDepthToSpace, model.OpSpaceToDepth, model.OpReduceChannels, model.OpLayerNorm, model.OpLRN, model.OpSoftmax:
		f.apply(i, n, f.gather(n.In[0])[0])
	case model.OpGlobalPool:
		f.lowerGlobalPool(i, n)
	default:
		return fmt.Errorf("fuse: node %s: operation %s is not known", n.Name, n.Op)
	}
	return nil
}

// channels are the views of channels [first, first+c) of node in's value.
func (f *fuser) channels(in, first, c int) (views []View) {
	at := 0
	for _, v := range f.val[in] {
		from, to := max(first, at), min(first+c, at+v.C)
		if from < to {
			views = append(views, View{v.Tensor, v.C0 + from - at, to - from})
		}
		at += v.C
	}
	return views
}

// apply emits one step for node i, which n describes.
func (f *fuser) apply(i int, n *model.Node, src ...View) {
	t := f.tensor(n.Name, Activation, f.shapes[i])
	f.step(Step{Name: n.Name, Kind: Apply, Node: n, Src: src, Dst: f.whole(t)[0], Res: View{Tensor: None}})
	f.val[i] = f.whole(t)
}

// applyEach emits a step for every stored part of the operand of node i, whose channels do
// not depend on each other.
func (f *fuser) applyEach(i int, n *model.Node) {
	t := f.tensor(n.Name, Activation, f.shapes[i])
	s := Step{Name: n.Name, Kind: Apply, Node: n, Res: View{Tensor: None}}
	if r, from, to := &n.Resize, f.shapes[n.In[0]], f.shapes[i]; n.Op == model.OpResize {
		s.Rows, s.Columns = r.Taps(from.H, to.H, r.NumH, r.DenH, false), r.Taps(from.W, to.W, r.NumW, r.DenW, true)
	}
	f.eachView(f.val[n.In[0]], t, func(src, dst View) {
		s.Src, s.Dst = []View{src}, dst
		f.step(s)
	})
	f.val[i] = f.whole(t)
}

func (f *fuser) lowerGlobalPool(i int, n *model.Node) {
	v := f.gather(n.In[0])[0]
	rows := f.tensor(n.Name+".rows", Stats, f.shapes[n.In[0]])
	t := f.tensor(n.Name, Activation, f.shapes[i])
	f.step(Step{Name: n.Name + ".rows", Kind: RowReduce, Node: n, Src: []View{v}, Dst: f.whole(rows)[0], Res: View{Tensor: None}})
	f.step(Step{Name: n.Name, Kind: Merge, Node: n, Src: f.whole(rows), Dst: f.whole(t)[0], Res: View{Tensor: None}})
	f.val[i] = f.whole(t)
}

// window is node n of a convolution as one by a window, nil if it is square, of stride 1 and
// padded as the program is.
func (f *fuser) window(n *model.Node) *model.Node {
	switch {
	case n.Op == model.OpQuantConv:
		return nil
	case n.K == 0:
		return n
	case n.K == 1 || n.Pad == f.p.Pad:
		return nil
	}
	w, r := *n, n.K/2
	w.K, w.Groups = 0, 1
	w.Window = model.Window{KH: n.K, KW: n.K, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Top: r, Left: r, Bottom: r, Right: r}
	return &w
}

// activation is what node n applies to every sample, as far as convolutions take it along.
func activation(n *model.Node) (act Act, slope float32, slopes string) {
	switch n.Op {
	case model.OpLeakyReLU:
		return LeakyReLU, n.Slope, ""
	case model.OpSigmoid:
		return Sigmoid, 0, ""
	case model.OpPReLU:
		return PReLU, 0, n.Weight
	case model.OpMap:
		switch {
		case n.Func == model.FuncClip && n.Alpha == 0:
			return Clipped, n.Beta, ""
		case n.Func == model.FuncHardSwish:
			return HardSwish, 0, ""
		case n.Func == model.FuncSiLU && n.Alpha == 1:
			return SiLU, 0, ""
		case n.Func == model.FuncGELU:
			return GELU, 0, ""
		case n.Func == model.FuncTanh:
			return Tanh, 0, ""
		}
	}
	return NoAct, 0, ""
}

// applyNeed is srcNeed of steps of kind Apply and of convolutions by a window, for a source of
// h rows.
func applyNeed(s *Step, h, end int) int {
	n, w := s.Node, &s.Node.Window
	switch n.Op {
	case model.OpBinary:
		if h == 1 && end > 0 {
			return 1
		}
	case model.OpCrop:
		return (end-1)*w.StrideH + w.Top + 1
	case model.OpPad:
		return padNeed(end-w.Top, h, end, n.Pad, w)
	case model.OpConv, model.OpPool:
		return padNeed((end-1)*w.StrideH-w.Top+(w.KH-1)*w.DilationH+1, h, end, n.Pad, w)
	case model.OpDepthToSpace:
		return floorDiv(end-1, n.Factor) + 1
	case model.OpSpaceToDepth:
		return end * n.Factor
	case model.OpRearrange:
		return (floorDiv(end-1, s.BlockOut) + 1) * s.BlockIn
	case model.OpResize:
		if end <= 0 {
			return floorDiv(end*n.Resize.DenH, n.Resize.NumH)
		}
		t := &s.Rows[min(end, len(s.Rows))-1]
		return t.At[len(t.At)-1] + 1
	}
	return end
}

// padNeed adds to a need what padding reads at the top. Pools, whose pads count for nothing, are
// taken for reflected, which is more than they read.
func padNeed(need, h, end int, pad model.PadMode, w *model.Window) int {
	if end <= 0 {
		return need
	}
	if pad == model.PadReflect && max(w.Top, w.Bottom) >= h {
		return h
	}
	least := 1 // the edge, or what a kernel may load and not use
	if pad == model.PadReflect {
		least = w.Top + 1
	}
	return max(need, least)
}

// applyOldest is srcOldest of the same.
func applyOldest(s *Step, h, begin int) int {
	n, w := s.Node, &s.Node.Window
	switch n.Op {
	case model.OpBinary:
		if h == 1 {
			return 0
		}
	case model.OpCrop:
		return begin*w.StrideH + w.Top
	case model.OpPad:
		return padOldest(begin-w.Top, h, n.Pad, w)
	case model.OpConv, model.OpPool:
		return padOldest(begin*w.StrideH-w.Top, h, n.Pad, w)
	case model.OpDepthToSpace:
		return begin / n.Factor
	case model.OpSpaceToDepth:
		return begin * n.Factor
	case model.OpRearrange:
		return begin / s.BlockOut * s.BlockIn
	case model.OpResize:
		return s.Rows[begin].At[0]
	}
	return begin
}

// padOldest is the oldest row that is still read, where that would be row oldest without
// padding at the bottom.
func padOldest(oldest, h int, pad model.PadMode, w *model.Window) int {
	last := h - 1
	if pad == model.PadReflect {
		last = max(h-1-w.Bottom, 0)
		if w.Top >= h {
			last = 0
		}
	}
	return min(oldest, last)
}

func floorDiv(a, b int) int {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}
