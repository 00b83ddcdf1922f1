package fuse

import (
	"slices"

	"enhance/model"
)

// Absorb lets convolutions normalise what they read: a pointwise step that applies
// scales and an activation, and nothing else, to a tensor that one convolution
// alone reads, as its only source, becomes part of that convolution if can allows
// it. (Several would each do the work again; and where convolutions are padded with zeros,
// these are zeros behind the norm, which it would change.) It returns the program without such
// steps, and for each of its steps which one of p it was.
func (p *Program) Absorb(can func(step int) bool) (q *Program, was []int) {
	gone := make([]bool, len(p.Steps))
	into := make(map[int]*Step) // convolution -> the step it takes in
	for i := range p.Steps {
		if r := p.absorber(i); r != None && !(p.Pad == model.PadZero && p.Steps[r].K > 1) && can(r) {
			gone[i], into[r] = true, &p.Steps[i]
		}
	}
	q = &Program{Tensors: p.Tensors, Input: p.Input, Output: p.Output, Pad: p.Pad}
	for i, s := range p.Steps {
		if gone[i] {
			continue
		}
		if n := into[i]; n != nil {
			src := s.Src[0]
			src.Tensor = n.Src[0].Tensor
			s.Src = []View{src}
			s.Affine, s.Pre, s.PreSlope = n.Affine, n.Act, n.Slope
		}
		q.Steps, was = append(q.Steps, s), append(was, i)
	}
	q.dropUnused()
	return q, was
}

// absorber is the convolution that can take in step i, None if it stays.
func (p *Program) absorber(i int) int {
	n := &p.Steps[i]
	t := n.Dst.Tensor
	if n.Kind != Pointwise || n.Affine == None || n.Res.Tensor != None || n.Src[0] != p.whole(n.Src[0].Tensor) || n.Dst != p.whole(t) || t == p.Output {
		return None
	}
	reader := None
	for r := range p.Steps {
		s := &p.Steps[r]
		switch {
		case !slices.Contains(s.Reads(), t):
		case reader != None || s.Kind != Conv || len(s.Src) != 1 || s.Res.Tensor == t || s.Affine != None:
			return None
		default:
			reader = r
		}
	}
	return reader
}

func (p *Program) whole(t int) View { return View{t, 0, p.Tensors[t].C} }

// dropUnused removes tensors that no step reads or writes.
func (p *Program) dropUnused() {
	used := make([]bool, len(p.Tensors))
	used[p.Input], used[p.Output] = true, true
	for i := range p.Steps {
		used[p.Steps[i].Dst.Tensor] = true
		for _, t := range p.Steps[i].Reads() {
			used[t] = true
		}
	}
	at := make([]int, len(p.Tensors))
	var kept []Tensor
	for t, u := range used {
		if u {
			at[t] = len(kept)
			kept = append(kept, p.Tensors[t])
		}
	}
	move := func(t int) int {
		if t == None {
			return None
		}
		return at[t]
	}
	p.Tensors, p.Input, p.Output = kept, at[p.Input], at[p.Output]
	for i := range p.Steps {
		s := &p.Steps[i]
		s.Src = slices.Clone(s.Src)
		for k := range s.Src {
			s.Src[k].Tensor = at[s.Src[k].Tensor]
		}
		s.Dst.Tensor, s.Res.Tensor, s.Affine = at[s.Dst.Tensor], move(s.Res.Tensor), move(s.Affine)
	}
}
