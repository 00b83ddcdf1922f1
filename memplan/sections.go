package memplan

import (
	"math"

	"enhance/fuse"
)

// This file plans networks with instance norm, whose statistics need whole
// planes: rows stream through sections that end at norms, and what crosses from
// one section to another stays on the device as long as the budget allows.

// sectioning searches homes and paces for fixed sections.
type sectioning struct {
	req      *Request // in norm order
	cuts     []int
	n        int
	streamed bool
	frugal   int     // see draft
	fixed    int64   // bytes on the device besides tensors and scratch
	weights  []int64 // per section: bytes of parameters to load
	keep     []bool
	joined   []bool // see draft
	first    []int  // per tensor: the section that makes it, -1 for the input
	last     []int  // per tensor: the last that reads it
	reads    []int  // per tensor: sections that read it after the one that makes it
	external [][]int
	lastRead []int
	frames   []*frame
	flows    map[flowKey]*flow
	memo     map[probe]measured
}

type flowKey struct {
	section int
	p       pace
}

// maxExternal is how many tensors may cross a section.
const maxExternal = 16 * 64

// probe is a section at a pace with some of its tensors kept.
type probe struct {
	flowKey
	kept [16]uint64 // bit i: the section's external tensor i; see maxExternal
}

type measured struct {
	bytes     int64
	fed, left int64 // of these, rings of rows from the host and of rows on their way there
	seconds   float64
	moved     []link
}

// newSectioning divides a network at its norms; it returns nil if there are none, or if
// sections would be far wider than in any network of this kind: other strategies
// serve it.
//
// With heavy set, sections also end where a convolution's parameters come on top
// of others', as far as that can be: few have to be on the device at a time then.
func (r *Request) newSectioning(heavy bool) *sectioning {
	q := r.inOrder(r.normOrder())
	cuts := q.normCuts()
	if len(cuts) == 0 {
		return nil
	}
	if heavy {
		cuts = q.heavyCuts(cuts)
	}
	s := &sectioning{req: q, cuts: cuts, n: len(cuts) + 1, flows: map[flowKey]*flow{}}
	s.lifetimes()
	for _, ts := range s.external {
		if len(ts) > maxExternal {
			return nil
		}
	}
	s.lastRead = q.lastReads(cuts)
	s.frames = q.framesOf(cuts, s.lastRead, nil)
	return s
}

// stream says whether parameters stay on the device or are loaded for every section.
func (s *sectioning) stream(streamed bool) {
	var p Plan
	p.homeWeights(s.req, s.cuts, streamed)
	p.Fixed = s.req.Fixed
	s.streamed, s.fixed = streamed, p.fixedBytes()
	s.memo = map[probe]measured{}
	s.weights = make([]int64, s.n)
	for k := range s.n {
		for i := s.frames[k].first; i <= s.frames[k].last; i++ {
			if p.LoadAt[i] >= 0 {
				s.weights[k] += s.req.facts.weights[i]
			}
		}
	}
}

// within plans for a budget (0: none) as well as it can. What a budget allows is
// decided by the smallest plans alone, so that all budgets above one that works
// do too, and all below name it.
func (s *sectioning) within(budget int64) (*Plan, error) {
	if s.frugal = 0; budget == 0 {
		return s.plan(math.MaxInt64)
	}
	s.frugal = 1
	low, err := s.smallest(budget)
	if err != nil || low.Peak > budget {
		return low, err
	}
	for s.frugal = range 2 {
		clear(s.memo)
		limit := budget
		for range 10 { // packing may need a little more than the sum of what is live
			p, err := s.plan(limit)
			if err != nil {
				return nil, err
			}
			if p.Peak <= budget {
				return p, nil
			}
			if limit -= max(p.Peak-budget, limit/128); limit <= 0 {
				break
			}
		}
	}
	return low, nil
}

// smallest returns the first plan that fits the budget of those that spill
// whatever can be, at paces from the middling to the slowest; or the smallest.
func (s *sectioning) smallest(budget int64) (*Plan, error) {
	s.joined = nil
	s.keep = make([]bool, len(s.req.Program.Tensors))
	for t, tensor := range s.req.Program.Tensors {
		s.keep[t] = (s.req.Unified || tensor.Storage != fuse.Activation) && t != s.req.Program.Input && t != s.req.Program.Output
	}
	var best *Plan
	for _, rows := range []int{32, 8, 2, 1} {
		d := s.draft()
		for k := range d.paces {
			d.paces[k].rows = rows
		}
		p, err := d.finish("sections")
		if err != nil {
			return nil, err
		}
		if best == nil || p.Peak < best.Peak {
			best = p
		}
		if best.Peak <= budget {
			break
		}
	}
	return best, nil
}

func (s *sectioning) draft() *draft {
	return &draft{req: s.req, cuts: s.cuts, paces: make([]pace, s.n), keep: append([]bool(nil), s.keep...), joined: append([]bool(nil), s.joined...), streamed: s.streamed, frugal: s.frugal,
		lastRead: s.lastRead, frames: s.frames, flow: s.flow}
}

func (s *sectioning) flow(k int, p pace) *flow {
	p.rows = min(p.rows, s.frames[k].highest)
	fl, ok := s.flows[flowKey{k, p}]
	if !ok {
		fl = s.frames[k].simulate(p)
		s.flows[flowKey{k, p}] = fl
	}
	return fl
}

// lifetimes finds in which sections tensors are made and read.
func (s *sectioning) lifetimes() {
	p := s.req.Program
	s.first, s.last, s.reads = make([]int, len(p.Tensors)), make([]int, len(p.Tensors)), make([]int, len(p.Tensors))
	s.external = make([][]int, s.n)
	seen := make([]int, len(p.Tensors))
	for t := range s.first {
		s.first[t], seen[t] = -1, -1
	}
	sec := 0
	for i := range p.Steps {
		for sec < len(s.cuts) && i >= s.cuts[sec] {
			sec++
		}
		for _, t := range p.Steps[i].Reads() {
			s.last[t] = max(s.last[t], sec)
			if s.first[t] != sec && seen[t] != sec {
				seen[t] = sec
				s.reads[t]++
			}
		}
		if t := p.Steps[i].Dst.Tensor; s.first[t] < 0 {
			s.first[t] = sec
			s.last[t] = max(s.last[t], sec)
		}
	}
	for t := range s.first {
		if t == p.Input || s.first[t] < 0 || s.last[t] == s.first[t] {
			continue
		}
		for k := s.first[t]; k <= s.last[t]; k++ {
			s.external[k] = append(s.external[k], t)
		}
	}
}

func (s *sectioning) bytes(t int) int64 {
	tensor := s.req.Program.Tensors[t]
	return int64(tensor.H)*s.req.RowBytes(t) + s.req.RimBytes(t)
}

// kept is what tensors that cross sections hold on the device in section k.
func (s *sectioning) kept(k int) (n int64) {
	for _, t := range s.external[k] {
		if s.keep[t] {
			n += s.bytes(t)
		}
	}
	return n
}

// measure gives the bytes of section k's rings and scratch, but for tensors kept
// for other sections, and its expected time.
func (s *sectioning) measure(k int, p pace) measured {
	fr := s.frames[k]
	p.rows = min(p.rows, fr.highest)
	key := probe{flowKey: flowKey{k, p}}
	for i, t := range s.external[k] {
		if s.keep[t] {
			key.kept[i/64] |= 1 << (i % 64)
		}
	}
	if m, ok := s.memo[key]; ok {
		return m
	}
	fl := s.flow(k, p)
	crosses := func(t int) bool { return s.keep[t] && s.first[t] >= 0 && s.first[t] < s.last[t] }
	m := measured{bytes: fl.scratch[s.frugal]}
	for i := range fr.rings {
		r := &fr.rings[i]
		if crosses(r.tensor) {
			continue
		}
		rows := fl.rows[i]
		if r.made && r.leaves {
			rows = fl.held[i]
		}
		n := int64(rows)*s.req.facts.rowBytes[r.tensor] + s.req.facts.rimBytes[r.tensor]
		switch m.bytes += n; {
		case !r.made:
			m.fed += n
		case r.leaves:
			m.left += n
		}
	}
	m.moved = fl.transfers(fr, func(i int32) bool { return crosses(fr.rings[i].tensor) }, nil)
	m.seconds = s.req.Model.seconds(fl, m.moved, s.weights[k], s.req.Unified)
	s.memo[key] = m
	return m
}
