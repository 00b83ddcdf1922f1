package fuse

import (
	"slices"

	"enhance/model"
)

// joinSums makes one step of a sum and what it sums, where that is an enlargement that nobody else
// reads: of bilinear enlargement, which takes the other operand as its residual, and of a depth to
// space and the same picture's enlargement by as much, nearest samples, which end networks that
// enlarge. That step is the depth to space with the enlargement's source as its second operand.
func (p *Program) joinSums() {
	makers := make([]int, len(p.Tensors))
	for t := range makers {
		makers[t] = None
	}
	gone := make([]bool, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind == Pointwise && s.Affine == None && s.Act == NoAct && s.Res.Tensor != None && s.Res.Tensor != s.Src[0].Tensor {
			a, b := p.soleMaker(makers, i, s.Src[0]), p.soleMaker(makers, i, s.Res)
			switch {
			case a != None && p.Steps[a].Kind == Upsample:
				p.joinUpsample(s, a, s.Res)
				gone[a] = true
			case b != None && p.Steps[b].Kind == Upsample:
				p.joinUpsample(s, b, s.Src[0])
				gone[b] = true
			case a != None && b != None && p.joinShuffle(s, a, b):
				gone[a], gone[b] = true, true
			}
		}
		makers[s.Dst.Tensor] = i
	}
	if !slices.Contains(gone, true) {
		return
	}
	steps := p.Steps[:0]
	for i, s := range p.Steps {
		if !gone[i] {
			steps = append(steps, s)
		}
	}
	p.Steps = steps
	p.dropUnused()
}

// joinUpsample makes sum s the enlargement, step a, with residual res.
func (p *Program) joinUpsample(s *Step, a int, res View) {
	s.Kind, s.AlignCorners, s.Src, s.Res = Upsample, p.Steps[a].AlignCorners, p.Steps[a].Src, res
}

// joinShuffle makes sum s one step with steps a and b, if these are a depth to space and a nearest
// enlargement, and reports whether they are.
func (p *Program) joinShuffle(s *Step, a, b int) bool {
	d, e := &p.Steps[a], &p.Steps[b]
	if d.Kind != Apply || e.Kind != Apply {
		return false
	}
	if d.Node.Op != model.OpDepthToSpace {
		d, e = e, d
	}
	if !p.repeats(e, d) {
		return false
	}
	s.Kind, s.Node, s.Src, s.Res = Apply, d.Node, []View{d.Src[0], e.Src[0]}, View{Tensor: None}
	return true
}

// soleMaker is the enlargement or Apply step that makes all of tensor v, if v is all of it and step
// reader alone reads it; else None.
func (p *Program) soleMaker(makers []int, reader int, v View) int {
	m := makers[v.Tensor]
	if m == None || p.Steps[m].Kind != Apply && p.Steps[m].Kind != Upsample || p.Steps[m].Res.Tensor != None || p.Steps[m].Dst != v ||
		v != p.whole(v.Tensor) || v.Tensor == p.Output {
		return None
	}
	for i := range p.Steps {
		if i != reader && slices.Contains(p.Steps[i].Reads(), v.Tensor) {
			return None
		}
	}
	return m
}

// repeats reports whether step e repeats every sample of planes like those of the depth to space d as
// often as that enlarges them.
func (p *Program) repeats(e, d *Step) bool {
	if d.Node.Op != model.OpDepthToSpace || e.Node.Op != model.OpResize || e.Src[0] == d.Src[0] {
		return false
	}
	a, b := p.Tensors[e.Src[0].Tensor], p.Tensors[d.Src[0].Tensor]
	return a.H == b.H && a.W == b.W && repeated(e.Rows, d.Node.Factor) && repeated(e.Columns, d.Node.Factor)
}

// repeated reports whether taps take every place n times, and nothing beside.
func repeated(taps []model.Tap, n int) bool {
	for i, t := range taps {
		sum := 0.0
		for k, weight := range t.Weight {
			if weight != 0 && t.At[k] != i/n {
				return false
			}
			sum += weight
		}
		if sum != 1 || t.Outside {
			return false
		}
	}
	return true
}
