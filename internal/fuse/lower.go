package fuse

import (
	"fmt"
	"slices"
	"strings"

	"enhance/model"
)

// lowerConv emits the step of convolution i with everything its tail takes
// along, and, with instance norm, the steps that finish it.
func (f *fuser) lowerConv(i int) error {
	n, t := f.g.Nodes[i], f.tails[i]
	window := f.window(&n)
	if n.Op == model.OpQuantConv {
		if n.K > 1 && n.Pad != f.p.Pad {
			return fmt.Errorf("fuse: %s is a convolution of codes that is padded otherwise than most convolutions of the network are: that is not run on devices", n.Name)
		}
	} else if len(f.val[n.In[0]]) > MaxSources || window != nil {
		f.gather(n.In[0])
	}
	end, final := t.end(), t.final()
	raw := final // what the convolution itself writes
	name := f.g.Nodes[final].Name
	if t.norm >= 0 {
		raw, name = end, f.g.Nodes[end].Name+".raw"
	}
	dst := View{C0: t.slot, C: n.C}
	if t.join < 0 {
		dst.Tensor = f.tensor(name, Activation, f.shapes[end])
	} else if made, ok := f.joins[t.join]; ok {
		dst.Tensor = made
	} else {
		dst.Tensor = f.tensor(name, Activation, f.shapes[end])
		f.joins[t.join] = dst.Tensor
	}
	s := Step{Name: f.g.Nodes[t.last].Name, Kind: Conv, Src: f.val[n.In[0]], Dst: dst, Res: View{Tensor: None},
		K: n.K, Weight: n.Weight, Bias: n.Bias}
	if window != nil {
		s.K, s.Node = 0, window
	}
	if n.Op == model.OpQuantConv {
		s.Factors, s.From = n.Scales, &f.g.Nodes[n.In[0]]
		s.Src = f.whole(f.codes[n.In[0]])
	}
	if t.norm < 0 {
		s.Act, s.Slope, s.Slopes = t.act, t.slope, t.slopes
		if t.add >= 0 {
			res, err := f.slice(t.res, t.slot, n.C)
			if err != nil {
				return err
			}
			s.Res, s.ResFirst = res, t.behind >= 0
		}
	}
	f.step(s)
	if t.norm >= 0 {
		f.rowStats(s.Name, dst)
		f.finishNorm(i, dst.Tensor, end, final)
		return nil
	}
	f.val[raw] = f.whole(dst.Tensor)
	for j := i; j != raw; j = f.users[j][0] { // absorbed nodes have no value of their own
		f.val[j] = f.val[raw]
	}
	return nil
}

// slice finds channels [c0,c0+c) of node i's value. A range that straddles
// stored tensors is gathered into one first.
func (f *fuser) slice(i, c0, c int) (View, error) {
	at := 0
	for _, v := range f.val[i] {
		if c0 >= at && c0+c <= at+v.C {
			return View{v.Tensor, v.C0 + c0 - at, c}, nil
		}
		at += v.C
	}
	if at < c0+c {
		return View{}, fmt.Errorf("fuse: %s is read before it is made", f.g.Nodes[i].Name)
	}
	v := f.gather(i)[0]
	return View{v.Tensor, v.C0 + c0, c}, nil
}

// gather copies a value spread over several tensors into one.
func (f *fuser) gather(i int) []View {
	if len(f.val[i]) == 1 {
		return f.val[i]
	}
	t := f.tensor(f.g.Nodes[i].Name+".gathered", Activation, f.shapes[i])
	f.eachView(f.val[i], t, func(src, dst View) {
		f.step(Step{Name: "gather", Kind: Pointwise, Src: []View{src}, Dst: dst, Res: View{Tensor: None}, Affine: None})
	})
	f.val[i] = f.whole(t)
	return f.val[i]
}

// rowStats emits the statistics of a slice of a tensor. It follows the step that
// makes the slice, which may so leave them behind itself (see package exec).
func (f *fuser) rowStats(name string, raw View) {
	t := f.p.Tensors[raw.Tensor]
	stats, ok := f.stats[raw.Tensor]
	if !ok {
		stats = f.tensor(strings.TrimSuffix(t.Name, ".raw")+".stats", Stats, t.Shape)
		f.stats[raw.Tensor] = stats
	}
	f.step(Step{Name: name + ".stats", Kind: RowStats, Src: []View{raw}, Dst: View{stats, raw.C0, raw.C}, Res: View{Tensor: None}})
}

// finishNorm completes conv chain i with instance norm once every slice of the
// stored value is there.
func (f *fuser) finishNorm(i, raw, end, final int) {
	t := f.tails[i]
	branches := []int{i}
	if t.join >= 0 {
		branches = branches[:0]
		for _, in := range f.g.Nodes[t.join].In {
			branches = append(branches, f.convOfChain(in))
		}
		if slices.Max(branches) != i { // steps run in node order, whatever the order of the slices
			return
		}
	}
	var norm []NormSlice
	for _, b := range branches {
		nn := f.g.Nodes[f.tails[b].norm]
		norm = append(norm, NormSlice{C0: f.tails[b].slot, C: f.g.Nodes[b].C, Weight: nn.Weight, Bias: nn.Bias, Eps: nn.Eps})
	}
	res := []View{{Tensor: None, C: f.shapes[end].C}}
	if t.add >= 0 {
		res = f.val[t.res]
	}
	f.normalise(raw, norm, t.act, t.slope, res, final)
	for _, b := range branches {
		for j := b; j != final; j = f.users[j][0] {
			f.val[j] = f.val[final]
		}
	}
}

// convOfChain walks back from the end of a conv chain to its convolution.
func (f *fuser) convOfChain(end int) int {
	for !f.g.Nodes[end].Op.Convolves() {
		end = f.g.Nodes[end].In[0]
	}
	return end
}

// normalise emits the merge of the statistics of tensor raw and the steps that
// apply them, one for each part of the residual, and stores the result as
// node's value.
func (f *fuser) normalise(raw int, norm []NormSlice, act Act, slope float32, res []View, node int) {
	name, s := f.g.Nodes[node].Name, f.p.Tensors[raw].Shape
	stats := f.stats[raw]
	scales := f.tensor(name+".scales", Scales, model.Shape{C: s.C, H: 1, W: 1})
	dst := f.tensor(name, Activation, s)
	none := View{Tensor: None}
	f.step(Step{Name: name + ".scales", Kind: Affine, Src: []View{{stats, 0, s.C}}, Dst: View{scales, 0, s.C}, Res: none, Norm: norm})
	f.eachView(res, dst, func(r, d View) {
		f.step(Step{Name: name, Kind: Pointwise, Src: []View{{raw, d.C0, d.C}}, Dst: d, Res: r, Affine: scales, Act: act, Slope: slope})
	})
	f.val[node] = f.whole(dst)
}

// lowerNorm handles a group norm, and an instance norm that no convolution absorbed.
func (f *fuser) lowerNorm(i int) {
	n := f.g.Nodes[i]
	v := f.gather(n.In[0])[0]
	raw := v.Tensor
	if v.C != f.p.Tensors[raw].C { // a slice: statistics need a tensor of their own
		raw = f.tensor(n.Name+".raw", Activation, f.shapes[i])
		f.step(Step{Name: "gather", Kind: Pointwise, Src: []View{v}, Dst: View{raw, 0, v.C}, Res: View{Tensor: None}, Affine: None})
	}
	if _, ok := f.stats[raw]; !ok { // another norm may have asked for them
		f.rowStats(n.Name, f.whole(raw)[0])
	}
	norm := NormSlice{C: f.shapes[i].C, Weight: n.Weight, Bias: n.Bias, Eps: n.Eps}
	if n.Op == model.OpGroupNorm {
		norm.Together = norm.C / n.Groups
	}
	f.normalise(raw, []NormSlice{norm}, NoAct, 0, []View{{Tensor: None, C: f.shapes[i].C}}, i)
}

// lowerUnary emits one step per stored part of the operand, unless the same was
// done to it before.
func (f *fuser) lowerUnary(i int) {
	n := f.g.Nodes[i]
	src := f.val[n.In[0]]
	if n.Op == model.OpPixelShuffle {
		src = f.gather(n.In[0])
	}
	key := fmt.Sprint(n.Op, src, n.AlignCorners, n.Slope)
	if made, ok := f.unary[key]; ok { // branches often begin alike
		f.val[i] = f.whole(made)
		return
	}
	t := f.tensor(n.Name, Activation, f.shapes[i])
	f.unary[key] = t
	proto := Step{Name: n.Name, Kind: Pointwise, Res: View{Tensor: None}, Affine: None, AlignCorners: n.AlignCorners}
	switch n.Op {
	case model.OpMaxPool:
		proto.Kind = MaxPool
	case model.OpUpsample:
		proto.Kind = Upsample
	case model.OpPixelShuffle:
		proto.Kind = Shuffle
	case model.OpLeakyReLU:
		proto.Act, proto.Slope = LeakyReLU, n.Slope
	case model.OpSigmoid:
		proto.Act = Sigmoid
	}
	if n.Op == model.OpPixelShuffle {
		proto.Src, proto.Dst = src, View{t, 0, f.shapes[i].C}
		f.step(proto)
	} else {
		f.eachView(src, t, func(s, d View) {
			st := proto
			st.Src, st.Dst = []View{s}, d
			f.step(st)
		})
	}
	f.val[i] = f.whole(t)
}

// lowerAdd handles an addition that no convolution absorbed.
func (f *fuser) lowerAdd(i int) error {
	n := f.g.Nodes[i]
	t := f.tensor(n.Name, Activation, f.shapes[i])
	c0 := 0
	for _, src := range f.val[n.In[0]] {
		res, err := f.slice(n.In[1], c0, src.C)
		if err != nil {
			return err
		}
		f.step(Step{Name: n.Name, Kind: Pointwise, Src: []View{src}, Dst: View{t, c0, src.C}, Res: res, Affine: None})
		c0 += src.C
	}
	f.val[i] = f.whole(t)
	return nil
}
