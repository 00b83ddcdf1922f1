package memplan

import (
	"math"

	"enhance/fuse"
)

// This file plans networks with instance norm, whose statistics need whole
// planes: rows stream through sections that end at norms, and what crosses from
// one section to another stays on the device as long as the budget allows.

// sectioning searches homes and tick heights for fixed sections.
type sectioning struct {
	req      *Request // in norm order
	cuts     []int
	n        int
	streamed bool
	keep     []bool
	first    []int // per tensor: the section that makes it, -1 for the input
	last     []int // per tensor: the last that reads it
	reads    []int // per tensor: sections that read it after the one that makes it
	external [][]int
	base     *draft // a summary for all drafts of these sections
	memo     map[probe]measured
}

// maxExternal is how many tensors may cross a section.
const maxExternal = 16 * 64

// probe is a section at a tick height with some of its tensors kept.
type probe struct {
	section, rows int
	kept          [16]uint64 // bit i: the section's external tensor i; see maxExternal
}

type measured struct {
	bytes   int64
	seconds float64
}

// sections plans r with section-wise streaming for a budget (0: none) as well as
// it can, or returns nil if the network has no norm to cut at.
func (r *Request) sections(streamed bool, budget int64) (*Plan, error) {
	q := r.inOrder(r.normOrder())
	cuts := q.normCuts()
	if len(cuts) == 0 {
		return nil, nil
	}
	s := &sectioning{req: q, cuts: cuts, n: len(cuts) + 1, streamed: streamed, memo: map[probe]measured{}}
	s.lifetimes()
	for _, ts := range s.external {
		if len(ts) > maxExternal {
			return nil, nil // far wider than any network of this kind: other strategies serve it
		}
	}
	s.base = s.draft()
	s.base.begin()
	var best *Plan
	limit := int64(math.MaxInt64)
	if budget > 0 {
		limit = budget
	}
	for range 6 { // packing may need a little more than the sum of what is live
		p, err := s.plan(limit)
		if err != nil {
			return best, err
		}
		if best == nil || p.Peak < best.Peak {
			best = p
		}
		if budget == 0 || p.Peak <= budget {
			return p, nil
		}
		limit -= p.Peak - budget
		if limit <= 0 {
			break
		}
	}
	return best, nil
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

// measure gives the ring bytes and the expected time of section k alone.
func (s *sectioning) measure(k, rows int) measured {
	key := probe{section: k, rows: rows}
	for i, t := range s.external[k] {
		if s.keep[t] {
			key.kept[i/64] |= 1 << (i % 64)
		}
	}
	if m, ok := s.memo[key]; ok {
		return m
	}
	d := s.draft()
	d.begin()
	for i := range d.rows {
		d.rows[i] = rows
	}
	for _, t := range s.external[k] {
		if s.keep[t] && s.first[t] < k {
			d.home[t] = d.newRing(t, s.first[t])
			d.plan.Rings[d.home[t]].Rows = d.req.Program.Tensors[t].H
		}
	}
	d.section(k)
	m := measured{seconds: d.seconds(d.plan.Cost)}
	for _, r := range d.plan.Rings {
		if s.keep[r.Tensor] && s.first[r.Tensor] < s.last[r.Tensor] {
			continue
		}
		m.bytes += int64(r.Rows)*s.req.RowBytes(r.Tensor) + s.req.RimBytes(r.Tensor)
	}
	s.memo[key] = m
	return m
}

func (s *sectioning) draft() *draft {
	return &draft{req: s.req, cuts: s.cuts, rows: make([]int, s.n), keep: s.keep, streamed: s.streamed, like: s.base}
}

// heights lists tick heights of a section, largest first.
func (s *sectioning) heights() []int { return []int{math.MaxInt32, 256, 64, 32, 16, 8, 4, 2} }

// plan chooses homes and heights such that what is live in every section fits
// limit, as far as it can.
func (s *sectioning) plan(limit int64) (*Plan, error) {
	p := s.req.Program
	s.keep = make([]bool, len(p.Tensors))
	for t := range s.keep {
		s.keep[t] = t != p.Input && t != p.Output
	}
	room := limit - s.overhead()
	if room <= 0 {
		return s.smallest()
	}
	rows := make([]int, s.n)
	for k := range s.n {
		rows[k] = s.comfortable(k)
	}
	stuck := make([]bool, s.n) // sections with nothing left to give
	for {
		worst, over := -1, int64(0)
		for k := range s.n {
			if o := s.kept(k) + s.measure(k, rows[k]).bytes - room; o > over && !stuck[k] {
				worst, over = k, o
			}
		}
		if worst < 0 {
			break
		}
		if t := s.evict(worst, room, rows); t >= 0 {
			s.keep[t] = false
			continue
		}
		stuck[worst] = rows[worst] <= 2
		rows[worst] = s.lower(rows[worst])
	}
	for k := range s.n {
		rows[k] = s.fastest(k, rows[k], room)
	}
	d := s.draft()
	copy(d.rows, rows)
	return d.finish("sections")
}

// smallest is where plan ends if nothing fits: everything that can be spilled is,
// and ticks are as low as they get.
func (s *sectioning) smallest() (*Plan, error) {
	for _, ts := range s.external {
		for _, t := range ts {
			if !s.req.Unified && s.req.Program.Tensors[t].Storage == fuse.Activation {
				s.keep[t] = false
			}
		}
	}
	d, hs := s.draft(), s.heights()
	for k := range d.rows {
		d.rows[k] = hs[len(hs)-1]
	}
	return d.finish("sections")
}

// overhead is what is on the device besides tensors.
func (s *sectioning) overhead() (n int64) {
	n = s.base.plan.fixedBytes()
	var scratch int64
	for i := range s.req.Program.Steps {
		scratch = max(scratch, s.req.Scratch(i, s.req.Program.Tensors[s.req.Program.Steps[i].Dst.Tensor].H))
	}
	return n + scratch
}

// comfortable is the smallest height at which section k is about as fast as it
// gets.
func (s *sectioning) comfortable(k int) int {
	best := math.Inf(1)
	hs := s.heights()[:5] // lower ticks only where the budget asks for them
	for _, h := range hs {
		best = min(best, s.measure(k, h).seconds)
	}
	rows := hs[0]
	for _, h := range hs {
		if s.measure(k, h).seconds <= 1.05*best {
			rows = h
		}
	}
	return rows
}

func (s *sectioning) lower(rows int) int {
	for _, h := range s.heights() {
		if h < rows {
			return h
		}
	}
	return 2
}

// fastest is the height of section k with the least time that fits.
func (s *sectioning) fastest(k, rows int, room int64) int {
	best := s.measure(k, rows)
	for _, h := range s.heights() {
		if m := s.measure(k, h); m.seconds < 0.99*best.seconds && s.kept(k)+m.bytes <= room {
			best, rows = m, h
		}
	}
	return rows
}

// evict picks the tensor whose move to the host relieves overfull sections most
// for what its transfers cost, or -1.
func (s *sectioning) evict(worst int, room int64, rows []int) int {
	if s.req.Unified {
		return -1
	}
	best, score := -1, 0.0
	for _, t := range s.external[worst] {
		if !s.keep[t] || s.req.Program.Tensors[t].Storage != fuse.Activation {
			continue
		}
		relief := 0.0
		for k := s.first[t]; k <= s.last[t]; k++ {
			if over := s.kept(k) + s.measure(k, rows[k]).bytes - room; over > 0 {
				relief += float64(min(over, s.bytes(t)))
			}
		}
		if v := relief / (float64(s.bytes(t)) * float64(1+s.reads[t])); v > score {
			best, score = t, v
		}
	}
	return best
}
