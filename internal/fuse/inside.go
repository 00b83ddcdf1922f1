package fuse

import (
	"slices"
	"strings"

	"enhance/model"
)

// Inner is a convolution of codes before another one in the same step. The codes between are not stored.
type Inner struct {
	K, C                  int // kernel side, outputs
	Weight, Bias, Factors string
	From                  *model.Node // the OpQuantize of its source; the step's From is that of the codes between
	Act                   Act
	Slope                 float32
}

// CodesInside gives the program in which convolutions of codes make these of samples themselves, so that no
// codes are stored, and in which two of them behind each other are one step (Step.Inner) where nothing else
// reads what is between. Can reports whether there is an algorithm for a step. The result is nil where not all
// convolutions of codes can be so, and where there are none.
func (p *Program) CodesInside(can func(p *Program, step int) bool) *Program {
	q := p.codesOfSamples()
	if q == nil {
		return nil
	}
	for i := 0; i < len(q.Steps); i++ {
		if merged, at := q.withInner(i); merged != nil && can(merged, at) {
			q = merged
			i-- // the steps behind have moved up
		}
	}
	for i := range q.Steps {
		if q.Steps[i].Integer() && !can(q, i) {
			return nil
		}
	}
	return q
}

// codesOfSamples is p without steps that make codes and without tensors of codes, nil if there are others than those between
// convolutions.
func (p *Program) codesOfSamples() *Program {
	q := &Program{Tensors: slices.Clone(p.Tensors), Input: p.Input, Output: p.Output, Pad: p.Pad}
	samples := make(map[int]View) // tensor of codes -> what they are made of
	integers := 0
	for _, s := range p.Steps {
		switch {
		case s.Kind == Apply && s.Node.Op == model.OpQuantize && p.Tensors[s.Dst.Tensor].Storage == Codes:
			if s.Dst != p.whole(s.Dst.Tensor) || s.Src[0] != p.whole(s.Src[0].Tensor) || p.Tensors[s.Src[0].Tensor].Storage != Activation {
				return nil
			}
			samples[s.Dst.Tensor] = s.Src[0]
			continue
		case s.Integer():
			integers++
			if v, ok := samples[s.Src[0].Tensor]; ok {
				s.Src = []View{v}
			}
			if s.Store != nil {
				t := &q.Tensors[s.Dst.Tensor]
				t.Name, t.Storage, s.Store = strings.TrimSuffix(t.Name, ".codes"), Activation, nil
			}
		case slices.ContainsFunc(s.Reads(), func(t int) bool { return p.Tensors[t].Storage == Codes }):
			return nil
		}
		q.Steps = append(q.Steps, s)
	}
	if integers == 0 {
		return nil
	}
	q.dropUnused()
	return q
}

// withInner is p with step i as the inner convolution of the one that reads its result, and the place of that;
// nil if it cannot be one.
func (p *Program) withInner(i int) (*Program, int) {
	a := &p.Steps[i]
	t := a.Dst.Tensor
	if !a.Integer() || a.Inner != nil || a.Res.Tensor != None || a.Slopes != "" || t == p.Output || a.Dst != p.whole(t) {
		return nil, 0
	}
	reader := None
	for k := range p.Steps {
		s := &p.Steps[k]
		switch {
		case k != i && s.Dst.Tensor == t:
			return nil, 0
		case !slices.Contains(s.Reads(), t):
		case reader != None || !s.Integer() || s.Inner != nil || s.Res.Tensor == t:
			return nil, 0
		default:
			reader = k
		}
	}
	if reader == None {
		return nil, 0
	}
	q := &Program{Tensors: slices.Clone(p.Tensors), Steps: slices.Clone(p.Steps), Input: p.Input, Output: p.Output, Pad: p.Pad}
	b := &q.Steps[reader]
	b.Inner = &Inner{K: a.K, C: a.Dst.C, Weight: a.Weight, Bias: a.Bias, Factors: a.Factors, From: a.From, Act: a.Act, Slope: a.Slope}
	b.Name, b.Src = a.Name+"+"+b.Name, a.Src
	q.Steps = slices.Delete(q.Steps, i, i+1)
	q.dropUnused()
	return q, reader - 1
}

// CodesOfOctets reports whether all convolutions of codes read and write octets.
func (p *Program) CodesOfOctets() bool {
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Integer() && (p.Tensors[s.Src[0].Tensor].Storage != Octets || p.Tensors[s.Dst.Tensor].Storage != Octets) {
			return false
		}
	}
	return true
}
