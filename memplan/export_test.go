package memplan

// OverlapAll plans sections at paces of the caller's, with everything spilled that can be,
// and lets all overlap that may. It returns nil for a network without norms.
func OverlapAll(req *Request, next func() (rows int, ramp bool)) *Plan {
	order := make([]int, len(req.Program.Steps))
	for i := range order {
		order[i] = i
	}
	s := req.inOrder(order).newSectioning(false)
	if s == nil {
		return nil
	}
	s.stream(false, 0)
	s.begin(false)
	paces := make([]pace, s.n)
	for k := range paces {
		paces[k].rows, paces[k].ramp = next()
	}
	s.overlaps = make([]bool, s.n)
	for k := 1; k < s.n; k++ {
		s.overlaps[k] = s.inTime(k, paces)
	}
	d := s.draft()
	copy(d.paces, paces)
	return d.finish("sections")
}

// Stream plans the program as one section of strips of rows, and of ends at both ends.
func Stream(req *Request, rows, ends int) *Plan {
	return req.inOrder(inTheirOrder(req)).streaming(pace{rows: rows, ends: ends}, 0, nil)
}

// StripsBetween plans whole planes between a first section up to a step and a last from another on, which have
// strips of rows, and of ends at both ends.
func StripsBetween(req *Request, first, last, rows, ends int) *Plan {
	return req.inOrder(inTheirOrder(req)).stripsAtEnds(first, last, func(*frame) pace { return pace{rows: rows, ends: ends} })
}

func inTheirOrder(req *Request) []int {
	order := make([]int, len(req.Program.Steps))
	for i := range order {
		order[i] = i
	}
	return order
}

// Branches are the first steps of a network's branches but the first.
func Branches(req *Request) []int { return req.inOrder(inTheirOrder(req)).branchCuts() }
