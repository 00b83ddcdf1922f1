// Package exec runs networks on OpenCL devices.
//
// [Prepare] chooses an algorithm for every convolution, lets memplan make the
// plan and allocates nothing: its [Job] can be printed. [Job.Open] allocates
// everything the plan names, once, on a device; the [Engine] then runs any
// number of pictures of that size, row by row from a [Source] to a [Sink].
package exec

import (
	"errors"
	"fmt"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/internal/tune"
	"enhance/memplan"
	"enhance/model"
)

// Options are the user's choices.
type Options struct {
	Precision planar.Precision
	Budget    memplan.Budget
	// Rows forces strips of that many rows of the output, WholePlanes one step
	// after another over whole planes. Neither changes the result.
	Rows        int
	WholePlanes bool
	// Units are those that the device has.
	conv.Units
	// TF32 says that float32 factors may be rounded to tf32 for matrix units.
	TF32 bool
	// BF16 stores and multiplies bfloat16 between the network's first and last convolutions, where the device
	// has products of it (Tiles or Pairs) and the network allows it (see fuse.StorePairs); planes are of
	// float32.
	BF16 bool
	// Discrete plans as for a device with memory of its own even where it shares
	// the host's: tensors may then be spilled to the host.
	Discrete bool
	// HostRest says that the host has memory besides what a device that shares it lends:
	// what does not fit the budget may then wait there.
	HostRest bool
	// Algo chooses an algorithm for a convolution (see ParseAlgos); if it is nil, or
	// returns nil, the choice is Tuned's, or AutoAlgo's where that has none.
	Algo func(step string, s conv.Shape) conv.Algo
	// Tuned is what was measured on the device, nil if nothing was.
	Tuned *tune.Table
	// Rates is what was measured of the device for the prices of plans, nil if
	// nothing was. They change plans, never results.
	Rates *Rates
	// Profiler, if not nil, gathers what runs take without slowing them.
	Profiler *Profile
	// TakeWeights says that the model is not needed after Open, which takes its
	// parameters out of it as it loads them: the host then never holds all of them
	// and all that is made of them.
	TakeWeights bool
	// SaveHostMemory keeps what opening an engine holds in the host's memory for a while small,
	// where that is scarce, at the price of some time.
	SaveHostMemory bool
	smallBuffers   bool // choose the algorithms with the smallest buffers: see smallBuffers
	// Samples has the device make the network's planes out of a mosaic's stored samples, where
	// the network's are of quads and nothing reads them a second time: the source must be a
	// SampleSource if Job.TakesSamples says so. The planes are the same.
	Samples bool
	// Picture, if not nil, has the device make codes of that picture, where the network's result
	// is light and no norm divides it: the sink must be a PixelSink if Job.MakesPixels says so.
	Picture *fuse.Picture
	// Poison fills all device memory with NaN before a run, for tests.
	Poison bool
}

// Job is a network prepared for one picture size and one kind of device.
type Job struct {
	Model   *model.Model
	Program *fuse.Program
	Plan    *memplan.Plan
	Info    *clrt.DeviceInfo

	opt     Options
	caps    conv.Caps
	arith   conv.Arithmetic
	steps   []jobStep // as Program.Steps
	made    *programSources
	choices choiceCount
}

// jobStep is what a job keeps of one step. All but the zero value is of convolutions.
type jobStep struct {
	conv  conv.Impl
	algo  string         // its name
	why   string         // the reason for it
	exact bool           // it stands before a norm: see beforeNorms
	sums  conv.StatsTile // the partial statistics that it leaves for the next step; zero: none
	// groups, where it is not 0, is in how many groups of outputs launches load the
	// parameters; conv is then the convolution to one of them.
	groups int
}

// Prepare plans model m for an input of h×w packed samples on a device.
func Prepare(m *model.Model, h, w int, info *clrt.DeviceInfo, opt Options) (*Job, error) {
	j, req, err := request(m, h, w, info, opt)
	if err != nil {
		return nil, err
	}
	j.Plan, err = memplan.Make(req)
	if tooLarge(err) && !allocates(req) {
		if j, req, err = smallBuffers(m, h, w, info, opt); err != nil {
			return nil, err
		}
		j.Plan, err = memplan.Make(req)
	}
	if err != nil {
		return nil, err
	}
	j.reorder(j.Plan.Program, j.Plan.Order)
	if err := j.divideGroups(); err != nil {
		return nil, err
	}
	if err := j.checkSums(); err != nil {
		return nil, err
	}
	return j, nil
}

// Minimum is the smallest budget in bytes with which [Prepare] makes a plan; the
// options' own budget does not matter.
func Minimum(m *model.Model, h, w int, info *clrt.DeviceInfo, opt Options) (int64, error) {
	_, req, err := request(m, h, w, info, opt)
	if err != nil {
		return 0, err
	}
	n, err := memplan.Minimum(req)
	if !tooLarge(err) || allocates(req) {
		return n, err
	}
	if _, req, err = smallBuffers(m, h, w, info, opt); err != nil {
		return 0, err
	}
	return memplan.Minimum(req)
}

// tooLarge reports an error of buffers that are larger than the device allocates.
func tooLarge(err error) bool {
	var large *memplan.AllocError
	return errors.As(err, &large)
}

// allocates reports whether any plan keeps within the largest allocation, whatever the budget
// and the height of strips: a choice of algorithms must not depend on these.
func allocates(req *memplan.Request) bool {
	free := *req
	free.Budget, free.Rows, free.WholePlanes = memplan.Budget{}, 0, false
	_, err := memplan.Make(&free)
	return err == nil
}

// smallBuffers is request with the algorithms that have the smallest buffers, where the
// automatic choice needs larger ones than the device allocates.
func smallBuffers(m *model.Model, h, w int, info *clrt.DeviceInfo, opt Options) (*Job, *memplan.Request, error) {
	opt.smallBuffers, opt.Tuned = true, nil
	return request(m, h, w, info, opt)
}

// request chooses the algorithms and says what the plan depends on.
func request(m *model.Model, h, w int, info *clrt.DeviceInfo, opt Options) (*Job, *memplan.Request, error) {
	p, err := fuse.Fuse(m.Graph, h, w)
	if err != nil {
		return nil, nil, err
	}
	if opt.Samples {
		p.TakeSamples(&m.Convention)
	}
	if opt.Picture != nil {
		p.MakePicture(&m.Convention, *opt.Picture)
	}
	j := &Job{Model: m, Program: p, Info: info, opt: opt, caps: opt.Caps(info), arith: opt.arithmetic()}
	opt.storeOctets(p, j.caps)
	opt.storePairs(p, j.caps)
	if err := j.chooseAlgos(); err != nil {
		return nil, nil, err
	}
	j.absorbNorms()
	p = j.Program
	j.takeSums()
	sizes := make([]int64, len(p.Steps))
	for i := range sizes {
		sizes[i] = j.weightBytes(i)
	}
	req := &memplan.Request{
		Program:     p,
		RowBytes:    func(t int) int64 { return planar.RowBytes(p.Tensors[t], opt.Precision) },
		RimBytes:    func(t int) int64 { return planar.RimBytes(p.Tensors[t], opt.Precision) },
		Granule:     j.granule,
		Scratch:     j.scratch,
		LessScratch: j.lessScratch,
		Weights:     func(i int) int64 { return sizes[i] },

		GroupWeights: j.groupWeights,
		Fixed:        j.fixed(),
		Budget:       opt.Budget,
		MaxAlloc:     info.MaxAlloc,
		Align:        int64(max(info.BaseAlign, 64)),
		Unified:      j.Shared(),
		HostRest:     opt.HostRest && j.Shared(),
		Rows:         opt.Rows,
		WholePlanes:  opt.WholePlanes,
	}
	j.price(req)
	return j, req, nil
}

// absorbNorms lets convolutions that can normalise what they read.
func (j *Job) absorbNorms() {
	p, was := j.Program.Absorb(func(i int) bool {
		c, ok := j.steps[i].conv.(conv.Scaling)
		return ok && c.Scaled(fuse.NoAct) != nil
	})
	j.reorder(p, was)
	for i := range p.Steps {
		if s := &p.Steps[i]; s.Kind == fuse.Conv && s.Affine != fuse.None {
			j.steps[i].conv = j.steps[i].conv.(conv.Scaling).Scaled(s.Pre)
		}
	}
}

// takeSums lets convolutions that can leave partial statistics in scratch, where
// the step of statistics that follows them finds them.
func (j *Job) takeSums() {
	steps := j.Program.Steps
	for i := range len(steps) - 1 {
		s, next := &steps[i], &steps[i+1]
		c, ok := j.steps[i].conv.(conv.Summing)
		if ok && next.Kind == fuse.RowStats && next.Src[0] == s.Dst && s.Act == fuse.NoAct && s.Res.Tensor == fuse.None {
			j.steps[i].conv, j.steps[i].sums = c.Summed()
		}
	}
}

// summed reports whether the step before i leaves it partial statistics.
func (j *Job) summed(i int) bool { return i > 0 && j.steps[i-1].sums != conv.StatsTile{} }

// checkSums checks that a convolution that leaves partial statistics is followed
// by the step that takes them, over the same rows, with no launch between: scratch
// is theirs that long. Plans are so as both advance with the same demand.
func (j *Job) checkSums() error {
	for i := range j.steps {
		if j.steps[i].sums != (conv.StatsTile{}) && (i+1 == len(j.steps) || j.Program.Steps[i+1].Kind != fuse.RowStats ||
			j.Program.Steps[i+1].Src[0] != j.Program.Steps[i].Dst) {
			return fmt.Errorf("exec: the statistics of step %s are not its next step: a defect of the plan", j.Program.Steps[i].Name)
		}
	}
	want := memplan.Move{Index: -1}
	for _, sec := range j.Plan.Sections {
		for _, m := range sec.Moves {
			if m.Kind != memplan.Run {
				continue
			}
			if want.Index >= 0 && m != want || want.Index < 0 && j.summed(int(m.Index)) {
				return fmt.Errorf("exec: rows %d to %d of step %s do not follow their convolution's: a defect of the plan", m.Y0, m.Y1, j.Program.Steps[m.Index].Name)
			}
			if want.Index = -1; j.summed(int(m.Index) + 1) {
				want = memplan.Move{Kind: memplan.Run, Index: m.Index + 1, Y0: m.Y0, Y1: m.Y1}
			}
		}
	}
	return nil
}

// Shared reports whether the device is taken to share the host's memory.
func (j *Job) Shared() bool {
	return (j.Info.Unified || j.Info.Type == clrt.CPU) && !j.opt.Discrete
}

// reorder makes p the job's program, whose step i was step was[i] of the program before.
func (j *Job) reorder(p *fuse.Program, was []int) {
	steps := make([]jobStep, len(was))
	for i, k := range was {
		steps[i] = j.steps[k]
	}
	j.Program, j.steps = p, steps
}

func (j *Job) granule(i int) int {
	if j.summed(i) {
		return j.granule(i - 1)
	}
	if j.steps[i].conv != nil {
		return j.steps[i].conv.Granule()
	}
	return 1
}

// lessScratch lists the sizes of scratch that launches of step i work with if they are
// given less than they want.
func (j *Job) lessScratch(i int) []int64 {
	if c, ok := j.steps[i].conv.(conv.Dividing); ok {
		return c.LessScratch()
	}
	return nil
}

func (j *Job) scratch(i, rows int) int64 {
	if j.steps[i].conv != nil {
		return j.steps[i].conv.Scratch(rows)
	}
	return 0
}
