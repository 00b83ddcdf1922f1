package exec

import (
	"slices"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
)

// storeOctets has p store activations as octets where convolutions of octets are the choice on a device with caps.
func (o *Options) storeOctets(p *fuse.Program, caps conv.Caps) {
	if caps.Octets && o.Precision == planar.FP16 {
		p.StoreOctets(func(i int, out bool) bool { return o.mayBeOctets(p, i, out, caps) })
	}
}

// mayBeOctets reports whether there is a convolution of octets for step i of p, to octets or to planes: that asked
// for, or the rule's. Beside norms the rule takes convolutions that take these along.
func (o *Options) mayBeOctets(p *fuse.Program, i int, out bool, caps conv.Caps) bool {
	s := &p.Steps[i]
	shape := ShapeOf(p, s)
	shape.Octets, shape.OctetsOut = true, out
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

// UnpacksOctets reports whether octets are made of stored samples.
func (j *Job) UnpacksOctets() bool {
	return slices.ContainsFunc(j.Program.Steps, func(s fuse.Step) bool {
		return s.Kind == fuse.Unpack && j.Program.Tensors[s.Dst.Tensor].Storage == fuse.Octets
	})
}
