package memplan

// lifetimes say in which sections tensors are made and read.
type lifetimes struct {
	first    []int   // per tensor: the section that makes it, -1 for the input
	last     []int   // per tensor: the last that reads it
	reads    []int   // per tensor: sections that read it after the one that makes it
	crossing [][]int // per section: tensors that live in others too
}

func (r *Request) lifetimesOf(cuts []int) lifetimes {
	p := r.Program
	n := len(p.Tensors)
	s := lifetimes{first: make([]int, n), last: make([]int, n), reads: make([]int, n), crossing: make([][]int, len(cuts)+1)}
	seen := make([]int, len(p.Tensors))
	for t := range s.first {
		s.first[t], seen[t] = -1, -1
	}
	sec := 0
	for i := range p.Steps {
		for sec < len(cuts) && i >= cuts[sec] {
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
		if !s.crosses(t) {
			continue
		}
		for k := s.first[t]; k <= s.last[t]; k++ {
			s.crossing[k] = append(s.crossing[k], t)
		}
	}
	return s
}

// crosses reports whether tensor t lives in several sections and might stay on the device. The
// input, which no section makes, does not.
func (l *lifetimes) crosses(t int) bool { return l.first[t] >= 0 && l.first[t] < l.last[t] }

// residents say which tensors that cross sections stay on the device.
type residents struct {
	keep []bool   // per tensor: it stays
	kept []int64  // per section: bytes of tensors that cross it and stay
	sign []uint64 // per section: which those are, as the sum of their marks
}

func newResidents(tensors, sections int) residents {
	return residents{keep: make([]bool, tensors), kept: make([]int64, sections), sign: make([]uint64, sections)}
}

// set says whether tensor t of n bytes stays.
func (r *residents) set(l *lifetimes, t int, n int64, keep bool) {
	if r.keep[t] == keep {
		return
	}
	r.keep[t] = keep
	if !l.crosses(t) {
		return
	}
	m := mark(t)
	if !keep {
		n, m = -n, -m
	}
	for k := l.first[t]; k <= l.last[t]; k++ {
		r.kept[k] += n
		r.sign[k] += m
	}
}

// mark is a number for a tensor whose sums with others tell sets of tensors apart
// (splitmix64's step: Steele, Lea and Flood, OOPSLA 2014). Were two sets ever confused, a plan
// would be slower than it could be: what it holds is counted anew when it is made.
func mark(t int) uint64 {
	x := uint64(t+1) * 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
