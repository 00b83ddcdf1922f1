package memplan

import (
	"slices"

	"enhance/internal/fuse"
)

// Exhaust makes every plan of the space that the package's documentation describes and calls
// do with each until that returns false. It reports whether there are at most most.
func Exhaust(req *Request, most int, do func(p *Plan) bool) bool {
	order := make([]int, len(req.Program.Steps))
	for i := range order {
		order[i] = i
	}
	r := req.inOrder(order)
	e := &exhaustion{do: do}
	if !do(r.wholePlanes(false)) || !do(r.wholePlanes(true)) {
		return true
	}
	if !r.normalises() {
		reads := r.spillable()
		if len(reads) > 6 || len(r.stripHeights())*r.facts.levels<<len(reads) > most {
			return false
		}
		e.streaming(r, reads)
	}
	for _, heavy := range []bool{false, true} {
		if heavy && !r.spills() {
			continue
		}
		s := r.newSectioning(heavy)
		if s == nil {
			continue
		}
		for _, streamed := range []bool{false, true} {
			if streamed && !r.spills() {
				continue
			}
			groups := []int64{0}
			for n := slices.Max(s.req.facts.weights) / 2; streamed && n >= smallWeights; n /= 2 {
				groups = append(groups, n)
			}
			for _, group := range groups {
				s.stream(streamed, group)
				if !e.sections(s, most) {
					return false
				}
			}
		}
	}
	return true
}

// exhaustion says when enough plans were made.
type exhaustion struct {
	do func(p *Plan) bool
}

// spillable lists the reads that may go through the host within one section.
func (r *Request) spillable() (all []use) {
	for i := range r.Program.Steps {
		for _, t := range r.facts.reads[i] {
			if t != r.Program.Input && r.Program.Tensors[t].Storage == fuse.Activation {
				all = append(all, use{i, t})
			}
		}
	}
	return all
}

// streaming makes the plans of one section: all heights, scratch and sets of reads.
func (e *exhaustion) streaming(r *Request, reads []use) {
	for level := range r.facts.levels {
		for _, rows := range r.stripHeights() {
			for set := range 1 << len(reads) {
				spilled := map[use]bool{}
				for k, u := range reads {
					if set>>k&1 == 1 {
						spilled[u] = true
					}
				}
				if p := r.streaming(pace{rows: rows}, level, spilled); r.sends(p) && !e.do(p) {
					return
				}
			}
		}
	}
}

// sends reports whether a plan sends nothing to the host's memory that the device could hold,
// where both are one.
func (r *Request) sends(p *Plan) bool {
	if r.spills() || p.HostBytes == 0 {
		return true
	}
	return r.MaxAlloc > 0
}

// sections makes the plans of sections: all sets of tensors that stay, scratch and paces.
func (e *exhaustion) sections(s *sectioning, most int) bool {
	s.bounded = true
	var free []int
	for t := range s.req.Program.Tensors {
		if s.crosses(t) && s.keeps(t) && s.req.Program.Tensors[t].Storage == fuse.Activation && s.req.spills() {
			free = append(free, t)
		}
	}
	n := s.req.facts.levels
	choices := make([][]int, s.n)
	for k := range choices {
		for _, h := range heights {
			choices[k] = append(choices[k], min(h, s.frames[k].highest))
		}
		choices[k] = slices.Compact(choices[k])
		if n *= len(choices[k]); n > most {
			return false
		}
	}
	if len(free) > 10 || n<<len(free) > most {
		return false
	}
	for s.level = range s.req.facts.levels {
		for set := range 1 << len(free) {
			s.begin(!s.req.spills())
			for k, t := range free {
				s.set(t, set>>k&1 == 1)
			}
			if !e.paces(s, choices, make([]pace, 0, s.n)) {
				return true
			}
		}
	}
	return true
}

func (e *exhaustion) paces(s *sectioning, choices [][]int, chosen []pace) bool {
	if len(chosen) == s.n {
		d := s.draft()
		copy(d.paces, chosen)
		return e.do(d.finish("sections"))
	}
	for _, rows := range choices[len(chosen)] {
		if !e.paces(s, choices, append(chosen, pace{rows: rows})) {
			return false
		}
	}
	return true
}
