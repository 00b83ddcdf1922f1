package exec

import (
	"slices"

	"enhance/conv"
	"enhance/conv/octets"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
)

// storeOctets has p store activations as octets where convolutions of octets are the choice on a device with caps.
// Convolutions of codes make these themselves where all can.
func (o *Options) storeOctets(p *fuse.Program, caps conv.Caps) {
	if !caps.Octets || o.Precision != planar.FP16 {
		return
	}
	can := func(p *fuse.Program, i int, out bool) bool {
		if s := &p.Steps[i]; s.Integer() && !(octets.SlopeSuits(s.Act, s.Slope) && (s.Inner == nil || octets.SlopeSuits(s.Inner.Act, s.Inner.Slope))) {
			return false
		}
		return o.mayBe(p, i, caps, func(s *conv.Shape) { s.Octets, s.OctetsOut = true, out })
	}
	if q := p.CodesInside(func(q *fuse.Program, i int) bool { return can(q, i, true) }); q != nil {
		if q.StoreOctets(func(i int, out bool) bool { return can(q, i, out) }); q.CodesOfOctets() {
			*p = *q
			return
		}
	}
	p.StoreOctets(func(i int, out bool) bool { return can(p, i, out) })
}

// storePairs does the same with pairs of bfloat16. The source of convolutions that read planes is split.
func (o *Options) storePairs(p *fuse.Program, caps conv.Caps) {
	if (caps.Tiles || caps.Pairs) && o.BF16 && o.Precision == planar.FP32 {
		p.StorePairs(func(i int, out bool) bool {
			return o.mayBe(p, i, caps, func(s *conv.Shape) { s.Pairs, s.PairsOut = true, out })
		})
	}
}

// mayBe reports whether there is a convolution for step i of p where its shape is changed by store: that asked
// for, or the rule's. Beside norms the rule takes convolutions that take these along.
func (o *Options) mayBe(p *fuse.Program, i int, caps conv.Caps, store func(*conv.Shape)) bool {
	s := &p.Steps[i]
	shape := ShapeOf(p, s)
	store(&shape)
	if o.Algo != nil {
		if algo := o.Algo(s.Name, shape); algo != nil {
			_, err := algo.New(caps, shape, o.Precision)
			return err == nil
		}
	}
	c, err := AutoAlgo(caps, shape, o.arithmetic())
	return err == nil && (!besideNorm(p, i) || c.takesNorm())
}

// makesOctets reports whether a step but convolutions reads or writes octets.
func (j *Job) makesOctets() bool {
	return slices.ContainsFunc(j.Program.Steps, func(s fuse.Step) bool { return ops.MakesOctets(j.Program, &s) })
}

// makesPairs reports whether a step but convolutions writes pairs or split samples.
func (j *Job) makesPairs() bool {
	return slices.ContainsFunc(j.Program.Steps, func(s fuse.Step) bool { return ops.MakesPairs(j.Program, &s) })
}

// UnpacksOctets reports whether octets are made of stored samples.
func (j *Job) UnpacksOctets() bool {
	return slices.ContainsFunc(j.Program.Steps, func(s fuse.Step) bool {
		return s.Kind == fuse.Unpack && j.Program.Tensors[s.Dst.Tensor].Storage == fuse.Octets
	})
}
