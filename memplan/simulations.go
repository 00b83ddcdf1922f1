package memplan

// simulations are of the sections between cuts, for all drafts that have these.
type simulations struct {
	lastRead []int    // per tensor: the last section that reads or writes it
	frames   []*frame // per section
	// flows are per section, so that sections can be tried side by side; nil: none is kept.
	flows []map[pace]*flow
}

// simulationsOf keeps no flows.
func (r *Request) simulationsOf(cuts []int, spilled map[use]bool) *simulations {
	s := &simulations{lastRead: r.lastReads(cuts)}
	s.frames = r.framesOf(cuts, s.lastRead, spilled)
	return s
}

// keepFlows makes flow simulate each pace once.
func (s *simulations) keepFlows() {
	s.flows = make([]map[pace]*flow, len(s.frames))
	for k := range s.flows {
		s.flows[k] = map[pace]*flow{}
	}
}

// flow is what section k does at a pace.
func (s *simulations) flow(k int, p pace) *flow {
	if s.flows == nil {
		return s.frames[k].simulate(p)
	}
	p.rows = min(p.rows, s.frames[k].highest)
	fl, ok := s.flows[k][p]
	if !ok {
		fl = s.frames[k].simulate(p)
		s.flows[k][p] = fl
	}
	return fl
}

// bounds returns the steps [first,last] of section s of those that cuts make of n steps.
func bounds(cuts []int, n, s int) (first, last int) {
	last = n - 1
	if s > 0 {
		first = cuts[s-1]
	}
	if s < len(cuts) {
		last = cuts[s] - 1
	}
	return first, last
}

func (r *Request) framesOf(cuts, lastRead []int, spilled map[use]bool) []*frame {
	frames := make([]*frame, len(cuts)+1)
	for s := range frames {
		first, last := bounds(cuts, len(r.Program.Steps), s)
		frames[s] = r.frame(s, first, last, lastRead, spilled)
	}
	return frames
}

// lastReads gives, by tensor, the last section that reads or writes it.
func (r *Request) lastReads(cuts []int) []int {
	p := r.Program
	at := make([]int, len(p.Tensors))
	s := 0
	for i := range p.Steps {
		for s < len(cuts) && i >= cuts[s] {
			s++
		}
		at[p.Steps[i].Dst.Tensor] = max(at[p.Steps[i].Dst.Tensor], s)
		for _, t := range r.facts.reads[i] {
			at[t] = max(at[t], s)
		}
	}
	return at
}
