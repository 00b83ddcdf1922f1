package memplan

import (
	"cmp"
	"fmt"
	"slices"
)

// This file holds plans against the two limits of a request: its budget, which bounds
// the sum of all buffers, and the largest allocation, which bounds each.
//
// A tensor that is kept whole for later sections lies in one buffer. One that is larger than
// the largest allocation is not kept: its rows go to host memory as they are made and come
// back through rings, which are as high as the section's pace asks for. The host's memory is
// taken in as many pieces as it takes ([Plan.HostBytes] bytes together), so nothing bounds a
// tensor there. That holds on devices that share the host's memory too, where the bytes of
// such tensors count against the budget like any buffer's, unless the host has memory besides
// what the device lends. A ring that is too high is
// lowered by a lower pace, or, within one section, by sending the rows of readers that lag behind
// through the host. Neither changes what a launch computes.

// AllocError reports that every plan has a buffer larger than the largest allocation.
type AllocError struct {
	Bytes int64 // the smallest largest allocation that works, without a budget
	Max   int64 // what was allowed
	What  string
}

func (e *AllocError) Error() string {
	return fmt.Sprintf("the largest allocation of %d bytes is too small: %s needs at least %d bytes in one buffer", e.Max, e.What, e.Bytes)
}

// allocError is the error of a request whose nearest plan does not keep within the largest
// allocation, nil if it does.
func (r *Request) allocError(nearest *Plan) error {
	if r.allocates(nearest.Largest) {
		return nil
	}
	return &AllocError{Bytes: nearest.Largest, Max: r.MaxAlloc, What: nearest.what()}
}

// Held is what counts against the budget: the bytes of all device buffers, and, where the
// device shares the host's memory and lends all of it, those of tensors that wait there.
func (p *Plan) Held() int64 {
	if p.Unified && !p.HostRest {
		return p.Peak + p.HostBytes
	}
	return p.Peak
}

// allocates reports whether n bytes may be one buffer.
func (r *Request) allocates(n int64) bool { return r.MaxAlloc == 0 || n <= r.MaxAlloc }

// fits reports whether a plan keeps within both limits.
func (r *Request) fits(p *Plan) bool {
	return r.allocates(p.Largest) && p.Held() <= r.Budget.Bytes()
}

// nearer reports whether plan p is nearer to both limits than q: to the largest
// allocation first, as without it no budget helps.
func (r *Request) nearer(p, q *Plan) bool {
	over := func(p *Plan) int64 {
		if r.allocates(p.Largest) {
			return 0
		}
		return p.Largest
	}
	return cmp.Or(cmp.Compare(over(p), over(q)), cmp.Compare(p.Held(), q.Held())) < 0
}

// holding is something that lies in one buffer: which of its kind.
type holding struct {
	kind  holdingKind
	index int
}

type holdingKind uint8

const (
	holdsRing holdingKind = iota
	holdsWeights
	holdsFixed
	holdsScratch
	holdsRings
	holdsParameters
)

// findLargest notes the plan's largest buffer and what needs it to be so large.
func (p *Plan) findLargest() {
	note := func(n int64, kind holdingKind, index int) {
		if n > p.Largest {
			p.Largest, p.largest = n, holding{kind, index}
		}
	}
	for i := range p.Rings {
		note(p.Rings[i].Bytes, holdsRing, i)
	}
	for i, n := range p.weights {
		note(n/int64(max(p.Groups[i], 1)), holdsWeights, i)
	}
	for i := range p.Fixed {
		note(p.Fixed[i].Bytes, holdsFixed, i)
	}
	note(p.Scratch, holdsScratch, 0)
	for i, n := range p.Arenas {
		note(n, holdsRings, i)
	}
	for i, n := range slices.Concat(p.ResidentParts, p.LoadedParts) {
		note(n, holdsParameters, i)
	}
}

// what says what needs the largest buffer.
func (p *Plan) what() string {
	switch h := p.largest; h.kind {
	case holdsWeights:
		return "the parameters of " + p.Program.Steps[h.index].Name
	case holdsFixed:
		return p.Fixed[h.index].Purpose
	case holdsScratch:
		return "the scratch memory of a convolution"
	case holdsRings:
		return "a buffer of several rings"
	case holdsParameters:
		return "a buffer of parameters"
	default:
		ring := &p.Rings[h.index]
		t := &p.Program.Tensors[ring.Tensor]
		if ring.Rows >= t.H {
			return fmt.Sprintf("%s as a whole (%d rows)", t.Name, t.H)
		}
		return fmt.Sprintf("a ring of %d of the %d rows of %s", ring.Rows, t.H, t.Name)
	}
}

// cut divides consecutive reservations of so many bytes into buffers that hold as many of
// them as the largest allocation allows, at least one. It returns the sizes of the buffers.
func (r *Request) cut(sizes []int64) (buffers []int64) {
	for _, n := range sizes {
		if k := len(buffers) - 1; k >= 0 && r.allocates(buffers[k]+n) {
			buffers[k] += n
		} else if n > 0 {
			buffers = append(buffers, n)
		}
	}
	return buffers
}

// hostAlign is the unit of places in host memory: a page.
const hostAlign = 4096

// hostBytes is what tensor t takes on the host: its rows alone.
func (r *Request) hostBytes(t int) int64 {
	return int64(r.Program.Tensors[t].H) * r.facts.rowBytes[t]
}
