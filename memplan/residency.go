package memplan

import (
	"math"
	"runtime"
	"sort"
	"sync"
	"sync/atomic"
)

// This file searches what stays on the device and how fast sections advance.

// heights are the strip heights that sections are tried with.
var heights = []int{math.MaxInt32, 512, 256, 128, 96, 80, 64, 56, 48, 40, 32, 24, 20, 16, 12, 8, 6, 4, 2, 1}

// lowStrip is the height below which strips only save memory.
const lowStrip = 16

// quickest is the pace of section k with strips of rows rows that takes the least time.
func (s *sectioning) quickest(k, rows int) (pace, measured) {
	p := pace{rows: rows}
	m := s.measure(k, p)
	if s.req.Unified || rows < lowStrip || rows >= s.frames[k].highest && rows > heights[1] {
		return p, m
	}
	q := pace{rows: rows, ramp: true}
	if e := s.measure(k, q); e.seconds < m.seconds {
		return q, e
	}
	return p, m
}

// plan chooses what stays on the device and at which paces sections run such that what is live in every section fits
// limit, as far as it can: as if any buffer could be allocated, and, if that makes one that
// cannot, such that all can.
func (s *sectioning) plan(limit int64) *Plan {
	s.bounded = false
	p := s.choose(limit)
	if !s.req.allocates(p.Largest) {
		s.bounded = true
		p = s.choose(limit)
	}
	return p
}

func (s *sectioning) choose(limit int64) *Plan {
	s.begin(true)
	room := limit - s.fixed - s.waiting()
	paces := make([]pace, s.n)
	if s.initial == nil {
		s.initial = s.initialPaces()
	}
	copy(paces, s.initial)
	s.fit(paces, room)
	for k := range s.n {
		paces[k] = s.fastest(k, paces[k], room)
	}
	s.returnSpilled(paces, room)
	s.overlap(paces, room)
	d := s.draft()
	copy(d.paces, paces)
	return d.finish("sections")
}

// fit moves tensors to the host and lowers strips until every section fits room
// or has nothing left to give.
func (s *sectioning) fit(paces []pace, room int64) {
	for k := range s.n {
		for !s.allocates(s.measure(k, paces[k]).largest) && paces[k].rows > heights[len(heights)-1] {
			paces[k] = s.lower(k, paces[k])
		}
	}
	stuck := make([]bool, s.n)
	for {
		worst, over := -1, int64(0)
		for k := range s.n {
			if o := s.kept[k] + s.measure(k, paces[k]).bytes - room; o > over && !stuck[k] {
				worst, over = k, o
			}
		}
		if worst < 0 {
			return
		}
		if t := s.chooseSpill(worst, room, paces); t >= 0 {
			s.set(t, false)
			continue
		}
		stuck[worst] = paces[worst].rows <= heights[len(heights)-1]
		paces[worst] = s.lower(worst, paces[worst])
	}
}

// waiting is what waits on the host, where that counts against the budget: on a device that
// shares its memory only tensors do that cannot stay, so it is the same in all plans.
func (s *sectioning) waiting() (n int64) {
	if s.req.spills() {
		return 0
	}
	var items []*item
	for t := range s.keep {
		if s.crosses(t) && !s.keep[t] && t != s.req.Program.Output {
			items = append(items, &item{bytes: s.req.hostBytes(t), first: s.first[t], last: s.last[t]})
		}
	}
	return total(pack(items, 0, hostAlign))
}

// holds reports whether section k may be as it was measured, beside what crosses it.
func (s *sectioning) holds(k int, m measured, room int64) bool {
	return s.kept[k]+m.bytes <= room && s.allocates(m.largest)
}

// initialPaces are the paces that a search begins with, found on all cores.
func (s *sectioning) initialPaces() []pace {
	paces := make([]pace, s.n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), s.n) {
		wg.Go(func() {
			for k := int(next.Add(1)) - 1; k < s.n; k = int(next.Add(1)) - 1 {
				paces[k] = s.initialPace(k)
			}
		})
	}
	wg.Wait()
	return paces
}

// initialPace is the slowest pace at which section k is about as fast as it gets.
func (s *sectioning) initialPace(k int) pace {
	best := math.Inf(1)
	for _, h := range heights {
		if h >= lowStrip { // lower strips only where the budget asks for them
			_, m := s.quickest(k, h)
			best = min(best, m.seconds)
		}
	}
	var p pace
	for _, h := range heights {
		if h < lowStrip {
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
	for _, h := range heights {
		if h < min(p.rows, lowStrip) {
			break
		}
		if q, m := s.quickest(k, h); m.seconds < 0.995*best.seconds && s.holds(k, m, room) {
			best, p = m, q
		}
	}
	return p
}

// returnSpilled takes tensors back from the host if lower strips make room for them and
// that saves time.
func (s *sectioning) returnSpilled(paces []pace, room int64) {
	var away []int
	for t := range s.keep {
		if !s.keep[t] && s.crosses(t) && s.keeps(t) {
			away = append(away, t)
		}
	}
	worth := func(t int) float64 { return float64(1+s.reads[t]) / float64(1+s.last[t]-s.first[t]) }
	sort.SliceStable(away, func(a, b int) bool { return worth(away[a]) > worth(away[b]) })
	for _, t := range away {
		s.set(t, true)
		var then []pace
		gain := 0.0
		for k := s.first[t]; k <= s.last[t]; k++ {
			q, ok := s.best(k, room)
			if !ok {
				break
			}
			s.set(t, false)
			gain += s.measure(k, paces[k]).seconds
			s.set(t, true)
			gain -= s.measure(k, q).seconds
			then = append(then, q)
		}
		if s.set(t, len(then) == s.last[t]-s.first[t]+1 && gain > 0); s.keep[t] {
			copy(paces[s.first[t]:], then)
		}
	}
}

// best is the pace of section k with the least time of all that fit.
func (s *sectioning) best(k int, room int64) (p pace, ok bool) {
	least := math.Inf(1)
	if s.kept[k] > room {
		return p, false
	}
	for _, h := range heights {
		if h < lowStrip {
			break
		}
		if q, m := s.quickest(k, h); m.seconds < least && s.holds(k, m, room) {
			p, least, ok = q, m.seconds, true
		}
	}
	return p, ok
}

// chooseSpill picks the tensor whose move to the host relieves overfull sections most
// for what its transfers cost, or -1.
func (s *sectioning) chooseSpill(worst int, room int64, paces []pace) int {
	if !s.req.spills() {
		return -1
	}
	over := make([]int64, s.n)
	for k := range over {
		over[k] = s.kept[k] + s.measure(k, paces[k]).bytes - room
	}
	best, score := -1, 0.0
	for _, t := range s.crossing[worst] {
		if !s.keep[t] || !s.req.Program.Tensors[t].Storage.Planes() {
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
