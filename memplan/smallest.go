package memplan

import (
	"cmp"
	"slices"
)

// This file finds the smallest plan in sections, which decides whether any fits.

// smallest returns the first plan that fits of those that spill whatever can be, at paces
// from the middling to the slowest, then with each section at the pace at which it takes least;
// or the nearest to that which exchanging some of these brings about.
func (s *sectioning) smallest() *Plan {
	s.bounded = true
	s.begin(!s.req.spills())
	paces := make([]pace, s.n)
	var best *Plan
	var at []pace
	for i := range len(slowHeights) + 1 {
		for k := range paces {
			if i == len(slowHeights) {
				paces[k] = s.least(k)
			} else {
				paces[k].rows = slowHeights[i]
			}
		}
		if p := s.finish(paces); best == nil || s.req.nearer(p, best) {
			best, at = p, slices.Clone(paces)
		}
		if s.req.fits(best) {
			return best
		}
	}
	return s.exchange(best, at)
}

// slowHeights are the strip heights that smallest tries, those that fit most plans first.
var slowHeights = []int{32, 8, 2, 1}

// finish makes the plan with these paces.
func (s *sectioning) finish(paces []pace) *Plan {
	d := s.draft()
	copy(d.paces, paces)
	return d.finish("sections")
}

// least is the pace of slowHeights at which section k takes the fewest bytes, none of them in a
// buffer that cannot be allocated; the highest of such.
func (s *sectioning) least(k int) (best pace) {
	var least measured
	for i, h := range slowHeights {
		p := pace{rows: min(h, s.frames[k].highest)}
		m := s.measure(k, p)
		over := func(m measured) int64 {
			if s.req.allocates(m.largest) {
				return 0
			}
			return m.largest
		}
		if i == 0 || cmp.Or(cmp.Compare(over(m), over(least)), cmp.Compare(m.bytes, least.bytes)) < 0 {
			best, least = p, m
		}
	}
	return best
}

// exchangeWork bounds the steps of all plans that exchange makes: small programs are searched
// well, large ones, whose sections differ by far more than an exchange saves, hardly.
const exchangeWork = 2048

// exchange changes the pace of a section, or whether a tensor stays, one at a time, the
// fullest sections first, as long as that brings the plan nearer to the limits.
func (s *sectioning) exchange(best *Plan, paces []pace) *Plan {
	tries := exchangeWork / len(s.req.Program.Steps)
	better := func(trial []pace) bool {
		tries--
		p := s.finish(trial)
		if !s.req.nearer(p, best) {
			return false
		}
		best, paces = p, trial
		return true
	}
	for improved := true; improved && tries > 0 && !s.req.fits(best); {
		improved = false
		for _, k := range s.fullest(paces) {
			improved = improved || s.exchangeIn(k, paces, func(trial []pace) bool { return tries > 0 && better(trial) })
		}
	}
	return best
}

// exchangeIn tries the changes of section k; it reports whether one is better.
func (s *sectioning) exchangeIn(k int, paces []pace, better func([]pace) bool) bool {
	for _, h := range heights {
		trial := slices.Clone(paces)
		if trial[k] = (pace{rows: min(h, s.frames[k].highest)}); trial[k] != paces[k] && better(trial) {
			return true
		}
	}
	for _, t := range s.crossing[k] {
		if !s.req.spills() || !s.keeps(t) || !s.req.Program.Tensors[t].Storage.Planes() {
			continue
		}
		was, raised := s.keep[t], slices.Clone(paces) // only a whole plane takes over another's place
		for k := s.first[t]; k <= s.last[t]; k++ {
			raised[k].rows = s.frames[k].highest
		}
		if s.set(t, !was); better(slices.Clone(paces)) || better(raised) {
			return true
		}
		s.set(t, was)
	}
	return false
}

// fullest lists the sections, those that hold most first.
func (s *sectioning) fullest(paces []pace) []int {
	load, order := make([]int64, s.n), make([]int, s.n)
	for k := range order {
		order[k], load[k] = k, s.kept[k]+s.measure(k, paces[k]).bytes
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(load[b], load[a]) })
	return order
}
