package exec

import (
	"enhance/memplan"
	"enhance/planar"
)

// HostUse is what a run of the job holds in the host's memory, in bytes.
type HostUse struct {
	Spilled int64 // tensors that wait there
	Rows    int64 // rows of the input and the output on their way
	Weights int64 // packed parameters that are sent section by section
}

// HostUse counts it from the plan.
func (j *Job) HostUse() HostUse {
	u := HostUse{Spilled: j.Plan.HostBytes}
	for i, slot := range j.Plan.Slot {
		if slot >= 0 {
			u.Weights += j.weightBytes(i)
		}
	}
	var in, out, ins, outs int64 // rows of the highest chunk, chunks
	for _, s := range j.Plan.Sections {
		for _, m := range s.Moves {
			rows := int64(m.Y1 - m.Y0)
			switch {
			case m.Kind == memplan.Upload && j.Plan.Rings[m.Index].Tensor == j.Program.Input:
				in, ins = max(in, rows), ins+1
			case m.Kind == memplan.Download && j.Plan.Rings[m.Index].Tensor == j.Program.Output:
				out, outs = max(out, rows), outs+1
			}
		}
	}
	row := func(t int) int64 { return planar.RowBytes(j.Program.Tensors[t], j.opt.Precision) }
	// Chunks that are ready, on their way, and being filled or emptied.
	u.Rows = in*row(j.Program.Input)*min(ins, 2*inFlight+1) + out*row(j.Program.Output)*min(outs, inFlight+2)
	return u
}
