package fuse

import (
	"slices"

	"enhance/model"
)

// CodesInWord is how many channels one word of a tensor of codes holds.
const CodesInWord = 4

// lowerQuantize emits the steps that make the codes of node i: a tensor of codes for what can read
// that, and one of samples, which hold the codes' numbers, for anything else.
func (f *fuser) lowerQuantize(i int) {
	n := &f.g.Nodes[i]
	bytes, samples := false, false
	for _, u := range f.users[i] {
		reads := u >= 0 && (f.g.Nodes[u].Op == model.OpQuantConv || f.g.Nodes[u].Op == model.OpDequantize)
		bytes, samples = bytes || reads, samples || !reads
	}
	if samples {
		f.applyEach(i, n)
	}
	if !bytes {
		return
	}
	at := 0
	for _, v := range f.val[n.In[0]] {
		if at%CodesInWord != 0 { // words would hold channels of two tensors
			f.gather(n.In[0])
			break
		}
		at += v.C
	}
	t := f.tensor(n.Name+".codes", Codes, f.shapes[i])
	f.codes[i] = t
	f.eachView(f.val[n.In[0]], t, func(src, dst View) {
		f.step(Step{Name: n.Name, Kind: Apply, Node: n, Src: []View{src}, Dst: dst, Res: View{Tensor: None}})
	})
}

func (f *fuser) lowerDequantize(i int) {
	n := &f.g.Nodes[i]
	f.apply(i, n, f.whole(f.codes[n.In[0]])[0])
	f.p.Steps[len(f.p.Steps)-1].From = &f.g.Nodes[n.In[0]]
}

// storeCodes lets convolutions of codes store codes where these are all that is made of what they store.
func (p *Program) storeCodes() {
	gone := make([]bool, len(p.Steps))
	for i := range p.Steps {
		q := &p.Steps[i]
		if q.Kind != Apply || q.Node.Op != model.OpQuantize || p.Tensors[q.Dst.Tensor].Storage != Codes || q.Dst != p.whole(q.Dst.Tensor) {
			continue
		}
		from := q.Src[0].Tensor
		if from == p.Output || from == p.Input || q.Src[0] != p.whole(from) {
			continue
		}
		writer, others := None, false
		for k := range p.Steps {
			s := &p.Steps[k]
			others = others || k != i && slices.Contains(s.Reads(), from) || writer != None && s.Dst.Tensor == from
			if s.Dst.Tensor == from {
				writer = k
			}
		}
		if s := &p.Steps[writer]; !others && s.Kind == Conv && s.Integer() && s.Dst == q.Src[0] {
			s.Dst, s.Store, gone[i] = q.Dst, q.Node, true
		}
	}
	var kept []Step
	for i, s := range p.Steps {
		if !gone[i] {
			kept = append(kept, s)
		}
	}
	if len(kept) < len(p.Steps) {
		p.Steps = kept
		p.dropUnused()
	}
}
