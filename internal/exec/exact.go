package exec

import (
	"enhance/conv"
	"enhance/internal/fuse"
)

// beforeNorms tells the convolutions before a network's first instance norms, by
// step: all they read comes from the input without a norm on the way, and a norm
// follows. What they pass on is a mean and small differences from it; rounding errors
// go with the whole, and a norm takes away the mean and enlarges the rest with its errors.
// In PyNET these three, of 0.2 % of the work, make five sixths of the error that
// factors of 11 bits cause (docs/tuning.md).
func beforeNorms(p *fuse.Program) []bool {
	plain := make([]bool, len(p.Tensors)) // no norm between the input and this
	plain[p.Input] = true
	found := make([]bool, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		found[i] = s.Affine == fuse.None
		for _, t := range s.Reads() {
			found[i] = found[i] && plain[t]
		}
		plain[s.Dst.Tensor] = found[i]
	}
	normed := make([]bool, len(p.Tensors)) // a norm follows
	for i := len(p.Steps) - 1; i >= 0; i-- {
		s := &p.Steps[i]
		follows := s.Kind == fuse.RowStats || normed[s.Dst.Tensor]
		found[i] = found[i] && s.Kind == fuse.Conv && follows
		for _, v := range s.Src {
			normed[v.Tensor] = normed[v.Tensor] || follows
		}
	}
	return found
}

// arithmetic is what the automatic choice for step i may use: nothing less exact than
// float32 before norms.
func (j *Job) arithmetic(i int) conv.Arithmetic {
	a := j.arith
	a.TF32 = a.TF32 && !j.steps[i].exact
	return a
}
