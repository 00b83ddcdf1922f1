package exec

import (
	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/ops"
	"enhance/planar"
)

// compile builds a program for each distinct convolution and one for all else.
// Programs are as small as that so that they compile side by side, and are found
// in the cache by other networks and after tuning.
func (e *Engine) compile() error {
	sources := []string{planar.Source(e.opt.Precision) + ops.Source(e.caps)}
	place, of := map[string]int{}, make([]int, len(e.convs))
	for i, c := range e.convs {
		if c == nil {
			continue
		}
		src := conv.ProgramSource(c, e.opt.Precision)
		at, ok := place[src]
		if !ok {
			at = len(sources)
			place[src], sources = at, append(sources, src)
		}
		of[i] = at
	}
	var err error
	if e.progs, err = e.ctx.BuildAll(sources, "-cl-std=CL1.2"); err != nil {
		return err
	}
	if e.ops, err = ops.New(e.progs[0], e.q, e.caps); err != nil {
		return err
	}
	return e.makeKernels(of)
}

// makeKernels finds the kernels of every step in the program of its own; steps of
// one program share them.
func (e *Engine) makeKernels(of []int) error {
	type place struct {
		prog int
		name string
	}
	shared := map[place]*clrt.Kernel{}
	e.kernels = make([][]*clrt.Kernel, len(e.convs))
	for i, c := range e.convs {
		if c == nil {
			continue
		}
		for _, k := range c.Kernels() {
			at := place{of[i], k.Name}
			if shared[at] == nil {
				kernel, err := e.progs[of[i]].Kernel(k.Name)
				if err != nil {
					return err
				}
				shared[at] = kernel
			}
			e.kernels[i] = append(e.kernels[i], shared[at])
		}
	}
	return nil
}
