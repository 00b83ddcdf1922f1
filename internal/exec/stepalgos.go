package exec

import (
	"enhance/conv"
	"enhance/internal/fuse"
)

// This file gives every convolution of a job its algorithm, by what was asked for, the tuning table and
// the rules of choose.go.

// chooseAlgos gives every convolution its algorithm.
func (j *Job) chooseAlgos() error {
	p := j.Program
	exact := beforeNorms(p)
	j.steps = make([]jobStep, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind != fuse.Conv {
			continue
		}
		j.steps[i].exact = exact[i]
		if err := j.chooseAlgo(i, ShapeOf(p, s)); err != nil {
			return err
		}
	}
	return nil
}

// chooseAlgo gives step i its algorithm: the one asked for, or else that of the
// tuning table, or else the automatic choice.
func (j *Job) chooseAlgo(i int, shape conv.Shape) (err error) {
	step := &j.steps[i]
	var c Choice
	if j.opt.Algo != nil && (j.Program.Steps[i].Selectable() || shape.Octets) {
		c.Algo, c.Why = j.opt.Algo(j.Program.Steps[i].Name, shape), "asked for"
	}
	asked := c.Algo != nil
	if asked {
		c.Impl, err = c.Algo.New(j.caps, shape, j.opt.Precision)
		j.choices.askFor(c.Algo.Name())
	} else {
		c, err = j.automatic(i, shape)
	}
	if err != nil {
		e := refused(j.caps, j.opt.Precision, j.Program.Steps[i].Name, shape, c.Algo.Name(), err)
		e.Asked = asked
		return e
	}
	step.conv, step.algo, step.why = c.Impl, c.Algo.Name(), c.Why
	return nil
}

// automatic is the tuning table's choice for step i, or else the rule's.
func (j *Job) automatic(i int, shape conv.Shape) (Choice, error) {
	a, beside := j.arithmetic(i), besideNorm(j.Program, i)
	if a == j.arith && !beside {
		if c, ok := j.tuned(shape); ok {
			return c, nil
		}
	}
	c, err := AutoAlgo(j.caps, shape, a)
	switch {
	case err != nil:
	case a != j.arith:
		c.Why += "; before a norm, so no tf32"
		return c, nil
	case beside && c.takesNorm():
		return c, nil
	case beside:
		if t, ok := j.tuned(shape); ok {
			return t, nil
		}
	}
	j.choices.fromRule++
	return c, err
}

// besideNorm reports whether convolution i of a program makes what an instance norm takes
// statistics of, or reads what one made.
func besideNorm(p *fuse.Program, i int) bool {
	s := &p.Steps[i]
	for k := range p.Steps {
		n := &p.Steps[k]
		if n.Kind == fuse.RowStats && n.Src[0] == s.Dst {
			return true
		}
		for _, v := range s.Src {
			if n.Kind == fuse.Pointwise && n.Affine != fuse.None && n.Dst.Tensor == v.Tensor {
				return true
			}
		}
	}
	return false
}

// takesNorm reports whether a choice may take a norm beside it along, its statistics in
// the store or its scales in the load. Tuning measures and checks plain convolutions:
// another choice would run in a form that was not checked, or lose what that form saves.
// So it leaves these alone.
func (c Choice) takesNorm() bool {
	_, scales := c.Impl.(conv.Scaling)
	_, sums := c.Impl.(conv.Summing)
	return scales || sums
}

// ShapeOf is the shape of convolution step s of program p.
func ShapeOf(p *fuse.Program, s *fuse.Step) conv.Shape {
	t := p.Tensors[s.Dst.Tensor]
	shape := conv.Shape{K: s.K, OutC: s.Dst.C, Act: s.Act, ResFirst: s.ResFirst, H: t.H, W: t.W, Pad: p.Pad}
	for _, v := range s.Src {
		shape.SrcC = append(shape.SrcC, v.C)
	}
	src := p.Tensors[s.Src[0].Tensor]
	shape.Codes, shape.Store = s.Integer(), s.Store != nil
	shape.Octets, shape.OctetsOut = src.Storage == fuse.Octets, t.Storage == fuse.Octets
	shape.NoResidual = shape.Octets && s.Res.Tensor == fuse.None // which algorithms of octets make use of
	shape.Split, shape.PairsOut = src.Storage == fuse.Split, t.Storage == fuse.Pairs
	shape.Pairs = src.Storage == fuse.Pairs || shape.Split
	if in := s.Inner; in != nil {
		shape.Inner = &conv.Inner{K: in.K, OutC: in.C, Act: in.Act}
	}
	if s.Windowed() {
		shape.Window = &conv.Window{Window: s.Node.Window, Groups: s.Node.Groups, SrcH: src.H, SrcW: src.W, Pad: s.Node.Pad}
	}
	return shape
}

// Algo names the algorithm of step i, "" if it is no convolution.
func (j *Job) Algo(i int) string { return j.steps[i].algo }

// Why says why step i has its algorithm, "" if it is no convolution.
func (j *Job) Why(i int) string { return j.steps[i].why }
