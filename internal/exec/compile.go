package exec

import (
	"slices"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
)

// sources are a program for each distinct convolution, first one for the steps of every
// network, then one for stored samples, one for the steps of a picture and one for those of octets, if there are any, and
// last, if there are any, one for the steps of imported networks, and which of them is each step's. Programs are as small as that so that they
// compile side by side, and are found in the cache by other networks and after
// tuning.
func (j *Job) sources() (sources []string, of []int) {
	if j.made == nil {
		s := &programSources{}
		s.sources, s.of = j.makeSources()
		j.made = s
	}
	return j.made.sources, j.made.of
}

// programSources are what sources returns, kept from planning until the engine is open.
type programSources struct {
	sources []string
	of      []int
}

func (j *Job) makeSources() (sources []string, of []int) {
	sources = []string{planar.Source(j.opt.Precision, j.Program.Pad) + ops.Source(j.caps)}
	if j.TakesSamples() { // their program is the second, that of pictures the next
		sources = append(sources, planar.Source(j.opt.Precision, j.Program.Pad)+ops.SamplesSource(j.UnpacksOctets()))
	}
	if j.MakesPixels() {
		sources = append(sources, planar.Source(j.opt.Precision, j.Program.Pad)+ops.PictureSource())
	}
	if j.makesOctets() {
		sources = append(sources, planar.Source(j.opt.Precision, j.Program.Pad)+ops.OctetsSource())
	}
	index, of := map[string]int{}, make([]int, len(j.steps))
	for i := range j.steps {
		c := j.steps[i].conv
		if c == nil {
			continue
		}
		src := conv.ProgramSource(c, j.opt.Precision, ShapeOf(j.Program, &j.Program.Steps[i]))
		at, ok := index[src]
		if !ok {
			at = len(sources)
			index[src], sources = at, append(sources, src)
		}
		of[i] = at
	}
	if slices.ContainsFunc(j.Program.Steps, applies) {
		sources = append(sources, planar.Source(j.opt.Precision, j.Program.Pad)+ops.ApplySource())
	}
	return sources, of
}

func applies(s fuse.Step) bool { return ops.Applies(&s) }

// Compiles reports whether a program of the job is not in the cache of compiled ones for a
// device, so that [Job.Open] compiles it there.
func (j *Job) Compiles(d *clrt.Device) bool {
	sources, _ := j.sources()
	return slices.ContainsFunc(sources, func(s string) bool { return !d.Cached(s, conv.BuildOptions) })
}

// compile builds the engine's programs and finds its kernels.
func (e *Engine) compile() (err error) {
	sources, of := e.sources()
	defer func() { e.made = nil }()
	e.progs, err = e.ctx.BuildAll(sources, conv.BuildOptions)
	e.ctx.RestCompiler(e.Plan.Peak)
	if err != nil {
		return err
	}
	if e.ops, err = ops.New(e.progs[0], e.queues.compute, e.caps); err != nil {
		return err
	}
	next := 1
	if e.TakesSamples() {
		if e.unpacker, err = ops.NewUnpacker(e.progs[next], e.queues.compute, e.caps, e.UnpacksOctets()); err != nil {
			return err
		}
		next++
	}
	if e.MakesPixels() {
		if e.pictures, err = ops.NewPictures(e.progs[next], e.queues.compute, e.caps); err != nil {
			return err
		}
		next++
	}
	if e.makesOctets() {
		if e.octets, err = ops.NewOctets(e.progs[next], e.queues.compute, e.caps); err != nil {
			return err
		}
	}
	if slices.ContainsFunc(e.Program.Steps, applies) { // their program is the last
		if e.applier, err = ops.NewApplier(e.progs[len(e.progs)-1], e.queues.compute, e.caps); err != nil {
			return err
		}
	}
	return e.makeKernels(of)
}

// makeKernels finds the kernels of every step in the program of its own; steps of
// one program share them.
func (e *Engine) makeKernels(of []int) error {
	type programKernel struct {
		prog int
		name string
	}
	shared := map[programKernel]*clrt.Kernel{}
	for i := range e.resources {
		c := e.steps[i].conv
		if c == nil {
			continue
		}
		for _, k := range c.Kernels() {
			at := programKernel{of[i], k.Name}
			if shared[at] == nil {
				kernel, err := e.progs[of[i]].Kernel(k.Name)
				if err != nil {
					return err
				}
				shared[at] = kernel
			}
			e.resources[i].kernels = append(e.resources[i].kernels, shared[at])
		}
	}
	return nil
}
