// Package exec runs networks on OpenCL devices.
//
// [Prepare] chooses an algorithm for every convolution, lets memplan make the
// plan and allocates nothing: its [Job] can be printed. [Job.Open] allocates
// everything the plan names, once, on a device; the [Engine] then runs any
// number of pictures of that size, row by row from a [Source] to a [Sink].
package exec

import (
	"time"

	"enhance/clrt"
	"enhance/conv"
	"enhance/fuse"
	"enhance/memplan"
	"enhance/model"
	"enhance/planar"
)

// Options are the user's choices.
type Options struct {
	Precision planar.Precision
	Budget    int64 // device bytes; 0: no limit
	// Rows forces ticks of that many rows of the output, WholePlanes one step
	// after another over whole planes. Neither changes the result.
	Rows        int
	WholePlanes bool
	// Algo chooses an algorithm for a convolution (see ParseAlgos); if it is nil, or
	// returns nil, the choice is AutoAlgo's.
	Algo func(step string, s conv.Shape) conv.Algo
	// Profile, if set, is told how long every launch took, from its start to the
	// end of all its kernels. The host then waits after each launch, so the whole
	// run is slower.
	Profile func(step int, y0, y1 int, took time.Duration)
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
	convs   []conv.Impl // by step; nil for other kinds
	algos   []string
	reasons []string // why each algorithm
	weights []span   // by step: its slice of the weight buffer
	packed  int64    // bytes of the weight buffer
}

// span is a range of bytes in a buffer.
type span struct{ off, n int64 }

// Prepare plans model m for an input of h×w packed samples on a device.
func Prepare(m *model.Model, h, w int, info *clrt.DeviceInfo, opt Options) (*Job, error) {
	p, err := fuse.Fuse(m.Graph, h, w)
	if err != nil {
		return nil, err
	}
	j := &Job{Model: m, Program: p, Info: info, opt: opt, caps: conv.CapsOf(info)}
	if err := j.chooseAlgos(); err != nil {
		return nil, err
	}
	j.layoutWeights()
	req := &memplan.Request{
		Program:     p,
		RowBytes:    func(t int) int64 { return planar.RowBytes(p.Tensors[t], opt.Precision) },
		RimBytes:    func(t int) int64 { return planar.RimBytes(p.Tensors[t], opt.Precision) },
		Granule:     j.granule,
		Scratch:     j.scratch,
		Fixed:       []memplan.Fixed{{Purpose: "weights", Bytes: j.packed}},
		Budget:      opt.Budget,
		MaxAlloc:    info.MaxAlloc,
		Align:       int64(max(info.BaseAlign, 64)),
		Unified:     info.Unified || info.Type == clrt.CPU,
		Model:       costModel(info),
		Rows:        opt.Rows,
		WholePlanes: opt.WholePlanes,
	}
	j.Plan, err = memplan.Make(req)
	if err != nil {
		return nil, err
	}
	return j, nil
}

// layoutWeights gives every step's parameters a place in one buffer.
func (j *Job) layoutWeights() {
	align := int64(max(j.Info.BaseAlign, 64))
	j.weights = make([]span, len(j.Program.Steps))
	for i := range j.Program.Steps {
		n := int64(0)
		if j.convs[i] != nil {
			n = int64(j.convs[i].PackedLen()) * 4
		}
		for _, s := range j.Program.Steps[i].Norm {
			n = (n + align - 1) / align * align
			n += int64(s.C) * 8
		}
		j.weights[i] = span{j.packed, n}
		j.packed += (n + align - 1) / align * align
	}
	j.packed = max(j.packed, align) // no buffer is empty, even of a network without weights
}

func (j *Job) granule(i int) int {
	if j.convs[i] != nil {
		return j.convs[i].Granule()
	}
	return 1
}

func (j *Job) scratch(i, rows int) int64 {
	if j.convs[i] != nil {
		return j.convs[i].Scratch(rows)
	}
	return 0
}

// costModel prices plans before anything was measured on the device: rough
// figures by kind, good for ranking plans, not for predicting seconds.
func costModel(i *clrt.DeviceInfo) memplan.CostModel {
	units := float64(max(i.ComputeUnits, 1))
	clock := float64(max(i.MaxClockMHz, 1000)) * 1e6
	if i.Type == clrt.CPU {
		lanes := float64(max(i.NativeVectorFloat, 1))
		return memplan.CostModel{LaunchSeconds: 15e-6, FLOPRate: units * clock * lanes * 2, LinkRate: 8e9,
			Saturation: 2048 * units, CacheBytes: max(i.GlobalCache, 1<<20) * int64(max(i.ComputeUnits/2, 1)), MissPenalty: 1.5}
	}
	m := memplan.CostModel{LaunchSeconds: 6e-6, FLOPRate: units * clock * 64, LinkRate: 12e9, Saturation: units * 2048}
	if i.Unified {
		m.LinkRate = 8e9
	}
	return m
}
