package memplan

import (
	"cmp"
	"slices"
)

// This file decides where parameters live. Where what waits on the host takes the device's
// memory they stay in place: loading them again would need a second copy in it.

// smallWeights are parameters that always stay on the device.
const smallWeights = 64 << 10

// grouped gives how many groups of outputs step i loads its parameters in so that one takes
// no more than most bytes, as far as that can be, and the bytes of one: 0 groups if all
// do or most is 0.
func (f *facts) grouped(i int, most int64) (groups int, bytes int64) {
	bytes = f.weights[i]
	for k, n := range f.groups[i] {
		if most == 0 || bytes <= most {
			break
		}
		groups, bytes = 2<<k, n
	}
	return groups, bytes
}

// placeWeights decides where the parameters of every step live: all in one
// buffer, or, but for small ones, in slots that the next section takes over. A slot
// has one place and size for all sections (NVIDIA's driver crashes when it releases
// parts of a buffer that overlap), as large as the largest parameters in it. Those of more
// than most bytes, if that is not 0, are loaded in groups.
func (p *Plan) placeWeights(r *Request, cuts []int, streamed bool, most int64) {
	n := len(r.Program.Steps)
	align := max(r.Align, 64)
	p.LoadAt, p.Groups, p.weights = make([]int64, n), make([]int, n), slices.Clone(r.facts.weights)
	slot := slices.Clone(r.facts.weights) // what they take at a time
	var slots, stay []int64
	in := make([]int, n) // by step: its slot, -1 if its parameters stay
	for s := range len(cuts) + 1 {
		first, last := bounds(cuts, n, s)
		var large []int
		for i := first; i <= last; i++ {
			if in[i] = -1; streamed && r.facts.weights[i] >= smallWeights {
				if p.Groups[i], slot[i] = r.facts.grouped(i, most); p.Groups[i] > 0 {
					p.weights[i] = int64(p.Groups[i]) * slot[i]
				}
				large = append(large, i)
				continue
			}
			stay = append(stay, alignUp(r.facts.weights[i], align))
		}
		slices.SortStableFunc(large, func(a, b int) int { return cmp.Compare(slot[b], slot[a]) })
		for k, i := range large {
			if in[i] = k; k == len(slots) {
				slots = append(slots, 0)
			}
			slots[k] = max(slots[k], alignUp(slot[i], align))
		}
	}
	p.ResidentParts, p.LoadedParts = r.cut(stay), r.cut(slots)
	p.Resident = total(p.ResidentParts)
	at := make([]int64, len(slots))
	for k, size := range slots {
		at[k] = p.Loaded
		p.Loaded += size
	}
	for i, k := range in {
		if p.LoadAt[i] = -1; k >= 0 {
			p.LoadAt[i] = at[k]
		}
	}
}

// reloaded is how many bytes of parameters the launches of a section load themselves.
func (p *Plan) reloaded(fl *flow) (n int64) {
	for _, m := range fl.moves {
		if m.Kind == Run && p.Groups[m.Index] > 0 {
			n += p.weights[m.Index]
		}
	}
	return n
}

// fixedBytes is what the plan holds on the device besides tensors and scratch.
func (p *Plan) fixedBytes() int64 {
	n := p.Resident + p.Loaded
	for _, f := range p.Fixed {
		n += f.Bytes
	}
	return n
}
