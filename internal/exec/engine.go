package exec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/ops"
	"enhance/internal/planar"
)

// Engine is a job with its memory and kernels on a device. It runs one picture
// at a time, but the next may begin before the last has ended (see RunAhead).
type Engine struct {
	*Job
	ctx       *clrt.Context
	queues    queues
	progs     []*clrt.Program
	ops       *ops.Ops        // nil if no step is of its kinds
	applier   *ops.Applier    // nil if no step is of an imported operation
	pictures  *ops.Pictures   // nil if the host makes the picture
	pairs     *ops.Pairs      // nil if no step but convolutions makes pairs
	octets    *ops.Octets     // nil if no step but convolutions has octets
	unpacker  *ops.Unpacker   // nil if the network's planes come from the host
	resources []stepResources // as Program.Steps
	device    deviceMemory
	host      lockedMemory

	running sync.WaitGroup
	failed  atomic.Bool
	left    chan struct{} // closed when the last run's downloads are queued; nil: none was
}

// deviceMemory is the plan's buffers.
type deviceMemory struct {
	arenas  []*clrt.Buffer
	rings   []planar.Ring // in the arenas, as Plan.Rings
	weights segments      // parameters that stay
	loaded  segments      // room for those that are loaded section by section
	scratch *clrt.Buffer
	tables  *clrt.Buffer // of samples; nil: there are none
	// Of pictures, nil if the host makes them: what their steps calculate with, and the samples that
	// are not finite.
	pictureTables, bad *clrt.Buffer
}

// lockedMemory is memory of the host that the device copies from and to.
type lockedMemory struct {
	weights *clrt.HostMemory // the parameters that are loaded
	spill   *hostSegments    // rows of spilled tensors
	in, out *staging         // rows of the input and the output on their way
}

// stepResources are what an engine holds for one step.
type stepResources struct {
	kernels  []*clrt.Kernel // of a convolution
	params   []*clrt.Buffer // its packed convolution or its norm slices
	streamed []byte         // parameters to load, in hostWeights
}

// Open allocates the plan's memory on the device of ctx, which must be the one
// the job was prepared for and hold no other buffers, and compiles the kernels.
func (j *Job) Open(ctx *clrt.Context) (*Engine, error) { return j.OpenWhen(ctx, nil) }

// OpenWhen is Open, which takes memory of the device after the kernels are compiled, and only when
// ready, if that is not nil, has returned no error.
func (j *Job) OpenWhen(ctx *clrt.Context, ready func() error) (e *Engine, err error) {
	if live := ctx.Live(); live != 0 {
		return nil, fmt.Errorf("exec: the context already holds %d bytes in buffers; an engine needs one of its own", live)
	}
	ctx.ResetPeak()
	e = &Engine{Job: j, ctx: ctx, resources: make([]stepResources, len(j.Program.Steps))}
	defer func() {
		if err != nil {
			e.Close()
			e = nil
		}
	}()
	newQueue := ctx.NewUntimedQueue
	if j.opt.Profiler != nil {
		newQueue = ctx.NewQueue
	}
	if e.queues, err = newQueues(j.Shared(), newQueue); err != nil {
		return
	}
	// Memory is taken while programs are read from the cache; what compiles them may hold memory of
	// the device itself.
	if ready == nil && !j.Compiles(ctx.Device()) {
		compiled := make(chan error, 1)
		go func() { compiled <- e.stages("compile", e.compile) }()
		err = e.takeMemory()
		err = cmp.Or(<-compiled, err)
	} else if err = e.stages("compile", e.compile); err == nil {
		if ready != nil {
			err = e.stages("wait", ready)
		}
		if err == nil {
			err = e.takeMemory()
		}
	}
	return
}

// takeMemory makes the plan's buffers and loads the parameters.
func (e *Engine) takeMemory() error {
	if err := e.stages("allocate", e.allocate, e.stage); err != nil {
		return err
	}
	return e.stages("load weights", e.loadWeights)
}

// stages does parts of opening an engine one after the other, timed under one name.
func (e *Engine) stages(name string, parts ...func() error) error {
	defer e.opt.Profiler.Stages().Begin(name)()
	for _, do := range parts {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

// newBuffer creates a buffer and touches it, so that a device that cannot hold it
// says so now.
func (e *Engine) newBuffer(n int64, purpose string) (*clrt.Buffer, error) {
	if most := e.Info.MaxAlloc; most > 0 && n > most {
		return nil, fmt.Errorf("exec: %d bytes for %s are more than the device allocates at a time, %d: a defect of the plan", n, purpose, most)
	}
	b, err := e.ctx.NewBuffer(n, purpose)
	if err != nil {
		return nil, err
	}
	if err := b.Touch(e.queues.compute); err != nil {
		b.Close()
		return nil, err
	}
	return b, nil
}

// allocate creates the plan's buffers for tensors and scratch.
func (e *Engine) allocate() error {
	var err error
	for i, n := range e.Plan.Arenas {
		b, err := e.newBuffer(n, fmt.Sprintf("activations %d", i))
		if err != nil {
			return err
		}
		e.device.arenas = append(e.device.arenas, b)
	}
	for _, r := range e.Plan.Rings {
		e.device.rings = append(e.device.rings, planar.NewRing(e.device.arenas[r.Arena], r.Offset, e.Program.Tensors[r.Tensor], r.Rows))
	}
	if e.Plan.Scratch > 0 {
		if e.device.scratch, err = e.newBuffer(e.Plan.Scratch, "scratch"); err != nil {
			return err
		}
	}
	if e.MakesPixels() {
		if e.device.pictureTables, err = e.newBuffer(ops.PictureBytes, "tables of the picture"); err != nil {
			return err
		}
		if e.device.bad, err = e.newBuffer(e.badBytes(), "samples that are not finite"); err != nil {
			return err
		}
	}
	if n := e.tableBytes(); n > 0 {
		if e.device.tables, err = e.newBuffer(n, "tables of samples"); err != nil {
			return err
		}
	}
	if e.Plan.HostBytes > 0 {
		e.host.spill, err = e.newHostSegments(e.Plan.HostBytes, "spilled activations")
	}
	return err
}

// Peak is the largest number of device bytes that were live at any moment.
func (e *Engine) Peak() int64 { return e.ctx.Peak() }

// Failed reports whether a run failed: the engine's state is unknown then.
func (e *Engine) Failed() bool { return e.failed.Load() }

// Close releases everything the engine made, when its runs have ended; the context
// stays open.
func (e *Engine) Close() error {
	e.running.Wait()
	var first error
	note := func(err error) {
		if first == nil {
			first = err
		}
	}
	if e.queues.compute != nil {
		note(e.queues.finish())
		note(errors.Join(e.host.spill.close(), e.host.weights.Close(), e.host.in.close(), e.host.out.close()))
		note(e.queues.close())
	}
	closed := map[*clrt.Kernel]bool{}
	for i := range e.resources {
		for _, k := range e.resources[i].kernels {
			if k != nil && !closed[k] {
				closed[k] = true
				note(k.Close())
			}
		}
	}
	e.ops.Close()
	if e.applier != nil {
		e.applier.Close()
	}
	e.unpacker.Close()
	e.pictures.Close()
	e.octets.Close()
	e.pairs.Close()
	for _, p := range e.progs {
		note(p.Close())
	}
	for _, a := range slices.Concat(e.device.arenas, e.device.weights, e.device.loaded,
		segments{e.device.scratch, e.device.tables, e.device.pictureTables, e.device.bad}) {
		if a != nil {
			note(a.Close())
		}
	}
	if e.queues.compute != nil {
		note(e.queues.compute.Close())
	}
	return first
}

// ring is the ring that holds a view of a tensor read by step i.
func (e *Engine) source(i int, v fuse.View) planar.Ring {
	return e.device.rings[e.Plan.ReadRing(i, v.Tensor)].Slice(v.C0, v.C)
}

// launch enqueues step i over rows [y0,y1) of its destination.
func (e *Engine) launch(i, y0, y1 int) error {
	s := &e.Program.Steps[i]
	dst := e.device.rings[e.Plan.WriteRing(i)].Slice(s.Dst.C0, s.Dst.C)
	src := make([]planar.Ring, len(s.Src))
	for k, v := range s.Src {
		src[k] = e.source(i, v)
	}
	var res planar.Ring
	if s.Res.Tensor != fuse.None {
		res = e.source(i, s.Res)
	}
	if ops.MakesPairs(e.Program, s) {
		return e.pairs.Make(s, src[0], res, dst, y0, y1)
	}
	var scales planar.Ring
	if s.Kind == fuse.Pointwise && s.Affine != fuse.None {
		scales = e.device.rings[e.Plan.ReadRing(i, s.Affine)]
	}
	if ops.MakesOctets(e.Program, s) && !e.summed(i) {
		return e.octets.Make(s, src[0], scales, res, dst, y0, y1)
	}
	switch s.Kind {
	case fuse.Conv:
		return e.launchConv(i, &conv.Args{Src: src, Dst: dst, Res: res, Y0: y0, Y1: y1})
	case fuse.Cells, fuse.Colours, fuse.Render, fuse.Sharpen:
		return e.pictures.Make(s, src, dst, e.device.pictureTables, e.device.bad, y0, y1)
	case fuse.Unpack:
		return e.unpacker.Unpack(src[0], dst, s.Dst.C, e.device.tables, e.Model.Convention.Pack, y0, y1)
	case fuse.MaxPool:
		return e.ops.MaxPool(src[0], dst, y0, y1)
	case fuse.Upsample:
		return e.ops.Upsample(src[0], res, dst, y0, y1, s.AlignCorners)
	case fuse.Shuffle:
		return e.ops.Shuffle(src[0], dst, y0, y1)
	case fuse.Pointwise:
		return e.ops.Pointwise(src[0], scales, s.Src[0].C0, res, dst, y0, y1, s.Act, s.Slope)
	case fuse.RowStats:
		if e.summed(i) {
			return e.ops.MergeStats(e.device.scratch, e.steps[i-1].sums, dst, y0, y1)
		}
		return e.ops.RowStats(src[0], dst, y0, y1)
	case fuse.Affine:
		return e.ops.Affine(src[0], e.resources[i].params[0], dst, s.Norm[0].Together)
	case fuse.Apply, fuse.RowReduce, fuse.Merge:
		var params *clrt.Buffer
		if len(e.resources[i].params) > 0 {
			params = e.resources[i].params[0]
		}
		return e.applier.Apply(s, src, dst, params, y0, y1)
	}
	return fmt.Errorf("exec: step %s: kind %s is not known", s.Name, s.Kind)
}

// launchConv makes rows of a convolution from the rings and the residual in a.
func (e *Engine) launchConv(i int, a *conv.Args) error {
	s := &e.Program.Steps[i]
	a.Slope, a.Scratch, a.PreSlope = s.Slope, e.device.scratch, s.PreSlope
	if s.Act == fuse.PReLU {
		a.Slope = conv.SlopesAt(e.steps[i].conv.PackedLen())
	}
	if s.Integer() {
		a.Zero, _ = ops.CodesOf(s.From)
		if in := s.Inner; in != nil {
			a.Between, a.InnerSlope = a.Zero, in.Slope
			a.Zero, _ = ops.CodesOf(in.From)
		}
		if s.Store != nil {
			a.Store, _ = ops.CodesOf(s.Store)
		}
	}
	if s.Affine != fuse.None {
		a.Scales = e.source(i, fuse.View{Tensor: s.Affine, C0: s.Src[0].C0, C: s.Src[0].C})
	}
	if e.steps[i].groups > 0 {
		return e.launchGroups(i, a)
	}
	return e.steps[i].conv.Launch(e.queues.compute, e.resources[i].kernels, e.resources[i].params[0], a)
}
