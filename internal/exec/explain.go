package exec

import (
	"fmt"
	"strings"

	"enhance/internal/planar"
	"enhance/memplan"
)

// StepFacts explain one step of a job. Sizes are channels, samples and bytes.
type StepFacts struct {
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
	Output OutputPlace `json:"output"`
}

// OutputPlace is the storage of a step's result.
type OutputPlace struct {
	Tensor string `json:"tensor"`
	Rows   int    `json:"rows"` // slots of the ring
	Of     int    `json:"of"`   // rows of the tensor
	C0     int    `json:"c0"`   // first channel written
	C      int    `json:"c"`    // channels of the tensor
	Bytes  int64  `json:"bytes"`
	Arena  int    `json:"arena"`
	Offset int64  `json:"offset"`
}

func (o OutputPlace) String() string {
	s := fmt.Sprintf("ring of %d rows", o.Rows)
	if o.Rows >= o.Of {
		s = "whole plane"
	}
	return fmt.Sprintf("%s, arena %d + %d", s, o.Arena, o.Offset)
}

// Explain says of every step what it does, how and where, in order.
func (j *Job) Explain() []StepFacts {
	p, total := j.Program, int64(0)
	for i := range p.Steps {
		total += p.FLOPs(&p.Steps[i], p.Tensors[p.Steps[i].Dst.Tensor].H)
	}
	facts := make([]StepFacts, len(p.Steps))
	for i := range p.Steps {
		facts[i] = j.explain(i)
		if total > 0 {
			facts[i].Share = float64(facts[i].FLOPs) / float64(total)
		}
	}
	return facts
}

func (j *Job) explain(i int) StepFacts {
	p, s := j.Program, &j.Program.Steps[i]
	t := p.Tensors[s.Dst.Tensor]
	f := StepFacts{Name: s.Name, Kind: s.Kind.String(), OutC: s.Dst.C, H: t.H, W: t.W, Kernel: s.K,
		Algo: j.steps[i].algo, Why: j.steps[i].why, FLOPs: p.FLOPs(s, t.H), Weights: j.weightBytes(i)}
	for _, v := range s.Src {
		f.SrcC = append(f.SrcC, v.C)
	}
	for n, sec := range j.Plan.Sections {
		if i >= sec.First && i <= sec.Last {
			f.Section = n
			f.Scratch = j.mostScratch(i, n)
		}
	}
	r := j.Plan.Rings[j.Plan.WriteRing(i)]
	f.Output = OutputPlace{Tensor: t.Name, Rows: r.Rows, Of: t.H, C0: s.Dst.C0, C: t.C, Bytes: r.Bytes, Arena: r.Arena, Offset: r.Offset}
	return f
}

// mostScratch is the most scratch any launch of step i in a section takes.
func (j *Job) mostScratch(i, section int) int64 {
	most := int64(0)
	for _, m := range j.Plan.Sections[section].Moves {
		if m.Kind == memplan.Run && int(m.Index) == i {
			most = max(most, j.scratch(i, int(m.Y1-m.Y0)))
		}
	}
	return most
}

// AlgoFacts sum up what one algorithm does in a job.
type AlgoFacts struct {
	Algo  string  `json:"algo"`
	Steps int     `json:"steps"`
	FLOPs int64   `json:"flops"`
	Share float64 `json:"share"`
}

// SumAlgos sums facts by algorithm, in order of first use.
func SumAlgos(facts []StepFacts) []AlgoFacts {
	var sums []AlgoFacts
	at := map[string]int{}
	for _, f := range facts {
		if f.Algo == "" {
			continue
		}
		k, ok := at[f.Algo]
		if !ok {
			k = len(sums)
			at[f.Algo], sums = k, append(sums, AlgoFacts{Algo: f.Algo})
		}
		sums[k].Steps++
		sums[k].FLOPs += f.FLOPs
		sums[k].Share += f.Share
	}
	return sums
}

// Precision is how the job stores activations.
func (j *Job) Precision() planar.Precision { return j.opt.Precision }

// Channels writes the channels read and written: "32+64→32".
func (f *StepFacts) Channels() string {
	var src []string
	for _, c := range f.SrcC {
		src = append(src, fmt.Sprint(c))
	}
	return fmt.Sprintf("%s→%d", strings.Join(src, "+"), f.OutC)
}
