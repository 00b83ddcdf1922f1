package memplan

import (
	"math"
	"slices"

	"enhance/internal/buffers"
)

// pace is how fast a section advances: rows of its highest sink in one strip. A
// section that ramps begins and ends with lower strips, whose transfers, which
// have no work beside them, are short.
//
// A section with ends begins and ends with strips of so many rows, and with its first row:
// what deep layers read of that makes the first strip the largest of theirs. Strips
// of other sections begin above the picture (see firstFront).
type pace struct {
	rows int
	ramp bool
	ends int
}

// flow is what a section does at one pace. It holds every transfer that may be
// needed: those of tensors that stay on the device are left out of a plan. Rows
// depend on demand alone, so the rest is the same whatever stays.
type flow struct {
	strips   int
	moves    []Move // Upload and Download name rings of the frame
	rows     []int  // by ring: the height that holds what its readers still want
	held     []int  // the same if its rows also go to the host, from where the next strip must not overwrite them
	work     []float64
	launches int
	flops    int64
	scratch  []int64 // by level: what launches work with (see facts.scratch)
}

// stripUnit is what the heights of strips of a section with ends are multiples of: tiles
// of rows are full in all but the deepest layers.
const stripUnit = 64

// rampSteps is how often a strip is halved at the ends of a section that ramps.
const rampSteps = 3

// simulation is the state of a section while its strips are simulated.
type simulation struct {
	*frame
	*flow
	p       pace
	done    []int // by step: rows of its destination made
	end     []int // wanted at the end of this strip
	next    []int // and of the next one
	begins  []int
	loaded  []int // by ring: rows uploaded
	wanted  []int
	need    []int // by ring: rows that must exist at the end of the strip
	leaving []int // by ring: first row that the previous strip sent to the host, -1 if none
}

// simulate runs the strips of a section. The host's rows for a strip are sent
// during the one before, so that transfers and work overlap.
func (fr *frame) simulate(p pace) *flow {
	n, m := fr.last-fr.first+1, len(fr.rings)
	p.rows = min(max(p.rows, 1), fr.highest)
	p.ends = min(p.ends, p.rows)
	ints := make([]int, 4*n+4*m)
	cut := func(n int) []int {
		v := ints[:n:n]
		ints = ints[n:]
		return v
	}
	s := &simulation{frame: fr, flow: &flow{rows: make([]int, m), held: make([]int, m), scratch: make([]int64, fr.req.facts.levels)}, p: p,
		done: cut(n), end: cut(n), next: cut(n), begins: cut(n), loaded: cut(m), wanted: cut(m), need: cut(m), leaving: cut(m)}
	for k := range s.leaving {
		s.leaving[k] = -1
	}
	spare := spareMoves.Get()
	s.moves, s.work = (*spare)[:0], make([]float64, 0, fr.highest/p.rows+2*rampSteps)
	s.run()
	*spare, s.moves = s.moves, slices.Clone(s.moves)
	spareMoves.Put(spare)
	return s.flow
}

// spareMoves is room for the moves of a section while nobody knows how many they are: a
// search simulates thousands, which would otherwise leave most of its garbage.
var spareMoves = buffers.Values[[]Move]{New: func() *[]Move { return new([]Move) }}

func (s *simulation) run() {
	front := s.firstFront()
	s.carry(front, s.done, s.end)
	s.upload(s.end, s.done)
	lowest, step := s.lowest(), s.lowest()
	for {
		s.strips++
		s.moves = append(s.moves, Move{Kind: NextStrip})
		s.work = append(s.work, 0)
		left := int64(s.highest) - front
		if left > 0 {
			// The next strip is at most twice as high as the last, and at most half of
			// what is left, within the limits of the pace.
			step = min(2*step, s.p.rows)
			if s.p.ramp {
				step = max(min(step, int((left+1)/2)), lowest)
			}
			if s.p.ends > 0 {
				step = s.p.toward(step, int(left))
			}
			front += int64(step)
			s.carry(front, s.end, s.next)
			if !s.req.Unified {
				s.upload(s.next, s.end)
			}
		}
		s.advance()
		if left <= 0 {
			return
		}
		s.end, s.next = s.next, s.end
		if s.req.Unified {
			s.upload(s.end, s.done)
		}
	}
}

// toward is how high a strip is that may have step rows of the left ones, so that those
// behind it become lower by half at most, down to the last.
func (p pace) toward(step, left int) int {
	step = max(min(step, left*2/3/stripUnit*stripUnit), p.ends)
	switch {
	case left-step >= p.ends:
		return step
	case left <= p.rows:
		return left
	}
	return left - p.ends
}

// lowest is the height of the lowest strips.
func (s *simulation) lowest() int {
	switch {
	case s.p.ends > 0:
		return min(s.p.ends, s.p.rows)
	case !s.p.ramp:
		return s.p.rows
	}
	return max(s.p.rows>>rampSteps, 1)
}

// firstFront is the front (see carry) of the first strip. A deep network needs
// many rows of its first tensors before it can deliver one; the strips before
// that advance at the same pace as all others, with fronts above the picture,
// so that no ring has to hold the whole lead at once.
func (s *simulation) firstFront() int64 {
	rows := int64(s.lowest())
	front := min(rows, int64(s.highest))
	if rows >= int64(s.highest) || s.p.ends > 0 {
		return front
	}
	for {
		s.carry(front-rows, s.done, s.end)
		moving := false
		for _, end := range s.end {
			moving = moving || end > 0
		}
		if !moving {
			return front
		}
		front -= rows
	}
}

// carry computes, from the sinks back, how many rows of every step's destination
// must have been made when the section has delivered front rows of its highest
// sink; steps that have made more already stay where they are. Demands above the
// picture are negative and mean none.
func (s *simulation) carry(front int64, done, end []int) {
	p, granule := s.req.Program, s.req.facts.granule
	for k := range s.need {
		s.need[k] = math.MinInt32
	}
	for _, k := range s.sinks {
		h := int64(s.rings[k].h)
		s.need[k] = int(min(h, ceilDiv(front*h, int64(s.highest))))
	}
	for i := s.last; i >= s.first; i-- {
		step, ring := &p.Steps[i], s.dst[i-s.first]
		g := granule[step.Dst.Tensor]
		// All writers of a tensor precede its readers, so each of them finds
		// the same final need and they advance together.
		need := s.need[ring]
		if in := s.inputs[i-s.first][0]; step.Kind.Summarises() && in.made >= 0 {
			// At once, whoever wants the rows: their convolution may leave statistics in
			// scratch, for this step alone.
			need = max(need, s.need[in.made])
		}
		if g > 1 {
			need = int(ceilDiv(int64(need), int64(g))) * g
		}
		need = min(need, s.rings[ring].h)
		end[i-s.first] = max(need, done[i-s.first])
		for _, in := range s.inputs[i-s.first] {
			if in.made >= 0 {
				s.need[in.made] = max(s.need[in.made], p.Need(step, in.tensor, need))
			}
		}
	}
}

func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// upload sends the rows of other sections' tensors that steps read while they
// advance from begin to end.
func (s *simulation) upload(end, begin []int) {
	for k := range end {
		if end[k] > begin[k] {
			s.load(k, end[k], false)
		}
	}
}

// load sends what the section's step k reads from the host to advance to end:
// tensors made in this section (own) or in others.
func (s *simulation) load(k, end int, own bool) {
	for _, in := range s.inputs[k] {
		if !in.upload || (in.made >= 0) != own {
			continue
		}
		r := in.ring
		s.wanted[r] = max(s.wanted[r], s.req.Program.Need(&s.req.Program.Steps[s.first+k], in.tensor, end))
		if a, b := s.loaded[r], s.wanted[r]; b > a {
			s.moves = append(s.moves, Move{Upload, r, int32(a), int32(b)})
			s.grow(r, a, b)
			s.loaded[r] = b
		}
	}
}

// advance emits the moves of one strip in step order and grows the rings to what
// is live at each moment.
func (s *simulation) advance() {
	copy(s.begins, s.done)
	for i := s.first; i <= s.last; i++ {
		k := i - s.first
		begin, end := s.done[k], s.end[k]
		if begin == end {
			continue
		}
		s.load(k, end, true)
		s.moves = append(s.moves, Move{Run, int32(i), int32(begin), int32(end)})
		s.price(i, end-begin)
		ring := s.dst[k]
		s.grow(ring, begin, end)
		s.done[k] = end
		if s.rings[ring].leaves && s.req.facts.writer[s.rings[ring].tensor] == i { // now the rows have all their channels
			s.moves = append(s.moves, Move{Download, ring, int32(begin), int32(end)})
		}
	}
	if s.req.Unified {
		return
	}
	for k := range s.leaving {
		s.leaving[k] = -1
	}
	for k, ring := range s.dst { // the next strip must not overwrite what is on its way
		if s.rings[ring].leaves && s.end[k] > s.begins[k] {
			s.leaving[ring] = s.begins[k]
		}
	}
}

// price adds one launch of step i over rows to the strip's work.
func (s *simulation) price(i, rows int) {
	f := s.req.facts
	want := s.req.Scratch(i, rows)
	for level := range s.scratch {
		s.scratch[level] = max(s.scratch[level], f.scratch(i, want, level))
	}
	s.launches++
	s.flops += f.flops[i] * int64(rows)
	s.work[len(s.work)-1] += s.req.launchSeconds(i, rows)
}

// launchSeconds is what a launch of step i over rows takes.
func (r *Request) launchSeconds(i, rows int) float64 {
	f, m, busy := r.facts, &r.Model, 0.0
	if r.BusyRows != nil {
		busy = r.BusyRows(i, rows)
	}
	if busy == 0 {
		busy = float64(rows) + m.Saturation/2/f.samples[i]
	}
	return m.LaunchSeconds + busy*f.seconds[i]
}

// grow makes a ring high enough to hold rows up to end next to what its readers
// still want.
func (s *simulation) grow(ring int32, begin, end int) {
	p, r := s.req.Program, &s.rings[ring]
	oldest := begin
	for _, i := range r.readers {
		oldest = min(oldest, p.Oldest(&p.Steps[i], r.tensor, s.done[i-s.first]))
	}
	s.rows[ring] = min(max(s.rows[ring], end-oldest), r.h)
	if row := s.leaving[ring]; row >= 0 {
		oldest = min(oldest, row)
	}
	s.held[ring] = min(max(s.held[ring], end-oldest), r.h)
}
