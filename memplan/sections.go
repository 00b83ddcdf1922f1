package memplan

import (
	"slices"
)

// This file plans networks in sections: those with instance norm, whose statistics need whole planes,
// those of several branches, and all others where memory is too short for one section. Rows stream through a
// section, and what crosses from one to another stays on the device as long as the budget allows.

// sectioning searches what stays on the device and at which paces sections run for fixed sections.
type sectioning struct {
	req      *Request // in norm order
	cuts     []int
	n        int
	level    int    // see choice
	bounded  bool   // nothing is tried that needs more than the largest allocation in one buffer
	overlaps []bool // see choice
	lifetimes
	residents
	simulations
	loading
	initial []pace // per section: where all begin, with all tensors on the device
	memo    []map[probe]measured
}

// loading says how parameters come to the device.
type loading struct {
	streamed   bool
	group      int64   // see choice
	weightPlan *Plan   // where parameters live
	fixed      int64   // bytes on the device besides tensors and scratch
	weights    []int64 // per section: bytes of parameters to load once
}

// newLoading keeps parameters on the device, or loads them for every section, those of more
// than group bytes, if that is not 0, in groups by every launch.
func (r *Request) newLoading(cuts []int, frames []*frame, streamed bool, group int64) loading {
	p := &Plan{Fixed: r.Fixed}
	p.placeWeights(r, cuts, streamed, group)
	l := loading{streamed: streamed, group: group, weightPlan: p, fixed: p.fixedBytes(), weights: make([]int64, len(frames))}
	for k, f := range frames {
		for i := f.first; i <= f.last; i++ {
			if p.LoadAt[i] >= 0 && p.Groups[i] == 0 {
				l.weights[k] += p.weights[i]
			}
		}
	}
	return l
}

// probe is a pace of a section with some of its tensors kept.
type probe struct {
	pace
	kept uint64 // see residents.sign
}

// begin starts a search with all tensors kept on the device that can be, or only those
// that cannot wait on the host.
func (s *sectioning) begin(all bool) {
	p := s.req.Program
	s.residents, s.overlaps = newResidents(len(p.Tensors), s.n), nil
	for t := range s.keep {
		s.set(t, s.keeps(t) && (all || !p.Tensors[t].Storage.Planes()))
	}
}

// keeps reports whether tensor t may stay on the device for later sections: all of it is in
// one buffer then. Statistics and scales are read whole, so they have to.
func (s *sectioning) keeps(t int) bool {
	p := s.req.Program
	return t != p.Input && t != p.Output && (s.allocates(s.bytes(t)) || !p.Tensors[t].Storage.Planes())
}

// allocates reports whether n bytes in one buffer are tried.
func (s *sectioning) allocates(n int64) bool { return !s.bounded || s.req.allocates(n) }

type measured struct {
	bytes     int64   // but for scratch, as it is kept
	scratch   []int64 // by level
	largest   int64   // of these, in one buffer
	fed, left int64   // of these, rings of rows from the host and of rows on their way there
	weights   int64   // bytes of parameters that it loads
	seconds   float64
	moved     []traffic
}

// newSectioning divides a network at its norms, or if there are none into its branches;
// it returns nil if there is nothing to divide it at: other strategies serve it.
//
// With heavy set, sections also end where a convolution's parameters come on top
// of others', as far as that can be: few have to be on the device at a time then.
func (r *Request) newSectioning(heavy bool) *sectioning {
	q := r.inOrder(r.normOrder())
	cuts := q.normCuts()
	if len(cuts) == 0 {
		cuts = q.branchCuts()
	}
	if heavy {
		cuts = q.heavyCuts(cuts)
	}
	if len(cuts) == 0 {
		return nil
	}
	s := &sectioning{req: q, cuts: cuts, n: len(cuts) + 1, lifetimes: q.lifetimesOf(cuts), simulations: *q.simulationsOf(cuts, nil)}
	s.keepFlows()
	return s
}

// set says whether tensor t stays on the device.
func (s *sectioning) set(t int, keep bool) { s.residents.set(&s.lifetimes, t, s.bytes(t), keep) }

// stream changes how parameters come to the device; see newLoading.
func (s *sectioning) stream(streamed bool, group int64) {
	s.loading = s.req.newLoading(s.cuts, s.frames, streamed, group)
	s.forget()
}

// forget drops what was measured, for other weights.
func (s *sectioning) forget() {
	s.initial, s.memo = nil, make([]map[probe]measured, s.n)
	for k := range s.memo {
		s.memo[k] = map[probe]measured{}
	}
}

// within plans for the budget as well as it can, with as much scratch of those
// levels as fits. What a budget allows is decided by the smallest plans alone, so that
// all budgets above one that works do too, and all below name it.
func (s *sectioning) within(most, least int) *Plan {
	budget := s.req.Budget.Bytes()
	if !s.req.Budget.Limited() {
		for s.level = most; s.level <= least; s.level++ {
			if p := s.plan(budget); s.req.fits(p) {
				return p
			}
		}
		s.level = least
		return s.smallest()
	}
	s.level = least
	low := s.smallest()
	if !s.req.fits(low) {
		return low
	}
	for s.level = most; s.level <= least; s.level++ {
		limit := budget
		for i := range 8 { // packing may need a little more than the sum of what is live
			p := s.plan(limit)
			if s.req.fits(p) {
				return p
			}
			// Ever more is given up: it may not be the fullest section that cannot be packed.
			if limit -= max(p.Held()-budget, limit/128) << (i / 2); limit <= 0 || !s.req.allocates(p.Largest) {
				break
			}
		}
	}
	return low
}

// squeezed is within for limits that need the least scratch or little more: of the levels
// below 1, the first whose smallest plan fits.
func (s *sectioning) squeezed() *Plan {
	last := s.req.facts.levels - 1
	s.level = last
	p := s.smallest()
	if !s.req.fits(p) {
		return p
	}
	for level := min(2, last); ; level++ {
		if p = s.within(level, level); s.req.fits(p) || level == last {
			return p
		}
	}
}

func (s *sectioning) draft() *draft {
	return &draft{req: s.req, simulations: &s.simulations, choice: choice{cuts: s.cuts, paces: make([]pace, s.n),
		keep: slices.Clone(s.keep), overlaps: slices.Clone(s.overlaps),
		streamed: s.streamed, group: s.group, level: s.level}}
}

func (s *sectioning) bytes(t int) int64 {
	f := s.req.facts
	return int64(s.req.Program.Tensors[t].H)*f.rowBytes[t] + f.rimBytes[t]
}

// measure gives the bytes of section k's rings and scratch, but for tensors kept
// for other sections, and its expected time.
func (s *sectioning) measure(k int, p pace) measured {
	m := s.measureRings(k, p)
	m.bytes += m.scratch[s.level]
	m.largest = max(m.largest, m.scratch[s.level])
	return m
}

// measureRings is measure without scratch.
func (s *sectioning) measureRings(k int, p pace) measured {
	fr := s.frames[k]
	p.rows = min(p.rows, fr.highest)
	key := probe{p, s.sign[k]}
	if m, ok := s.memo[k][key]; ok {
		return m
	}
	fl := s.flow(k, p)
	stays := func(t int) bool { return s.keep[t] && s.crosses(t) }
	m := measured{scratch: fl.scratch}
	for i := range fr.rings {
		r := &fr.rings[i]
		if stays(r.tensor) {
			continue
		}
		rows := fl.rows[i]
		if r.made && r.leaves {
			rows = fl.held[i]
		}
		n := int64(rows)*s.req.facts.rowBytes[r.tensor] + s.req.facts.rimBytes[r.tensor]
		m.largest = max(m.largest, n)
		switch m.bytes += n; {
		case !r.made:
			m.fed += n
		case r.leaves:
			m.left += n
		}
	}
	m.moved = fl.transfers(fr, func(i int32) bool { return stays(fr.rings[i].tensor) }, nil)
	m.weights = s.weights[k] + s.weightPlan.reloaded(fl)
	m.seconds = s.req.Model.seconds(fl, m.moved, m.weights, s.req.Unified)
	s.memo[k][key] = m
	return m
}
