package memplan

import (
	"slices"

	"enhance/internal/fuse"
)

// This file finds the branches of a network that begin at its input anew, as those of an ensemble do.

// branchCuts returns the first step of every section after the first when sections are such branches. A branch ends
// where less than half of the bytes lie between that do where most do, and what follows begins with the input; within a
// branch more than half do. A network that is one branch has no cuts.
func (r *Request) branchCuts() []int {
	between, split := r.between()
	most, begins := slices.Max(append(between, 0)), r.readsInput()
	var cuts []int
	wide, place := false, 0 // whether there was much between, and where there is least since
	for i, n := range between {
		switch {
		case 2*n > most:
			if wide && place > 0 {
				cuts = append(cuts, place)
			}
			wide, place = true, 0
		case begins[i] && 2*n < most && !split[i] && (place == 0 || n <= between[place]):
			place = i
		}
	}
	return cuts
}

// between gives, for each step, the bytes of tensors that were made before it and are still to be read, but for
// the network's input and output, and whether a tensor is written both before it and by it or after.
func (r *Request) between() (bytes []int64, split []bool) {
	p := r.Program
	first, last := make([]int, len(p.Tensors)), make([]int, len(p.Tensors))
	for t := range p.Tensors {
		first[t], last[t] = len(p.Steps), r.facts.writer[t]
	}
	for i := range p.Steps {
		t := p.Steps[i].Dst.Tensor
		first[t] = min(first[t], i)
		for _, t := range r.facts.reads[i] {
			last[t] = max(last[t], i)
		}
	}
	bytes, split = make([]int64, len(p.Steps)), make([]bool, len(p.Steps))
	for t := range p.Tensors {
		for i := first[t] + 1; i <= last[t]; i++ {
			if t != p.Input && t != p.Output {
				bytes[i] += r.facts.rowBytes[t] * int64(p.Tensors[t].H)
			}
			split[i] = split[i] || i <= r.facts.writer[t]
		}
	}
	return bytes, split
}

// readsInput marks the steps that read nothing but the input, or what steps that convolve nothing made of it.
func (r *Request) readsInput() []bool {
	input := make([]bool, len(r.Program.Tensors))
	input[r.Program.Input] = true
	marks := make([]bool, len(r.Program.Steps))
	for i := range r.Program.Steps {
		marks[i] = true
		for _, t := range r.facts.reads[i] {
			marks[i] = marks[i] && input[t]
		}
		input[r.Program.Steps[i].Dst.Tensor] = marks[i] && r.Program.Steps[i].Kind != fuse.Conv
	}
	return marks
}
