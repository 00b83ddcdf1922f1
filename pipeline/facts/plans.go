package facts

import (
	"fmt"
	"strings"
)

// Explanation says how a network would run: every step with its algorithm, the
// reason for it, and where its result lives.
type Explanation struct {
	Input  string `json:"input"` // what the sizes are those of
	Model  Model  `json:"model"`
	Device Device `json:"device"`
	Plan   Plan   `json:"plan"`
	Algos  []Algo `json:"algorithms"`
	Steps  []Step `json:"steps"`
}

// Step explains one step of a plan. Sizes are channels, samples and bytes.
type Step struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	SrcC   []int  `json:"src_c"` // channels of each tensor read; several are one concatenation
	OutC   int    `json:"out_c"`
	Kernel int    `json:"kernel,omitempty"` // side, of a convolution
	H      int    `json:"h"`                // of the plane written
	W      int    `json:"w"`

	Algo string `json:"algo,omitempty"`
	Why  string `json:"why,omitempty"`

	FLOPs   int64   `json:"flops"`
	Share   float64 `json:"share"` // of the network's work
	Weights int64   `json:"weights"`
	Scratch int64   `json:"scratch"` // of one launch of the plan's highest strip
	Section int     `json:"section"` // which part of the plan the step runs in

	// Output is where the step writes: so many rows of a tensor of all that
	// tensor's rows, in a device buffer.
	Output Place `json:"output"`
}

// Channels writes the channels read and written: "32+64→32".
func (f *Step) Channels() string {
	var src []string
	for _, c := range f.SrcC {
		src = append(src, fmt.Sprint(c))
	}
	return fmt.Sprintf("%s→%d", strings.Join(src, "+"), f.OutC)
}

// Place is the storage of a step's result.
type Place struct {
	Tensor string `json:"tensor"`
	Rows   int    `json:"rows"` // slots of the ring
	Of     int    `json:"of"`   // rows of the tensor
	C0     int    `json:"c0"`   // first channel written
	C      int    `json:"c"`    // channels of the tensor
	Bytes  int64  `json:"bytes"`
	Arena  int    `json:"arena"`
	Offset int64  `json:"offset"`
}

func (o Place) String() string {
	s := fmt.Sprintf("ring of %d rows", o.Rows)
	if o.Rows >= o.Of {
		s = "whole plane"
	}
	return fmt.Sprintf("%s, arena %d + %d", s, o.Arena, o.Offset)
}

// Algo sums up what one algorithm does in a plan.
type Algo struct {
	Algo  string  `json:"algo"`
	Steps int     `json:"steps"`
	FLOPs int64   `json:"flops"`
	Share float64 `json:"share"`
}

// SumAlgos sums facts by algorithm, in order of first use.
func SumAlgos(steps []Step) []Algo {
	var sums []Algo
	at := map[string]int{}
	for _, f := range steps {
		if f.Algo == "" {
			continue
		}
		k, ok := at[f.Algo]
		if !ok {
			k = len(sums)
			at[f.Algo], sums = k, append(sums, Algo{Algo: f.Algo})
		}
		sums[k].Steps++
		sums[k].FLOPs += f.FLOPs
		sums[k].Share += f.Share
	}
	return sums
}

// PlanTable shows what budgets make of a photo.
type PlanTable struct {
	Input  string     `json:"input"`
	Model  Model      `json:"model"`
	Device Device     `json:"device"`
	Packed [2]int     `json:"packed"`
	Rows   []TableRow `json:"rows"`
}

// TableRow is the plan for one budget.
type TableRow struct {
	Budget   int64 `json:"budget"`             // 0: none
	Smallest bool  `json:"smallest,omitempty"` // the least that works
	TooSmall bool  `json:"too_small,omitempty"`
	// HostNeed is what a run is planned to hold in the host's memory, see Host.
	// If that is too little the run is refused, and HostTooSmall is set.
	HostNeed     int64 `json:"host_need,omitempty"`
	HostTooSmall bool  `json:"host_too_small,omitempty"`
	Plan

	// Measured is the wall-clock time of the run, decoding and encoding included,
	// preparing and compiling not; 0 if it was not measured.
	Measured float64 `json:"measured_seconds,omitempty"`
}

// Works reports whether a photo is developed within the row's budget.
func (r *TableRow) Works() bool { return !r.TooSmall && !r.HostTooSmall }

// SamePlan reports whether two budgets lead to plans that do the same, or to none.
func (r *TableRow) SamePlan(o *TableRow) bool {
	a, b := r.Full, o.Full
	if a == nil || b == nil {
		return a == b
	}
	if r.HostTooSmall || o.HostTooSmall {
		return r.HostTooSmall == o.HostTooSmall && r.HostNeed == o.HostNeed
	}
	return a.Strategy == b.Strategy && a.Peak == b.Peak && a.Cost == b.Cost && a.HostBytes == b.HostBytes
}

// Tuning says whether a plan's automatic choices came from a table.
type Tuning struct {
	// State is "tuned" if all of them were measured, "defaults" if none, "partly
	// tuned", or "" where nothing was chosen automatically.
	State string `json:"state"`
	// Asked is how many convolutions have an algorithm that was asked for, AskedFor
	// which, with commas between them, and Automatic how many others there are.
	Asked     int    `json:"asked"`
	AskedFor  string `json:"asked_for,omitempty"`
	Automatic int    `json:"automatic"`
	// Hash names the choices that came from the table: equal hashes are equal
	// choices, whatever else the table holds. "" if there are none.
	Hash string `json:"hash,omitempty"`
}

// String says where the algorithms come from: "defaults", "tuned for this device
// (choices a1b2c3)", "8 by --algo (direct-naive), the other 12 defaults", or "" where
// there is no convolution.
func (t Tuning) String() string {
	chosen := t.State
	if t.Hash != "" {
		chosen += fmt.Sprintf(" for this device (choices %s)", t.Hash)
	}
	if t.Asked == 0 {
		return chosen
	}
	asked := fmt.Sprintf("%d by --algo (%s)", t.Asked, t.AskedFor)
	switch {
	case t.Automatic == 0:
		return asked
	case chosen == "": // they take norms along, see Choice.takesNorm
		chosen = "defaults"
	}
	return fmt.Sprintf("%s, the other %d %s", asked, t.Automatic, chosen)
}
