package memplan

import (
	"sort"

	"enhance/internal/fuse"
)

// inOrder returns the request with its steps permuted: step i of the result is
// step order[i] of r.
func (r *Request) inOrder(order []int) *Request {
	q := *r
	p := *r.Program
	p.Steps = make([]fuse.Step, len(order))
	for i, o := range order {
		p.Steps[i] = r.Program.Steps[o]
	}
	q.Program = &p
	q.Granule = func(i int) int { return r.Granule(order[i]) }
	q.Scratch = func(i, rows int) int64 { return r.Scratch(order[i], rows) }
	if r.LessScratch != nil {
		q.LessScratch = func(i int) []int64 { return r.LessScratch(order[i]) }
	}
	q.Weights = func(i int) int64 { return r.Weights(order[i]) }
	if r.GroupWeights != nil {
		q.GroupWeights = func(i int) []int64 { return r.GroupWeights(order[i]) }
	}
	if r.RowSeconds != nil {
		q.RowSeconds = func(i int) float64 { return r.RowSeconds(order[i]) }
	}
	if r.BusyRows != nil {
		q.BusyRows = func(i, rows int) float64 { return r.BusyRows(order[i], rows) }
	}
	q.order = order
	q.facts = q.gather()
	return &q
}

// normOrder sorts steps by how many instance norms lie between them and the
// input, keeping the given order among equals. Branches of a block then make
// their first convolutions together, then, once all statistics are known, their
// second ones: two sections a block, each reading the block's input once.
func (r *Request) normOrder() []int {
	p := r.Program
	depth := make([]int, len(p.Tensors))
	steps := make([]int, len(p.Steps))
	order := make([]int, len(p.Steps))
	for i := range p.Steps {
		s := &p.Steps[i]
		for _, t := range s.Reads() {
			steps[i] = max(steps[i], depth[t])
		}
		if s.Kind.Waits() {
			steps[i]++
		}
		order[i] = i
	}
	// A tensor's writers run together with the latest of them.
	for i := range p.Steps {
		t := p.Steps[i].Dst.Tensor
		depth[t] = max(depth[t], steps[i])
	}
	for changed := true; changed; {
		changed = false
		for i := range p.Steps {
			s := &p.Steps[i]
			d := depth[s.Dst.Tensor]
			for _, t := range s.Reads() {
				own := depth[t]
				if s.Kind.Waits() {
					own++
				}
				d = max(d, own)
			}
			if d > steps[i] || d > depth[s.Dst.Tensor] {
				steps[i], depth[s.Dst.Tensor], changed = d, d, true
			}
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return steps[order[a]] < steps[order[b]] })
	return order
}

// normalises reports whether any step waits for whole planes.
func (r *Request) normalises() bool {
	for i := range r.Program.Steps {
		if r.Program.Steps[i].Kind.Waits() {
			return true
		}
	}
	return false
}

// normCuts returns the first step of every section after the first when a
// section ends where a step needs statistics of the section itself.
func (r *Request) normCuts() []int {
	p := r.Program
	var cuts []int
	made := map[int]bool{} // statistics made in the current section
	for i := range p.Steps {
		s := &p.Steps[i]
		if s.Kind.Waits() && made[s.Src[0].Tensor] {
			cuts = append(cuts, i)
			clear(made)
		}
		if s.Kind.Summarises() {
			made[s.Dst.Tensor] = true
		}
	}
	return cuts
}

// heavyCuts adds to cuts the steps with parameters that a section would hold next
// to others, unless a tensor is written both before and after. What little may still be
// next to others is all that slots beyond the first must hold (see placeWeights).
func (r *Request) heavyCuts(cuts []int) []int {
	p := r.Program
	first := make([]int, len(p.Tensors))
	for i := len(p.Steps) - 1; i >= 0; i-- {
		first[p.Steps[i].Dst.Tensor] = i
	}
	most := int64(0)
	for i := range p.Steps {
		most = max(most, r.facts.weights[i])
	}
	var all []int
	open, next, sum := 0, 0, int64(0) // first step from which no tensor is still being written
	for i := range p.Steps {
		if next < len(cuts) && cuts[next] == i {
			all, sum, next = append(all, i), 0, next+1
		}
		if w := r.facts.weights[i]; sum > 0 && (sum+w > most || w > most/16) && i >= open {
			all, sum = append(all, i), 0
		}
		if t := p.Steps[i].Dst.Tensor; first[t] == i {
			open = max(open, r.facts.writer[t]+1)
		}
		sum += r.facts.weights[i]
	}
	return all
}
