package memplan

import (
	"fmt"
	"math"
	"slices"
)

// BudgetError reports that no plan fits the budget.
type BudgetError struct {
	Budget  Budget
	Minimum int64 // the smallest budget that works for this program and device
	// Kept is how many of these bytes are whole maps that later sections read, at
	// the step Where, where all rings together are largest.
	Kept  int64
	Where string
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("memory budget of %d bytes is too small: this photo and model need at least %d bytes on this device", e.Budget.Bytes(), e.Minimum)
}

// Make returns the plan with the least expected time that keeps within the budget and the
// largest allocation, or a *BudgetError that names the smallest budget that works, or, if no
// budget does, an *AllocError that names the smallest largest allocation.
func Make(req *Request) (*Plan, error) {
	best, nearest := req.search()
	if best != nil {
		return best, nil
	}
	if err := req.allocError(nearest); err != nil {
		return nil, err
	}
	kept, where := nearest.mostKept()
	return nil, &BudgetError{Budget: req.Budget, Minimum: nearest.Held(), Kept: kept, Where: where}
}

// Minimum is the smallest budget in bytes with which [Make] finds a plan for the
// request; the request's own budget does not matter. The error is Make's.
func Minimum(req *Request) (int64, error) {
	r := *req
	r.Budget = Limit(0) // which no plan fits
	_, nearest := r.search()
	if err := r.allocError(nearest); err != nil {
		return 0, err
	}
	return nearest.Held(), nil
}

// spills reports whether what waits on the host takes no byte of the device's memory.
func (r *Request) spills() bool { return !r.Unified || r.HostRest }

// search gives the best plan that keeps within both limits, nil if none does, and the nearest
// to them of those that were tried.
func (req *Request) search() (best, nearest *Plan) {
	if !req.Unified || !req.HostRest {
		return req.searchSpilling()
	}
	r := *req
	r.HostRest = false
	best, without := r.searchSpilling()
	if best != nil {
		return best, without
	}
	if best, nearest = req.searchSpilling(); req.nearer(without, nearest) {
		nearest = without
	}
	return best, nearest
}

// searchSpilling is search where what waits on the host is decided.
func (req *Request) searchSpilling() (best, nearest *Plan) {
	consider := func(p *Plan) {
		if nearest == nil || req.nearer(p, nearest) {
			nearest = p
		}
		if req.fits(p) && better(p, best) {
			best = p
		}
	}
	identity := make([]int, len(req.Program.Steps))
	for i := range identity {
		identity[i] = i
	}
	req = req.inOrder(identity)
	if req.Rows > 0 {
		req.considerStreaming(consider, func() bool { return best != nil })
		return best, nearest
	}
	fastest := req.wholePlanes(true)
	consider(req.wholePlanes(false))
	consider(fastest)
	if req.WholePlanes {
		return best, nearest
	}
	found := func() bool { return best != nil }
	if !req.normalises() {
		if !req.Unified && req.Model.LinkRate > 0 {
			req.considerFewStrips(consider)
		}
		req.considerStreaming(consider, found)
		// Low strips, and rows that go through the host in between, may take longer than to
		// send all that lies between convolutions there and back.
		found = func() bool { return best != nil && best.Cost.Seconds < slowStreaming*fastest.Cost.Seconds }
	}
	// With memory to spare, whole planes are as fast as a GPU gets. Streaming through a norm
	// means holding its whole input: sections do better.
	if !found() || req.Unified && req.normalises() {
		req.considerSections(consider, found)
	}
	return best, nearest
}

// slowStreaming is how many times as long as with whole planes a plan of one section may take
// before sections are tried beside it.
const slowStreaming = 2

// mostKept gives the bytes of whole maps in the section that holds most, and its
// last step.
func (p *Plan) mostKept() (kept int64, where string) {
	most := int64(-1)
	for _, f := range p.Table() {
		if n := f.Kept + f.Rings; n > most {
			most, kept, where = n, f.Kept, f.Last
		}
	}
	return kept, where
}

// considerStreaming plans the program as one section: with all the scratch that launches
// want and, if nothing fits but would with the least, with as little less of it as does.
func (r *Request) considerStreaming(consider func(*Plan), found func() bool) {
	r.considerHeights(0, consider, found)
	last := r.facts.levels - 1
	if found() || last == 0 {
		return
	}
	fits := false
	r.considerHeights(last, func(p *Plan) {
		if r.fits(p) {
			fits = true
		} else {
			consider(p)
		}
	}, func() bool { return fits })
	for level := 1; fits && level <= last && !found(); level++ {
		r.considerHeights(level, consider, found)
	}
}

// considerHeights plans the program as one section with strips of all heights, spilling where
// that is needed and helps.
func (r *Request) considerHeights(level int, consider func(*Plan), found func() bool) {
	above := 0 // the height before, where that is too high
	for _, rows := range r.stripHeights() {
		if rows < lowStrips && r.Rows == 0 && found() {
			break // very low strips only save memory
		}
		p := r.streaming(pace{rows: rows}, level, nil)
		if consider(p); !r.fits(p) {
			consider(r.spilling(rows, level, p))
			above = rows
		} else if above > 0 && !r.Unified {
			for _, between := range []int{rows * 7 / 4, rows * 3 / 2, rows * 5 / 4} {
				if between > rows && between < above {
					consider(r.streaming(pace{rows: between}, level, nil))
				}
			}
			above = 0
		}
	}
}

// considerSections plans section by section, and, if nothing else fits, with few
// parameters at a time; then the same with less scratch than all kernels want to have; and
// then with ever fewer of the largest parameters at a time.
func (r *Request) considerSections(consider func(*Plan), found func() bool) {
	var divided [2]*sectioning
	for _, squeeze := range []bool{false, true} {
		for k, heavy := range []bool{false, true} {
			if squeeze && r.facts.levels <= 2 || (squeeze || heavy) && found() || heavy && !r.spills() {
				continue
			}
			if divided[k] == nil {
				divided[k] = r.newSectioning(heavy)
			}
			if divided[k] == nil { // the network has no place to divide it at
				continue
			}
			r.considerWeights(divided[k], heavy, squeeze, consider)
		}
	}
	if r.spills() && divided[1] != nil {
		r.considerGroups(divided[1], consider, found)
	}
}

// considerGroups plans sections of few parameters each, of the largest of which launches
// load a half, a quarter and so on at a time.
func (r *Request) considerGroups(s *sectioning, consider func(*Plan), found func() bool) {
	for group := slices.Max(r.facts.weights) / 2; !found() && group >= smallWeights; group /= 2 {
		was := s.fixed
		if s.stream(true, group); s.fixed == was {
			continue
		}
		consider(s.squeezed())
	}
}

// considerWeights plans sections with all parameters on the device if they are a small
// part of the budget, and with each section's.
func (r *Request) considerWeights(s *sectioning, heavy, squeeze bool, consider func(*Plan)) {
	for _, streamed := range []bool{false, true} {
		if heavy && !streamed || streamed && !r.spills() {
			continue
		}
		s.stream(streamed, 0)
		if !streamed && r.spills() && s.fixed > r.Budget.Bytes()/8 {
			continue // loading them again takes less time than the room they take would cost
		}
		var p *Plan
		if squeeze {
			p = s.squeezed()
		} else {
			p = s.within(0, min(1, r.facts.levels-1))
		}
		if consider(p); r.fits(p) {
			return // loading parameters again would hardly make room
		}
	}
}

// better reports whether plan p is to be preferred to q: it is clearly faster, or
// as fast within what the cost model can tell and smaller.
func better(p, q *Plan) bool {
	if q == nil {
		return true
	}
	const same = 1.03
	if p.Cost.Seconds*same < q.Cost.Seconds {
		return true
	}
	return p.Cost.Seconds < q.Cost.Seconds*same && p.Peak < q.Peak
}

// stripHeights lists the heights that row streaming is tried with, largest first.
func (r *Request) stripHeights() []int {
	if r.Rows > 0 {
		return []int{r.Rows}
	}
	h := 1
	for _, t := range r.Program.Tensors {
		h = max(h, t.H)
	}
	hs := []int{h}
	for rows := 512; rows >= lowestStrips; rows /= 2 {
		if rows < h {
			hs = append(hs, rows)
		}
	}
	return hs
}

// lowStrips is the height below which launches are too small to be worth while;
// lowestStrips is the least that is tried.
const (
	lowStrips    = 8
	lowestStrips = 2
)

// wholePlanes runs one step after another over whole planes, each tensor on the
// device from its first writer to its last reader. The input may stay there too,
// or be sent again to every step that reads it.
func (r *Request) wholePlanes(keepInput bool) *Plan {
	n := len(r.Program.Steps)
	d := &draft{req: r, choice: choice{paces: make([]pace, n), keep: make([]bool, len(r.Program.Tensors))}}
	for i := range n {
		if i > 0 {
			d.cuts = append(d.cuts, i)
		}
		d.paces[i].rows = math.MaxInt32
	}
	for t := range d.keep {
		d.keep[t] = t != r.Program.Input || keepInput
	}
	return d.finish("whole planes")
}

// streaming runs the whole program as one section.
func (r *Request) streaming(p pace, level int, spilled map[use]bool) *Plan {
	d := &draft{req: r, choice: choice{level: level, paces: []pace{p}, keep: make([]bool, len(r.Program.Tensors)), spilled: spilled}}
	name := "row streaming"
	if len(spilled) > 0 {
		name += " with spilling"
	}
	return d.finish(name)
}

// settle completes the cost with what depends on the finished layout.
func (d *draft) settle() {
	c, m := &d.plan.Cost, &d.req.Model
	if m.CacheBytes > 0 && m.MissPenalty > 1 {
		var rings int64
		for _, a := range d.plan.Arenas {
			rings += a
		}
		// From all hits at the cache's size to all misses at eight times it.
		over := (math.Log2(float64(rings)) - math.Log2(float64(m.CacheBytes))) / 3
		more := c.WorkSeconds * (m.MissPenalty - 1) * min(max(over, 0), 1)
		c.WorkSeconds += more
		c.Seconds += more
	}
	if m.LinkRate > 0 {
		u, down := m.both(c.UploadBytes, c.DownloadBytes)
		c.LinkSeconds = max(u, down)
	}
	d.placeSpills()
}
