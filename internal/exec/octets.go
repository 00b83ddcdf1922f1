package exec

import (
	"slices"

	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
)

// storeOctets has activations stored as octets where a convolution of octets is the choice.
func (j *Job) storeOctets() {
	if j.caps.Octets && j.opt.Precision == planar.FP16 {
		p := j.Program
		p.StoreOctets(func(i int, out bool) bool { return j.mayBeOctets(p, i, out) })
	}
}

// mayBeOctets reports whether there is a convolution of octets for step i of p, to octets or to planes: that asked
// for, or the rule's. Beside norms other families do better, which take these along.
func (j *Job) mayBeOctets(p *fuse.Program, i int, out bool) bool {
	s := &p.Steps[i]
	if besideNorm(p, i) {
		return false
	}
	shape := ShapeOf(p, s)
	shape.Octets, shape.OctetsOut = true, out
	if j.opt.Algo != nil {
		if algo := j.opt.Algo(s.Name, shape); algo != nil {
			_, err := algo.New(j.caps, shape, j.opt.Precision)
			return err == nil
		}
	}
	_, err := AutoAlgo(j.caps, shape, j.arith)
	return err == nil
}

// makesOctets reports whether a step but convolutions reads or writes octets.
func (j *Job) makesOctets() bool {
	return slices.ContainsFunc(j.Program.Steps, func(s fuse.Step) bool { return ops.MakesOctets(j.Program, &s) })
}

// unpacksOctets reports whether octets are made of stored samples.
func (j *Job) unpacksOctets() bool {
	return slices.ContainsFunc(j.Program.Steps, func(s fuse.Step) bool {
		return s.Kind == fuse.Unpack && j.Program.Tensors[s.Dst.Tensor].Storage == fuse.Octets
	})
}
