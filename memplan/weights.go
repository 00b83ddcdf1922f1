package memplan

import (
	"cmp"
	"slices"
)

// This file decides where parameters live. Where what waits on the host takes the device's
// memory they stay in place: loading them again would need a second copy in it.

// smallWeights are parameters that always stay on the device.
const smallWeights = 64 << 10

// homeWeights decides where the parameters of every step live: all in one
// buffer, or, but for small ones, in slots that the next section takes over. A slot
// has one place and size for all sections (NVIDIA's driver crashes when it releases
// parts of a buffer that overlap), as large as the largest parameters in it.
func (p *Plan) homeWeights(r *Request, cuts []int, streamed bool) {
	n := len(r.Program.Steps)
	align := max(r.Align, 64)
	p.LoadAt = make([]int64, n)
	var slots, stay []int64
	in := make([]int, n) // by step: its slot, -1 if its parameters stay
	for s := range len(cuts) + 1 {
		first, last := bounds(cuts, n, s)
		var large []int
		for i := first; i <= last; i++ {
			if in[i] = -1; streamed && r.facts.weights[i] >= smallWeights {
				large = append(large, i)
				continue
			}
			stay = append(stay, alignUp(r.facts.weights[i], align))
		}
		slices.SortStableFunc(large, func(a, b int) int { return cmp.Compare(r.facts.weights[b], r.facts.weights[a]) })
		for k, i := range large {
			if in[i] = k; k == len(slots) {
				slots = append(slots, 0)
			}
			slots[k] = max(slots[k], alignUp(r.facts.weights[i], align))
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

// fixedBytes is what the plan holds on the device besides tensors and scratch.
func (p *Plan) fixedBytes() int64 {
	n := p.Resident + p.Loaded
	for _, f := range p.Fixed {
		n += f.Bytes
	}
	return n
}
