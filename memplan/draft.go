package memplan

import "slices"

// choice is what a plan follows from: sections, paces and what stays on the device.
type choice struct {
	cuts     []int        // first step of every section after the first, ascending
	paces    []pace       // per section
	keep     []bool       // per tensor: if it crosses sections, it stays whole on the device
	overlaps []bool       // per section: it overlaps the one before; nil: none does
	spilled  map[use]bool // reads inside one section that go through the host
	// streamed says that parameters are loaded for every section.
	streamed bool
	group    int64 // steps load larger parameters than so many bytes in groups; 0: none does
	level    int   // how little scratch launches have; see facts.scratch
}

// overlapping reports whether section s overlaps the one before.
func (c *choice) overlapping(s int) bool { return s < len(c.overlaps) && c.overlaps[s] }

// draft is a choice and the plan that follows.
type draft struct {
	req *Request
	choice
	*simulations // made if nil

	plan    *Plan
	clock   clock
	ringOf  []int32 // per tensor: the ring that its writers use, -1 before its section
	readers [][]int // per ring: the steps that read it
	moved   []traffic
}

// finish makes the plan: sections, rings, moves, addresses and what it costs.
func (d *draft) finish(strategy string) *Plan {
	p := d.req.Program
	d.plan = &Plan{Program: p, Order: d.req.order, Strategy: strategy, Fixed: d.req.Fixed, Budget: d.req.Budget, Unified: d.req.Unified, HostRest: d.req.HostRest,
		Sections: make([]Section, len(d.cuts)+1), reads: make([]map[int]int32, len(p.Steps)), writes: make([]int32, len(p.Steps))}
	d.ringOf = slices.Repeat([]int32{-1}, len(p.Tensors))
	if d.simulations == nil {
		d.simulations = d.req.simulationsOf(d.cuts, d.spilled)
	}
	d.plan.placeWeights(d.req, d.cuts, d.streamed, d.group)
	for s := range d.plan.Sections {
		d.section(s)
	}
	d.address()
	d.settle()
	d.plan.findLargest()
	return d.plan
}

// section gives the rings of section s their place in the plan and takes over
// its moves, but for transfers of tensors that stay on the device.
func (d *draft) section(s int) {
	fr, fl := d.frames[s], d.flow(s, d.paces[s])
	sec, c := &d.plan.Sections[s], &d.plan.Cost
	*sec = Section{First: fr.first, Last: fr.last, Rows: min(max(d.paces[s].rows, 1), fr.highest), Strips: fl.strips, Overlaps: d.overlapping(s)}
	at := make([]int32, len(fr.rings)) // the plan's ring
	stays := make([]bool, len(fr.rings))
	for k := range fr.rings {
		at[k], stays[k] = d.place(s, &fr.rings[k], fl.rows[k], fl.held[k])
	}
	for i := fr.first; i <= fr.last; i++ {
		d.plan.reads[i] = make(map[int]int32, len(fr.inputs[i-fr.first]))
		for _, in := range fr.inputs[i-fr.first] {
			ring := at[in.ring]
			d.plan.reads[i][in.tensor] = ring
			d.readers[ring] = append(d.readers[ring], i)
		}
		d.plan.writes[i] = at[fr.dst[i-fr.first]]
	}
	var weights int64
	sec.Moves = make([]Move, 0, len(fl.moves)+8)
	for i := fr.first; i <= fr.last; i++ {
		if d.plan.LoadAt[i] >= 0 && d.plan.Groups[i] == 0 {
			sec.Moves = append(sec.Moves, Move{Kind: LoadWeights, Index: int32(i)})
			weights += d.plan.weights[i]
		}
	}
	weights += d.plan.reloaded(fl)
	var early []Move
	begun := false
	for _, m := range fl.moves {
		begun = begun || m.Kind == NextStrip
		if m.Kind == Upload || m.Kind == Download {
			if stays[m.Index] {
				continue
			}
			m.Index = at[m.Index]
		}
		if sec.Overlaps && !begun {
			early = append(early, m)
			continue
		}
		sec.Moves = append(sec.Moves, m)
	}
	if len(early) > 0 {
		before := &d.plan.Sections[s-1]
		before.Moves = slices.Insert(before.Moves, before.lastStrip()+1, early...)
	}
	d.moved = fl.transfers(fr, func(k int32) bool { return stays[k] }, d.moved)
	for _, l := range d.moved {
		c.UploadBytes += l.up
		c.DownloadBytes += l.down
	}
	c.UploadBytes += weights
	c.Launches += fl.launches
	c.FLOPs += fl.flops
	c.WorkSeconds += fl.worked()
	d.pass(fl, weights, sec.Overlaps)
	d.plan.Scratch = max(d.plan.Scratch, fl.scratch[d.level])
}

// pass adds a section to the expected time.
func (d *draft) pass(fl *flow, weights int64, overlaps bool) {
	m := &d.req.Model
	if m.LinkRate <= 0 || d.req.Unified {
		d.plan.Cost.Seconds += m.seconds(fl, d.moved, weights, d.req.Unified)
		return
	}
	d.clock.section(m, fl, d.moved, weights, overlaps)
	d.plan.Cost.Seconds = d.clock.now()
}

// lastStrip is the place of the last NextStrip of a section.
func (s *Section) lastStrip() int {
	i := len(s.Moves) - 1
	for s.Moves[i].Kind != NextStrip {
		i--
	}
	return i
}

// place gives a ring of section s its ring in the plan, of rows rows, or held
// rows if they go to the host. It reports whether the tensor is on the device
// already or stays there, so that nothing is transferred.
func (d *draft) place(s int, fr *frameRing, rows, held int) (ring int32, stays bool) {
	t := fr.tensor
	switch {
	case fr.reload:
		return d.newRing(t, s, rows), false
	case fr.made:
		if d.ringOf[t] < 0 {
			d.ringOf[t] = d.newRing(t, s, 0)
		}
		r := &d.plan.Rings[d.ringOf[t]]
		r.Last = s
		kept := d.lastRead[t] > s && d.keep[t]
		switch {
		case kept:
			rows = fr.h
		case fr.leaves:
			rows = held
		}
		r.Rows = max(r.Rows, rows)
		r.Late = r.Late || fr.leaves && !kept && d.overlapping(s+1)
		return d.ringOf[t], t != d.req.Program.Output && (kept || !fr.leaves)
	case d.keep[t] && d.ringOf[t] >= 0:
		d.plan.Rings[d.ringOf[t]].Last = s
		return d.ringOf[t], true
	case d.keep[t]: // the input, sent once for all sections
		d.ringOf[t] = d.newRing(t, s, fr.h)
		return d.ringOf[t], false
	}
	ring = d.newRing(t, s, rows)
	d.plan.Rings[ring].Early = d.overlapping(s)
	return ring, false
}

func (d *draft) newRing(t, s int, rows int) int32 {
	d.plan.Rings = append(d.plan.Rings, Ring{Tensor: t, Rows: rows, First: s, Last: s})
	d.readers = append(d.readers, nil)
	return int32(len(d.plan.Rings) - 1)
}
