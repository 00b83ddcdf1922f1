package exec

import "enhance/memplan"

// HostUse is what a run of the job holds in the host's memory, in bytes.
type HostUse struct {
	Spilled int64 // tensors that wait there
	Rows    int64 // rows of the input and the output on their way
	Weights int64 // packed parameters that are sent section by section
}

// HostUse counts it from the plan.
func (j *Job) HostUse() HostUse {
	u := HostUse{Spilled: j.Plan.HostBytes, Weights: j.Plan.LoadedBytes()}
	n, size := j.chunkSize(memplan.Upload, j.Program.Input, inChunks)
	u.Rows = int64(n) * size
	n, size = j.chunkSize(memplan.Download, j.Program.Output, outChunks)
	u.Rows += int64(n) * size
	return u
}
