package exec

import (
	"cmp"
	"errors"
	"slices"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/ops"
	"enhance/internal/planar"
)

// sources are a program for each of programs, and then one for each distinct convolution, and which of
// them is each step's. Programs are as small as that so that they compile side by side, and
// are found in the cache by other networks and after tuning.
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

// program is one of steps that are not convolutions: its text without the prelude, and what takes
// its kernels.
type program struct {
	text string
	take func(*Engine, *clrt.Program) error
}

// programs are those that the job's steps need, that of a picture first: NVIDIA's compiler takes longest for it.
func (j *Job) programs() (all []program) {
	add := func(text string, take func(*Engine, *clrt.Program) error) { all = append(all, program{text, take}) }
	makes, norms, applies := false, false, false
	for i := range j.Program.Steps {
		m, n := ops.Makes(j.Program, &j.Program.Steps[i])
		makes, norms, applies = makes || m, norms || n, applies || ops.Applies(&j.Program.Steps[i])
	}
	if j.MakesPixels() {
		sharpened := j.Picture().Sharpen
		add(ops.PictureSource(sharpened), func(e *Engine, p *clrt.Program) (err error) {
			e.pictures, err = ops.NewPictures(p, e.queues.compute, e.caps, sharpened)
			return err
		})
	}
	if makes {
		add(ops.Source(j.caps, norms), func(e *Engine, p *clrt.Program) (err error) {
			e.ops, err = ops.New(p, e.queues.compute, e.caps, norms)
			return err
		})
	}
	if j.TakesSamples() {
		add(ops.SamplesSource(j.UnpacksOctets()), func(e *Engine, p *clrt.Program) (err error) {
			e.unpacker, err = ops.NewUnpacker(p, e.queues.compute, e.caps, e.UnpacksOctets())
			return err
		})
	}
	if j.makesOctets() {
		add(ops.OctetsSource(j.caps, norms), func(e *Engine, p *clrt.Program) (err error) {
			e.octets, err = ops.NewOctets(p, e.queues.compute, e.caps, norms)
			return err
		})
	}
	if j.makesPairs() {
		add(ops.PairsSource(), func(e *Engine, p *clrt.Program) (err error) {
			e.pairs, err = ops.NewPairs(p, e.queues.compute, e.caps)
			return err
		})
	}
	if applies { // imported networks
		add(ops.ApplySource(), func(e *Engine, p *clrt.Program) (err error) {
			e.applier, err = ops.NewApplier(p, e.queues.compute, e.caps)
			return err
		})
	}
	return all
}

func (j *Job) makeSources() (sources []string, of []int) {
	for _, p := range j.programs() {
		sources = append(sources, planar.Source(j.opt.Precision, j.Program.Pad)+p.text)
	}
	index, of := map[string]int{}, make([]int, len(j.steps))
	for _, i := range j.convolutions() {
		c := j.steps[i].conv
		src := conv.ProgramSource(c, j.opt.Precision, ShapeOf(j.Program, &j.Program.Steps[i]))
		at, ok := index[src]
		if !ok {
			at = len(sources)
			index[src], sources = at, append(sources, src)
		}
		of[i] = at
	}
	return sources, of
}

// convolutions are the steps that are, those to many channels first: their programs take longest to compile.
func (j *Job) convolutions() (all []int) {
	for i := range j.steps {
		if j.steps[i].conv != nil {
			all = append(all, i)
		}
	}
	outputs := func(i int) int { return j.Program.Steps[i].Dst.C }
	slices.SortStableFunc(all, func(a, b int) int { return cmp.Compare(outputs(b), outputs(a)) })
	return all
}

// Texts are the job's programs.
func (j *Job) Texts() []string {
	sources, _ := j.sources()
	return slices.Clone(sources)
}

// Compiles reports whether a program of the job is not in the cache of compiled ones for a
// device, so that [Job.Open] compiles it there.
func (j *Job) Compiles(d *clrt.Device) bool {
	sources, _ := j.sources()
	return slices.ContainsFunc(sources, func(s string) bool { return !d.Cached(s, conv.BuildOptions) })
}

// Preload begins to read the job's compiled programs for a device from the cache.
func (j *Job) Preload(d *clrt.Device) {
	sources, _ := j.sources()
	d.Preload(sources, conv.BuildOptions)
}

// Compile compiles the job's programs for the device of ctx, and leaves them in the cache.
func (j *Job) Compile(ctx *clrt.Context) error {
	sources, _ := j.sources()
	progs, err := ctx.BuildAll(sources, conv.BuildOptions)
	for _, p := range progs {
		err = errors.Join(err, p.Close())
	}
	return err
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
	for i, p := range e.programs() {
		if err = p.take(e, e.progs[i]); err != nil {
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
