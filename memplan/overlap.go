package memplan

// This file lets sections overlap: the first uploads of one then run in the last strip of the
// section before, and what that sends to the host last in the first strip of this one, so
// that the link is not idle between them. For that the rings of these transfers exist
// in both sections.

// quietStrips is how many strips a section must have for the next to overlap it. What
// is uploaded in a strip must have left two strips before (see NextStrip); tensors made
// earlier than in this section then have.
const quietStrips = 3

// overlap lets sections overlap where memory allows, and tries all paces again: strips may be
// higher where the first and the last are no longer alone.
func (s *sectioning) overlap(paces []pace, room int64) {
	s.overlaps = make([]bool, s.n)
	if s.req.Unified || s.req.Model.LinkRate <= 0 {
		return
	}
	for k := 1; k < s.n; k++ {
		s.tryOverlap(k, paces, room)
	}
	for range 2 {
		for k := range s.n {
			s.repace(k, paces, room)
		}
	}
}

// load is what section k holds: its own rings, tensors that cross it, and the rings of
// the transfers that overlapping neighbours have in it.
func (s *sectioning) load(k int, paces []pace) int64 {
	n := s.kept[k] + s.measure(k, paces[k]).bytes
	if s.overlaps[k] {
		n += s.measure(k-1, paces[k-1]).left
	}
	if k+1 < s.n && s.overlaps[k+1] {
		n += s.measure(k+1, paces[k+1]).fed
	}
	return n
}

// tryOverlap lets section k overlap the one before if both then fit room and the rows that it
// needs first are on the host in time.
func (s *sectioning) tryOverlap(k int, paces []pace, room int64) {
	if k <= 0 || k >= s.n || s.measure(k, paces[k]).fed == 0 && s.measure(k-1, paces[k-1]).left == 0 || !s.inTime(k, paces) {
		return
	}
	s.overlaps[k] = true
	s.overlaps[k] = s.load(k-1, paces) <= room && s.load(k, paces) <= room
}

// inTime reports whether all rows that section k sends back have left the device two
// strips before: those for its first strip, which go in the last strip of the section before,
// and those for its second, which go in its first.
func (s *sectioning) inTime(k int, paces []pace) bool {
	fr, before := s.frames[k], s.frames[k-1]
	fl, was := s.flow(k, paces[k]), s.flow(k-1, paces[k-1])
	if was.strips < quietStrips {
		return false
	}
	strip := 0
	for _, m := range fl.moves {
		if m.Kind == NextStrip {
			strip++
		}
		if strip == 2 {
			break
		}
		if m.Kind != Upload || s.keep[fr.rings[m.Index].tensor] {
			continue
		}
		for i := range before.rings {
			if r := &before.rings[i]; r.tensor == fr.rings[m.Index].tensor && r.made && was.left(int32(i), 2-strip) < m.Y1 {
				return false
			}
		}
	}
	return true
}

// left is how many rows of a ring have left the device in all strips but the last few.
func (fl *flow) left(ring int32, last int) int32 {
	strips := 0
	for i := len(fl.moves) - 1; i >= 0; i-- {
		switch m := fl.moves[i]; {
		case m.Kind == NextStrip:
			strips++
		case m.Kind == Download && m.Index == ring && strips >= last:
			return m.Y1
		}
	}
	return 0
}

// repace gives section k the pace with which it and its neighbours take the least time,
// overlapping them where that can be.
func (s *sectioning) repace(k int, paces []pace, room int64) {
	if m := s.measure(k, paces[k]); m.fed == 0 && m.left == 0 || s.load(k, paces) > room {
		return
	}
	type state struct {
		p        pace
		overlaps [2]bool
	}
	get := func() state {
		st := state{p: paces[k]}
		for i := range st.overlaps {
			st.overlaps[i] = k+i < s.n && s.overlaps[k+i]
		}
		return st
	}
	set := func(st state) {
		paces[k] = st.p
		for i, j := range st.overlaps {
			if k+i < s.n {
				s.overlaps[k+i] = j
			}
		}
	}
	best, least := get(), s.window(k, paces)
	for _, h := range heights {
		if h < min(best.p.rows, lowStrip) {
			break
		}
		for _, ramp := range []bool{false, true} {
			set(state{p: pace{rows: h, ramp: ramp}})
			if s.load(k, paces) > room || !s.allocates(s.measure(k, paces[k]).largest) {
				continue
			}
			s.tryOverlap(k, paces, room)
			s.tryOverlap(k+1, paces, room)
			if t := s.window(k, paces); t < least*s.margin(h, best.p) {
				best, least = get(), t
			}
		}
	}
	set(best)
}

// margin is how much of the least time so far a pace may take to be preferred: lower
// strips must be clearly faster, as they mean more launches for the host.
func (s *sectioning) margin(rows int, best pace) float64 {
	if rows < best.rows {
		return 0.995
	}
	return 1
}

// window is what section k takes with its neighbours.
func (s *sectioning) window(k int, paces []pace) float64 {
	var c clock
	first := max(k-2, 0)
	for i := first; i <= min(k+2, s.n-1); i++ {
		m := s.measure(i, paces[i])
		c.section(&s.req.Model, s.flow(i, paces[i]), m.moved, m.weights, i > first && s.overlaps[i])
	}
	return c.now()
}
