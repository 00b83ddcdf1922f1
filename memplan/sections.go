package memplan

import (
	"math"
	"sort"

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
	first    []int // per tensor: the section that makes it, -1 for the input
	last     []int // per tensor: the last that reads it
	reads    []int // per tensor: sections that read it after the one that makes it
	external [][]int
	lastRead []int
	frames   []*frame
	flows    map[flowKey]*flow
	memo     map[probe]measured
	moved    []link
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
	bytes   int64
	seconds float64
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
	return &draft{req: s.req, cuts: s.cuts, paces: make([]pace, s.n), keep: append([]bool(nil), s.keep...), streamed: s.streamed, frugal: s.frugal,
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
		m.bytes += int64(rows)*s.req.facts.rowBytes[r.tensor] + s.req.facts.rimBytes[r.tensor]
	}
	s.moved = fl.transfers(fr, func(i int32) bool { return crosses(fr.rings[i].tensor) }, s.moved)
	m.seconds = s.req.Model.seconds(fl, s.moved, s.weights[k], s.req.Unified)
	s.memo[key] = m
	return m
}

// heights are the tick heights that sections are tried with.
var heights = []int{math.MaxInt32, 512, 256, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 2, 1}

// lowTick is the height below which ticks only save memory.
const lowTick = 16

// quickest is the pace of section k with ticks of rows rows that takes the least time.
func (s *sectioning) quickest(k, rows int) (pace, measured) {
	p := pace{rows: rows}
	m := s.measure(k, p)
	if s.req.Unified || rows < lowTick || rows >= s.frames[k].highest && rows > heights[1] {
		return p, m
	}
	q := pace{rows: rows, ease: true}
	if e := s.measure(k, q); e.seconds < m.seconds {
		return q, e
	}
	return p, m
}

// plan chooses homes and paces such that what is live in every section fits
// limit, as far as it can.
func (s *sectioning) plan(limit int64) (*Plan, error) {
	p := s.req.Program
	s.keep = make([]bool, len(p.Tensors))
	for t := range s.keep {
		s.keep[t] = t != p.Input && t != p.Output
	}
	room := limit - s.fixed
	paces := make([]pace, s.n)
	for k := range s.n {
		paces[k] = s.comfortable(k)
	}
	s.fit(paces, room)
	for k := range s.n {
		paces[k] = s.fastest(k, paces[k], room)
	}
	s.recall(paces, room)
	d := s.draft()
	copy(d.paces, paces)
	return d.finish("sections")
}

// fit moves tensors to the host and lowers ticks until every section fits room
// or has nothing left to give.
func (s *sectioning) fit(paces []pace, room int64) {
	stuck := make([]bool, s.n)
	for {
		worst, over := -1, int64(0)
		for k := range s.n {
			if o := s.kept(k) + s.measure(k, paces[k]).bytes - room; o > over && !stuck[k] {
				worst, over = k, o
			}
		}
		if worst < 0 {
			return
		}
		if t := s.evict(worst, room, paces); t >= 0 {
			s.keep[t] = false
			continue
		}
		stuck[worst] = paces[worst].rows <= heights[len(heights)-1]
		paces[worst] = s.lower(worst, paces[worst])
	}
}

// comfortable is the slowest pace at which section k is about as fast as it gets.
func (s *sectioning) comfortable(k int) pace {
	best := math.Inf(1)
	for _, h := range heights {
		if h >= lowTick { // lower ticks only where the budget asks for them
			_, m := s.quickest(k, h)
			best = min(best, m.seconds)
		}
	}
	var p pace
	for _, h := range heights {
		if h < lowTick {
			break
		}
		if q, m := s.quickest(k, h); p.rows == 0 || m.seconds <= 1.05*best {
			p = q
		}
	}
	return p
}

func (s *sectioning) lower(k int, p pace) pace {
	for _, h := range heights {
		if h < min(p.rows, s.frames[k].highest) {
			q, _ := s.quickest(k, h)
			return q
		}
	}
	return pace{rows: heights[len(heights)-1]}
}

// fastest is the pace of section k with the least time that fits.
func (s *sectioning) fastest(k int, p pace, room int64) pace {
	best := s.measure(k, p)
	kept := s.kept(k)
	for _, h := range heights {
		if h < min(p.rows, lowTick) {
			break
		}
		if q, m := s.quickest(k, h); m.seconds < 0.995*best.seconds && kept+m.bytes <= room {
			best, p = m, q
		}
	}
	return p
}

// recall takes tensors back from the host if lower ticks make room for them and
// that saves time.
func (s *sectioning) recall(paces []pace, room int64) {
	p := s.req.Program
	var away []int
	for t := range s.keep {
		if !s.keep[t] && s.first[t] >= 0 && s.first[t] < s.last[t] && t != p.Output {
			away = append(away, t)
		}
	}
	worth := func(t int) float64 { return float64(1+s.reads[t]) / float64(1+s.last[t]-s.first[t]) }
	sort.SliceStable(away, func(a, b int) bool { return worth(away[a]) > worth(away[b]) })
	for _, t := range away {
		s.keep[t] = true
		var then []pace
		gain := 0.0
		for k := s.first[t]; k <= s.last[t]; k++ {
			q, ok := s.best(k, room)
			if !ok {
				break
			}
			s.keep[t] = false
			gain += s.measure(k, paces[k]).seconds
			s.keep[t] = true
			gain -= s.measure(k, q).seconds
			then = append(then, q)
		}
		if s.keep[t] = len(then) == s.last[t]-s.first[t]+1 && gain > 0; s.keep[t] {
			copy(paces[s.first[t]:], then)
		}
	}
}

// best is the pace of section k with the least time of all that fit.
func (s *sectioning) best(k int, room int64) (p pace, ok bool) {
	kept, least := s.kept(k), math.Inf(1)
	if kept > room {
		return p, false
	}
	for _, h := range heights {
		if h < lowTick {
			break
		}
		if q, m := s.quickest(k, h); m.seconds < least && kept+m.bytes <= room {
			p, least, ok = q, m.seconds, true
		}
	}
	return p, ok
}

// evict picks the tensor whose move to the host relieves overfull sections most
// for what its transfers cost, or -1.
func (s *sectioning) evict(worst int, room int64, paces []pace) int {
	if s.req.Unified {
		return -1
	}
	over := make([]int64, s.n)
	for k := range over {
		over[k] = s.kept(k) + s.measure(k, paces[k]).bytes - room
	}
	best, score := -1, 0.0
	for _, t := range s.external[worst] {
		if !s.keep[t] || s.req.Program.Tensors[t].Storage != fuse.Activation {
			continue
		}
		relief := 0.0
		for k := s.first[t]; k <= s.last[t]; k++ {
			relief += float64(min(max(over[k], 0), s.bytes(t)))
		}
		if v := relief / (float64(s.bytes(t)) * float64(1+s.reads[t])); v > score {
			best, score = t, v
		}
	}
	return best
}
