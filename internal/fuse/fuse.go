package fuse

import "enhance/model"

// Fuse lowers graph g for an input of h×w packed samples.
func Fuse(g *model.Graph, h, w int) (*Program, error) {
	shapes, err := g.Shapes(h, w)
	if err != nil {
		return nil, err
	}
	f := &fuser{g: g, shapes: shapes, p: &Program{Pad: padding(g)}, val: make([][]View, len(g.Nodes)), users: make([][]int, len(g.Nodes)),
		joins: map[int]int{}, stats: map[int]int{}, unary: map[string]int{}, codes: map[int]int{}}
	needed := g.Needed()
	needed[0] = true // the host fills it even if the result is a constant
	for i, n := range g.Nodes {
		if !needed[i] {
			continue
		}
		for _, in := range n.In {
			f.users[in] = append(f.users[in], i)
		}
	}
	f.users[g.Out] = append(f.users[g.Out], -1) // the host reads it: never absorbed away
	f.planTails()
	for i := range g.Nodes {
		if !needed[i] {
			continue
		}
		if err := f.lower(i); err != nil {
			return nil, err
		}
	}
	f.p.Input = f.val[0][0].Tensor
	f.p.Output = f.output()
	f.p.joinSums()
	f.p.storeCodes()
	return f.p, nil
}

// padding is how most of a graph's convolutions are padded, which count by their outputs and taps, those of codes
// before all others.
func padding(g *model.Graph) model.PadMode {
	var count [model.PadConstant + 1]int
	for _, n := range g.Nodes {
		if n.Op == model.OpConv && n.K > 1 {
			count[n.Pad] += n.C * n.K * n.K
		}
		if n.Op == model.OpQuantConv && n.K > 1 { // which cannot be padded otherwise
			count[n.Pad] += n.C * n.K * n.K << 20
		}
		if w := n.Window; n.Op == model.OpConv && n.K == 0 && max(w.Left, w.Right) > 0 {
			count[n.Pad] += n.C * w.KH * w.KW / n.Groups
		}
	}
	most := model.PadReflect
	for pad := range model.PadConstant {
		if count[pad] > count[most] {
			most = pad
		}
	}
	return most
}

// fuser holds the state of one lowering. val[i] is where node i's value is
// stored; nodes absorbed into a step have none of their own.
type fuser struct {
	g      *model.Graph
	shapes []model.Shape
	p      *Program
	val    [][]View
	users  [][]int
	tails  []*tail        // by producing node: what its step takes along
	joins  map[int]int    // stored concatenation -> the tensor its first branch made
	unary  map[string]int // operation and operand -> result
	stats  map[int]int    // tensor -> its statistics
	codes  map[int]int    // OpQuantize -> its tensor of codes
	taken  []bool         // by node: a convolution's tail makes its value
}

// tail is the chain of nodes behind a convolution that its step absorbs.
type tail struct {
	norm   int // instance norm node or -1
	act    Act
	slope  float32
	slopes string // of PReLU
	last   int    // last node of the conv's own chain
	join   int    // stored concatenation the chain ends in, or -1
	slot   int    // first channel inside join
	add    int    // residual add behind last (or behind join), or -1
	res    int    // the node added
	behind int    // activation behind add, or -1
}

func (f *fuser) only(i int) int {
	if len(f.users[i]) == 1 {
		return f.users[i][0]
	}
	return -1
}

// planTails decides what every convolution absorbs: first its own chain, then
// the concatenations all of whose inputs are such chains, then residual adds.
func (f *fuser) planTails() {
	g := f.g
	f.tails = make([]*tail, len(g.Nodes))
	chainEnd := map[int]int{} // last node of a chain -> its conv
	for i, n := range g.Nodes {
		if !n.Op.Convolves() {
			continue
		}
		t := &tail{norm: -1, last: i, join: -1, add: -1, res: -1, behind: -1}
		if u := f.only(t.last); u >= 0 && g.Nodes[u].Op == model.OpInstanceNorm {
			t.norm, t.last = u, u
		}
		if u := f.only(t.last); u >= 0 {
			act, slope, slopes := activation(&g.Nodes[u])
			if act != NoAct && (t.norm < 0 || act <= Sigmoid) {
				t.act, t.slope, t.slopes, t.last = act, slope, slopes, u
			}
		}
		f.tails[i] = t
		chainEnd[t.last] = i
	}
	for i, n := range g.Nodes {
		if n.Op == model.OpConcat {
			f.planJoin(i, chainEnd)
		}
	}
	for i, n := range g.Nodes {
		if n.Op == model.OpAdd {
			f.planAdd(i, chainEnd)
		}
	}
	f.taken = make([]bool, len(g.Nodes))
	for c, t := range f.tails {
		if t == nil {
			continue
		}
		for j := c; j != t.final(); {
			j = f.users[j][0]
			f.taken[j] = true
		}
	}
}

// end is the node whose value the convolution's tensor holds before residuals.
func (t *tail) end() int {
	if t.join >= 0 {
		return t.join
	}
	return t.last
}

// final is the last node of the tail.
func (t *tail) final() int {
	switch {
	case t.behind >= 0:
		return t.behind
	case t.add >= 0:
		return t.add
	}
	return t.end()
}

// planJoin marks concatenation i as stored if its inputs are conv chains that
// nobody else reads and that agree on norm and activation. A stored
// concatenation inside another one keeps a tensor of its own.
func (f *fuser) planJoin(i int, chainEnd map[int]int) {
	n := f.g.Nodes[i]
	var first *tail
	seen := map[int]bool{}
	for _, in := range n.In {
		c, ok := chainEnd[in]
		if !ok || f.g.Nodes[in].Op == model.OpConcat || f.only(in) != i || seen[c] {
			return
		}
		seen[c] = true
		t := f.tails[c]
		if first == nil {
			first = t
		}
		if (t.norm >= 0) != (first.norm >= 0) || t.act != first.act || t.slope != first.slope {
			return
		}
	}
	slot := 0
	for _, in := range n.In {
		t := f.tails[chainEnd[in]]
		t.join, t.slot = i, slot
		slot += f.shapes[in].C
	}
	chainEnd[i] = chainEnd[n.In[0]]
}

// planAdd lets the chain (or stored concatenation) that makes one operand of
// add i take the other along as its residual, if that one exists before the
// chain starts.
func (f *fuser) planAdd(i int, chainEnd map[int]int) {
	n := f.g.Nodes[i]
	for k := 1; k >= 0; k-- {
		end, other := n.In[k], n.In[1-k]
		if _, ok := chainEnd[end]; !ok || end == other || f.only(end) != i {
			continue
		}
		convs := f.convsOf(end, chainEnd)
		early := true
		for _, c := range convs {
			early = early && f.doneBefore(other, c)
		}
		if !early {
			continue
		}
		for _, c := range convs {
			f.tails[c].add, f.tails[c].res = i, other
		}
		if t := f.tails[convs[0]]; t.norm < 0 && t.join < 0 && t.act == NoAct {
			f.planActivation(t)
		}
		return
	}
}

// planActivation lets a convolution that ends in a residual add and has no activation before that take
// along the one behind it.
func (f *fuser) planActivation(t *tail) {
	if u := f.only(t.add); u >= 0 {
		if act, slope, slopes := activation(&f.g.Nodes[u]); act != NoAct {
			t.act, t.slope, t.slopes, t.behind = act, slope, slopes, u
		}
	}
}

func (f *fuser) convsOf(end int, chainEnd map[int]int) []int {
	if f.g.Nodes[end].Op != model.OpConcat {
		return []int{chainEnd[end]}
	}
	var cs []int
	for _, in := range f.g.Nodes[end].In {
		cs = append(cs, chainEnd[in])
	}
	return cs
}

// doneBefore reports whether node i's value is complete when conv c runs. Steps
// run in node order, and every value is complete once its own node is passed.
func (f *fuser) doneBefore(i, c int) bool { return i < c }

func (f *fuser) tensor(name string, st Storage, s model.Shape) int {
	f.p.Tensors = append(f.p.Tensors, Tensor{Name: name, Storage: st, Shape: s})
	return len(f.p.Tensors) - 1
}

func (f *fuser) step(s Step) {
	if s.Kind != Pointwise {
		s.Affine = None // see Absorb
	}
	f.p.Steps = append(f.p.Steps, s)
}

func (f *fuser) lower(i int) error {
	n := f.g.Nodes[i]
	if f.taken[i] {
		return nil
	}
	switch n.Op {
	case model.OpInput:
		f.val[i] = f.whole(f.tensor(n.Name, Activation, f.shapes[i]))
	case model.OpConv, model.OpQuantConv:
		return f.lowerConv(i)
	case model.OpQuantize:
		f.lowerQuantize(i)
	case model.OpDequantize:
		f.lowerDequantize(i)
	case model.OpConcat:
		for _, in := range n.In {
			f.val[i] = append(f.val[i], f.val[in]...)
		}
	case model.OpMaxPool, model.OpUpsample, model.OpLeakyReLU, model.OpSigmoid, model.OpPixelShuffle:
		f.lowerUnary(i)
	case model.OpAdd:
		return f.lowerAdd(i)
	case model.OpInstanceNorm, model.OpGroupNorm:
		f.lowerNorm(i)
	default:
		return f.lowerForeign(i)
	}
	return nil
}

func (f *fuser) whole(t int) []View { return []View{{t, 0, f.p.Tensors[t].C}} }

// output returns the tensor that holds the graph's result alone, adding a copy
// if the result is a slice, a virtual concatenation or the input itself.
func (f *fuser) output() int {
	v := f.val[f.g.Out]
	if t := v[0].Tensor; len(v) == 1 && v[0].C == f.p.Tensors[t].C && t != f.p.Input {
		return t
	}
	t := f.tensor(f.g.Nodes[f.g.Out].Name+"+", Activation, f.shapes[f.g.Out])
	f.eachView(v, t, func(src, dst View) {
		f.step(Step{Name: "copy", Kind: Pointwise, Src: []View{src}, Dst: dst, Res: View{Tensor: None}, Affine: None})
	})
	return t
}

// eachView pairs the views of a value with consecutive channels of tensor t.
func (f *fuser) eachView(v []View, t int, do func(src, dst View)) {
	c0 := 0
	for _, src := range v {
		do(src, View{t, c0, src.C})
		c0 += src.C
	}
}
