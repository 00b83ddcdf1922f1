package exec

import (
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/pipeline/facts"
)

// Explain says of every step what it does, how and where, in order.
func (j *Job) Explain() []facts.Step {
	p, total := j.Program, int64(0)
	for i := range p.Steps {
		total += p.FLOPs(&p.Steps[i], p.Tensors[p.Steps[i].Dst.Tensor].H)
	}
	facts := make([]facts.Step, len(p.Steps))
	for i := range p.Steps {
		facts[i] = j.explain(i)
		if total > 0 {
			facts[i].Share = float64(facts[i].FLOPs) / float64(total)
		}
	}
	return facts
}

func (j *Job) explain(i int) facts.Step {
	p, s := j.Program, &j.Program.Steps[i]
	t := p.Tensors[s.Dst.Tensor]
	f := facts.Step{Name: s.Name, Kind: s.Kind.String(), OutC: s.Dst.C, H: t.H, W: t.W, Kernel: s.K,
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
	f.Output = facts.Place{Tensor: t.Name, Rows: r.Rows, Of: t.H, C0: s.Dst.C0, C: t.C, Bytes: r.Bytes, Arena: r.Arena, Offset: r.Offset}
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

// Precision is how the job stores activations.
func (j *Job) Precision() planar.Precision { return j.opt.Precision }
