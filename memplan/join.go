package memplan

// This file joins sections: the first uploads of one then run in the last tick of the
// section before, and what that sends to the host last in the first tick of this one, so
// that the link is not idle between them. For that the rings of these transfers exist
// in both sections.

// quietTicks is how many ticks a section must have for the next to be joined to it. What
// is uploaded in a tick must have left two ticks before (see Tick); tensors made
// earlier than in this section then have.
const quietTicks = 3

// join joins sections where memory allows, and tries all paces again: ticks may be
// higher where the first and the last are no longer alone.
func (s *sectioning) join(paces []pace, room int64) {
	s.joined = make([]bool, s.n)
	if s.req.Unified || s.req.Model.LinkRate <= 0 {
		return
	}
	for k := 1; k < s.n; k++ {
		s.tryJoin(k, paces, room)
	}
	for range 2 {
		for k := range s.n {
			s.repace(k, paces, room)
		}
	}
}

// load is what section k holds: its own rings, tensors that cross it, and the rings of
// the transfers that joined neighbours have in it.
func (s *sectioning) load(k int, paces []pace) int64 {
	n := s.kept[k] + s.measure(k, paces[k]).bytes
	if s.joined[k] {
		n += s.measure(k-1, paces[k-1]).left
	}
	if k+1 < s.n && s.joined[k+1] {
		n += s.measure(k+1, paces[k+1]).fed
	}
	return n
}

// tryJoin joins section k to the one before if both then fit room and the rows that it
// needs first are on the host in time.
func (s *sectioning) tryJoin(k int, paces []pace, room int64) {
	if k <= 0 || k >= s.n || s.measure(k, paces[k]).fed == 0 && s.measure(k-1, paces[k-1]).left == 0 || !s.inTime(k, paces) {
		return
	}
	s.joined[k] = true
	s.joined[k] = s.load(k-1, paces) <= room && s.load(k, paces) <= room
}

// inTime reports whether all rows that section k sends back have left the device two
// ticks before: those for its first tick, which go in the last tick of the section before,
// and those for its second, which go in its first.
func (s *sectioning) inTime(k int, paces []pace) bool {
	fr, before := s.frames[k], s.frames[k-1]
	fl, was := s.flow(k, paces[k]), s.flow(k-1, paces[k-1])
	if was.ticks < quietTicks {
		return false
	}
	tick := 0
	for _, m := range fl.moves {
		if m.Kind == Tick {
			tick++
		}
		if tick == 2 {
			break
		}
		if m.Kind != Upload || s.keep[fr.rings[m.Index].tensor] {
			continue
		}
		for i := range before.rings {
			if r := &before.rings[i]; r.tensor == fr.rings[m.Index].tensor && r.made && was.left(int32(i), 2-tick) < m.Y1 {
				return false
			}
		}
	}
	return true
}

// left is how many rows of a ring have left the device in all ticks but the last few.
func (fl *flow) left(ring int32, last int) int32 {
	ticks := 0
	for i := len(fl.moves) - 1; i >= 0; i-- {
		switch m := fl.moves[i]; {
		case m.Kind == Tick:
			ticks++
		case m.Kind == Download && m.Index == ring && ticks >= last:
			return m.Y1
		}
	}
	return 0
}

// repace gives section k the pace with which it and its neighbours take the least time,
// joined to them where that can be.
func (s *sectioning) repace(k int, paces []pace, room int64) {
	if m := s.measure(k, paces[k]); m.fed == 0 && m.left == 0 || s.load(k, paces) > room {
		return
	}
	type state struct {
		p     pace
		joins [2]bool
	}
	get := func() state {
		st := state{p: paces[k]}
		for i := range st.joins {
			st.joins[i] = k+i < s.n && s.joined[k+i]
		}
		return st
	}
	set := func(st state) {
		paces[k] = st.p
		for i, j := range st.joins {
			if k+i < s.n {
				s.joined[k+i] = j
			}
		}
	}
	best, least := get(), s.window(k, paces)
	for _, h := range heights {
		if h < min(best.p.rows, lowTick) {
			break
		}
		for _, ramp := range []bool{false, true} {
			set(state{p: pace{rows: h, ramp: ramp}})
			if s.load(k, paces) > room || !s.allocates(s.measure(k, paces[k]).largest) {
				continue
			}
			s.tryJoin(k, paces, room)
			s.tryJoin(k+1, paces, room)
			if t := s.window(k, paces); t < least*s.margin(h, best.p) {
				best, least = get(), t
			}
		}
	}
	set(best)
}

// margin is how much of the least time so far a pace may take to be preferred: lower
// ticks must be clearly faster, as they mean more launches for the host.
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
		c.section(&s.req.Model, s.flow(i, paces[i]), m.moved, m.weights, i > first && s.joined[i])
	}
	return c.now()
}
