package memplan

import (
	"math"
	"sort"
)

// draft is a choice of sections and homes, and the plan that follows from it.
type draft struct {
	req     *Request
	cuts    []int        // first step of every section after the first, ascending
	rows    []int        // tick height per section
	keep    []bool       // per tensor: if it crosses sections, it stays whole on the device
	spilled map[use]bool // reads inside one section that go through the host
	// streamed says that parameters are loaded for every section.
	streamed bool
	like     *draft // whose summary is this one's too; nil: none

	plan     *Plan
	home     []int32   // per tensor: the ring its writers use, -1 before its section
	inputs   [][]input // per step: what it reads, and from which ring
	readers  [][]int   // per ring: the steps that read it
	lastRead []int     // per tensor: the last section that reads or writes it
	writer   []int     // per tensor: the last step that writes it
	granule  []int     // per tensor: rows that its writers, which advance together, can all run in multiples of
}

// use is one step's reading of one tensor.
type use struct{ step, tensor int }

type input struct {
	tensor int
	ring   int32
	upload bool // its rows come from the host
	local  bool // the tensor is made in the same section
}

// progress is the state of one section while its ticks are simulated.
type progress struct {
	sec      *Section
	index    int
	done     []int         // per step of the section: rows of Dst made
	end      []int         // per step of the section: rows wanted at the end of this tick
	next     []int         // the same for the next tick
	loaded   map[int32]int // per ring: rows uploaded
	wanted   map[int32]int
	need     []int         // per tensor: rows that must exist at the end of the tick
	local    map[int]bool  // tensors made in this section
	download map[int]bool  // tensors whose rows go to the host
	leaving  map[int32]int // per ring: first row that the previous tick sent to the host
	sinks    []int         // tensors the section must deliver in full
	highest  int           // rows of the highest sink
}

// begin starts a plan without sections.
func (d *draft) begin() {
	p := d.req.Program
	d.plan = &Plan{Program: p, Order: d.req.order, Fixed: d.req.Fixed, Budget: d.req.Budget}
	d.home = make([]int32, len(p.Tensors))
	for i := range d.home {
		d.home[i] = -1
	}
	d.inputs = make([][]input, len(p.Steps))
	d.plan.Sections = make([]Section, len(d.cuts)+1)
	if d.like != nil { // of the same cuts and weights
		d.lastRead, d.writer, d.granule = d.like.lastRead, d.like.writer, d.like.granule
		d.plan.Slot, d.plan.Slots, d.plan.Resident = d.like.plan.Slot, d.like.plan.Slots, d.like.plan.Resident
		return
	}
	d.summarise()
	d.homeWeights()
}

// schedule simulates all sections, filling the plan's moves and ring heights.
func (d *draft) schedule() *Plan {
	p := d.req.Program
	d.begin()
	for s := range d.plan.Sections {
		d.section(s)
	}
	d.plan.reads = make([]map[int]int32, len(p.Steps))
	d.plan.writes = make([]int32, len(p.Steps))
	for i := range p.Steps {
		d.plan.reads[i] = map[int]int32{}
		for _, in := range d.inputs[i] {
			d.plan.reads[i][in.tensor] = in.ring
		}
		d.plan.writes[i] = d.home[p.Steps[i].Dst.Tensor]
	}
	return d.plan
}

// section simulates section s.
func (d *draft) section(s int) {
	first, last := d.bounds(s)
	d.plan.Sections[s] = Section{First: first, Last: last, Rows: d.rows[s]}
	d.run(d.open(s))
}

// smallWeights are parameters that always stay on the device.
const smallWeights = 64 << 10

// homeWeights decides where the parameters of every step live: all in one
// buffer, or, but for small ones, each section's in slots that the next section
// takes over. Slot n is as large as the n-th largest of any section.
func (d *draft) homeWeights() {
	pl, n := d.plan, len(d.req.Program.Steps)
	align := max(d.req.Align, 64)
	pl.Slot = make([]int, n)
	for i := range n {
		pl.Slot[i] = -1
		if !d.streamed || d.req.Weights(i) < smallWeights {
			pl.Resident += alignUp(d.req.Weights(i), align)
		}
	}
	if !d.streamed {
		return
	}
	for s := range pl.Sections {
		first, last := d.bounds(s)
		var steps []int
		for i := first; i <= last; i++ {
			if d.req.Weights(i) >= smallWeights {
				steps = append(steps, i)
			}
		}
		sort.SliceStable(steps, func(a, b int) bool { return d.req.Weights(steps[a]) > d.req.Weights(steps[b]) })
		for k, i := range steps {
			if k == len(pl.Slots) {
				pl.Slots = append(pl.Slots, 0)
			}
			pl.Slot[i] = k
			pl.Slots[k] = max(pl.Slots[k], alignUp(d.req.Weights(i), align))
		}
	}
}

// fixedBytes is what the plan holds on the device besides tensors and scratch.
func (p *Plan) fixedBytes() int64 {
	n := p.Resident
	for _, b := range p.Slots {
		n += b
	}
	for _, f := range p.Fixed {
		n += f.Bytes
	}
	return n
}

// run simulates the ticks of one section. The host's rows for a tick are sent
// during the one before, so that transfers and work overlap.
func (d *draft) run(st *progress) {
	for i := st.sec.First; i <= st.sec.Last; i++ {
		if d.plan.Slot[i] >= 0 {
			st.sec.Moves = append(st.sec.Moves, Move{Kind: LoadWeights, Index: int32(i)})
			d.plan.Cost.UploadBytes += d.req.Weights(i)
		}
	}
	front := d.firstFront(st)
	d.carry(st, front, st.done, st.end)
	d.upload(st, st.end, st.done)
	for {
		st.sec.Ticks++
		st.sec.Moves = append(st.sec.Moves, Move{Kind: Tick})
		last := front >= int64(st.highest)
		if front += int64(st.sec.Rows); !last {
			d.carry(st, front, st.end, st.next)
			if !d.req.Unified {
				d.upload(st, st.next, st.end)
			}
		}
		d.advance(st)
		if last {
			return
		}
		st.end, st.next = st.next, st.end
		if d.req.Unified {
			d.upload(st, st.end, st.done)
		}
	}
}

// summarise fills lastRead, writer and granule.
func (d *draft) summarise() {
	p := d.req.Program
	d.lastRead = make([]int, len(p.Tensors))
	d.writer = make([]int, len(p.Tensors))
	d.granule = make([]int, len(p.Tensors))
	s := 0
	for i := range p.Steps {
		for s < len(d.cuts) && i >= d.cuts[s] {
			s++
		}
		t := p.Steps[i].Dst.Tensor
		d.lastRead[t], d.writer[t] = max(d.lastRead[t], s), i
		d.granule[t] = lcm(max(d.granule[t], 1), max(d.req.Granule(i), 1))
		for _, t := range p.Steps[i].Reads() {
			d.lastRead[t] = max(d.lastRead[t], s)
		}
	}
}

// bounds returns the steps [first,last] of section s.
func (d *draft) bounds(s int) (first, last int) {
	last = len(d.req.Program.Steps) - 1
	if s > 0 {
		first = d.cuts[s-1]
	}
	if s < len(d.cuts) {
		last = d.cuts[s] - 1
	}
	return first, last
}

func (d *draft) newRing(t, s int) int32 {
	d.plan.Rings = append(d.plan.Rings, Ring{Tensor: t, First: s, Last: s})
	d.readers = append(d.readers, nil)
	return int32(len(d.plan.Rings) - 1)
}

// open gives every read and write of section s a ring and finds what the
// section must deliver.
func (d *draft) open(s int) *progress {
	p, sec := d.req.Program, &d.plan.Sections[s]
	n := sec.Last - sec.First + 1
	st := &progress{sec: sec, index: s, done: make([]int, n), end: make([]int, n), next: make([]int, n),
		loaded: map[int32]int{}, wanted: map[int32]int{}, leaving: map[int32]int{},
		need: make([]int, len(p.Tensors)), local: map[int]bool{}, download: map[int]bool{}, highest: 1}
	for i := sec.First; i <= sec.Last; i++ {
		st.local[p.Steps[i].Dst.Tensor] = true
	}
	fromHost := map[int]int32{}
	read := map[int]bool{}
	for i := sec.First; i <= sec.Last; i++ {
		for _, t := range p.Steps[i].Reads() {
			in := d.source(st, use{i, t}, fromHost)
			d.inputs[i] = append(d.inputs[i], in)
			d.readers[in.ring] = append(d.readers[in.ring], i)
			read[t] = true
		}
		d.place(st, p.Steps[i].Dst.Tensor)
	}
	for t := range p.Tensors {
		if !st.local[t] {
			continue
		}
		if t == p.Output {
			st.download[t] = true
		}
		if !read[t] || d.lastRead[t] > s || t == p.Output {
			st.sinks = append(st.sinks, t)
			st.highest = max(st.highest, p.Tensors[t].H)
		}
	}
	sec.Rows = min(max(sec.Rows, 1), st.highest)
	return st
}

// source decides which ring one read uses.
func (d *draft) source(st *progress, u use, fromHost map[int]int32) input {
	in := input{tensor: u.tensor, local: st.local[u.tensor]}
	switch {
	case in.local && d.spilled[u]: // a ring of this reader's own, refilled from the host
		in.ring, in.upload = d.newRing(u.tensor, st.index), true
		st.download[u.tensor] = true
	case in.local:
		in.ring = d.home[u.tensor]
	case d.home[u.tensor] >= 0 && d.keep[u.tensor]:
		in.ring = d.home[u.tensor]
		d.plan.Rings[in.ring].Last = st.index
	case d.keep[u.tensor]: // the input, sent once for all sections
		in.ring, in.upload = d.newRing(u.tensor, st.index), true
		d.home[u.tensor] = in.ring
		d.plan.Rings[in.ring].Rows = d.req.Program.Tensors[u.tensor].H
	default:
		in.upload = true
		if ring, ok := fromHost[u.tensor]; ok {
			in.ring = ring
		} else {
			in.ring = d.newRing(u.tensor, st.index)
			fromHost[u.tensor] = in.ring
		}
	}
	return in
}

// place gives tensor t, written in section st, its ring.
func (d *draft) place(st *progress, t int) {
	if d.home[t] < 0 {
		d.home[t] = d.newRing(t, st.index)
	}
	ring := &d.plan.Rings[d.home[t]]
	ring.Last = st.index
	if d.lastRead[t] > st.index {
		if d.keep[t] {
			ring.Rows = d.req.Program.Tensors[t].H
		} else {
			st.download[t] = true
		}
	}
}

// firstFront is the front (see carry) of the first tick. A deep network needs
// many rows of its first tensors before it can deliver one; the ticks before
// that advance at the same pace as all others, with fronts above the picture,
// so that no ring has to hold the whole lead at once.
func (d *draft) firstFront(st *progress) int64 {
	rows := int64(st.sec.Rows)
	front := min(rows, int64(st.highest))
	if rows >= int64(st.highest) {
		return front
	}
	for {
		d.carry(st, front-rows, st.done, st.end)
		moving := false
		for i := range st.end {
			moving = moving || st.end[i] > 0
		}
		if !moving {
			return front
		}
		front -= rows
	}
}

// upload sends the rows of other sections' tensors that steps read while they
// advance from begin to end.
func (d *draft) upload(st *progress, end, begin []int) {
	for i := st.sec.First; i <= st.sec.Last; i++ {
		if k := i - st.sec.First; end[k] > begin[k] {
			d.load(st, i, end[k], false)
		}
	}
}

// load sends what step i reads from the host to advance to end: tensors made in
// this section (local) or in others.
func (d *draft) load(st *progress, i, end int, local bool) {
	for _, in := range d.inputs[i] {
		if !in.upload || in.local != local {
			continue
		}
		st.wanted[in.ring] = max(st.wanted[in.ring], d.req.Program.Need(&d.req.Program.Steps[i], in.tensor, end))
		if a, b := st.loaded[in.ring], st.wanted[in.ring]; b > a {
			st.sec.Moves = append(st.sec.Moves, Move{Upload, in.ring, int32(a), int32(b)})
			d.plan.Cost.UploadBytes += int64(b-a) * d.req.RowBytes(in.tensor)
			d.grow(st, in.ring, a, b)
			st.loaded[in.ring] = b
		}
	}
}

// carry computes, from the sinks back, how many rows of every step's destination
// must have been made when the section has delivered front rows of its highest
// sink; steps that have made more already stay where they are. Demands above the
// picture are negative and mean none.
func (d *draft) carry(st *progress, front int64, done, end []int) {
	p := d.req.Program
	for t := range st.local {
		st.need[t] = math.MinInt32
	}
	for _, t := range st.sinks {
		h := int64(p.Tensors[t].H)
		st.need[t] = int(min(h, ceilDiv(front*h, int64(st.highest))))
	}
	for i := st.sec.Last; i >= st.sec.First; i-- {
		step := &p.Steps[i]
		t := step.Dst.Tensor
		// All writers of a tensor precede its readers, so each of them finds
		// the same final need and they advance together.
		need := min(p.Tensors[t].H, int(ceilDiv(int64(st.need[t]), int64(d.granule[t])))*d.granule[t])
		end[i-st.sec.First] = max(need, done[i-st.sec.First])
		for _, in := range d.inputs[i] {
			if in.local {
				st.need[in.tensor] = max(st.need[in.tensor], p.Need(step, in.tensor, need))
			}
		}
	}
}

// lcm is the least common multiple of two positive numbers.
func lcm(a, b int) int {
	x, y := a, b
	for y != 0 {
		x, y = y, x%y
	}
	return a / x * b
}

func ceilDiv(a, b int64) int64 {
	q := a / b
	if a%b > 0 {
		q++
	}
	return q
}

// advance emits the moves of one tick in step order and grows the rings to what
// is live at each moment.
func (d *draft) advance(st *progress) {
	p, pl, sec := d.req.Program, d.plan, st.sec
	begins := append([]int(nil), st.done...)
	for i := sec.First; i <= sec.Last; i++ {
		step := &p.Steps[i]
		begin, end := st.done[i-sec.First], st.end[i-sec.First]
		if begin == end {
			continue
		}
		d.load(st, i, end, true)
		sec.Moves = append(sec.Moves, Move{Run, int32(i), int32(begin), int32(end)})
		d.price(i, end-begin)
		t := step.Dst.Tensor
		d.grow(st, d.home[t], begin, end)
		st.done[i-sec.First] = end
		if st.download[t] && d.writer[t] == i { // now the rows have all their channels
			sec.Moves = append(sec.Moves, Move{Download, d.home[t], int32(begin), int32(end)})
			pl.Cost.DownloadBytes += int64(end-begin) * d.req.RowBytes(t)
		}
	}
	clear(st.leaving)
	if d.req.Unified {
		return
	}
	for i := sec.First; i <= sec.Last; i++ { // the next tick must not overwrite what is on its way
		if t := p.Steps[i].Dst.Tensor; st.download[t] && st.end[i-sec.First] > begins[i-sec.First] {
			st.leaving[d.home[t]] = begins[i-sec.First]
		}
	}
}

// grow makes a ring high enough to hold rows up to end next to what its readers
// in this section still want.
func (d *draft) grow(st *progress, ring int32, begin, end int) {
	p, r := d.req.Program, &d.plan.Rings[ring]
	oldest := begin
	if row, ok := st.leaving[ring]; ok {
		oldest = min(oldest, row)
	}
	for _, i := range d.readers[ring] {
		if i >= st.sec.First && i <= st.sec.Last {
			oldest = min(oldest, p.Oldest(&p.Steps[i], r.Tensor, st.done[i-st.sec.First]))
		}
	}
	r.Rows = min(max(r.Rows, end-oldest), p.Tensors[r.Tensor].H)
}
