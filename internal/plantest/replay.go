// Package plantest checks plans without a device: it replays a plan's moves,
// tracking which line of which row every byte of memory holds, and says where a
// step would read something else than its definition wants.
package plantest

import (
	"fmt"
	"math/bits"

	"enhance/internal/fuse"
	"enhance/internal/fusetest"
	"enhance/memplan"
)

// line is what a place in memory holds: one channel of one row of a tensor. Rows
// of statistics and scales are one line. The zero value is unknown content.
type line struct{ tensor, y, c int } // tensor is one more than its index

// replay is the state of the device's and the host's memory.
type replay struct {
	plan *memplan.Plan
	req  *memplan.Request
	p    *fuse.Program

	slots    [][]line // by ring: slot × line
	ready    [][]int  // by ring: the first strip in which the line, sent by the host, may be read
	busy     [][]int  // by ring: the first strip in which the line, on its way to the host, may be overwritten
	used     [][]int  // by ring: one more than the last strip in which a launch read the line
	strip    int
	loaded   map[int]bool   // steps whose parameters are loaded
	overlap  [][]int        // by ring: other rings that share bytes with it
	done     []int          // by step: rows made
	hostRows map[int64]line // by place: the spilled row there
	host     [][]bool       // by tensor: rows that were downloaded
	there    []map[int]int  // by tensor and row: the first strip in which a row that was downloaded may be sent back
	output   int            // rows of the output delivered
	section  int
	launches int
	flops    int64
	up, down int64
}

// Check reports the first thing wrong with a plan: a read of something that is
// not there, two live reservations in the same bytes, a row made or delivered
// twice or never, or a figure (peak, cost) that is not what the moves add up to.
func Check(plan *memplan.Plan, req *memplan.Request) error {
	r := &replay{plan: plan, req: req, p: plan.Program, done: make([]int, len(plan.Program.Steps)), loaded: map[int]bool{}, hostRows: map[int64]line{},
		host: make([][]bool, len(plan.Program.Tensors)), there: make([]map[int]int, len(plan.Program.Tensors))}
	if err := r.layout(); err != nil {
		return err
	}
	for s := range plan.Sections {
		r.section = s
		if !plan.Sections[s].Overlaps {
			r.strip += 3 // everything comes to an end
		}
		for i, m := range plan.Sections[s].Moves {
			if err := r.move(m); err != nil {
				return fmt.Errorf("section %d, move %d %+v: %w", s, i, m, err)
			}
		}
	}
	if h := r.p.Tensors[r.p.Output].H; r.output != h {
		return fmt.Errorf("%d of %d rows of the output are delivered", r.output, h)
	}
	return r.figures()
}

// lines is the number of lines in a row of tensor t.
func (r *replay) lines(t int) int {
	switch r.p.Tensors[t].Storage {
	case fuse.Activation:
		return r.p.Tensors[t].C
	case fuse.Codes:
		return (r.p.Tensors[t].C + fuse.CodesInWord - 1) / fuse.CodesInWord
	case fuse.Pairs:
		return (r.p.Tensors[t].C + fuse.ChannelsInPair - 1) / fuse.ChannelsInPair
	case fuse.Split:
		return 3 * ((r.p.Tensors[t].C + fuse.ChannelsInPair - 1) / fuse.ChannelsInPair)
	case fuse.Octets:
		return (r.p.Tensors[t].C + fuse.ChannelsInOctet - 1) / fuse.ChannelsInOctet
	}
	return 1
}

func (r *replay) lineBytes(t int) int64 { return r.req.RowBytes(t) / int64(r.lines(t)) }

// span of line l of slot s of ring i, in bytes of its arena.
func (r *replay) span(i, s, l int) (from, to int64) {
	ring := &r.plan.Rings[i]
	from = ring.Offset + int64(s)*r.req.RowBytes(ring.Tensor) + int64(l)*r.lineBytes(ring.Tensor)
	return from, from + r.lineBytes(ring.Tensor)
}

func (r *replay) ring(i int, y int) ([]line, error) {
	ring := &r.plan.Rings[i]
	if r.section < ring.First || r.section > ring.Last {
		return nil, fmt.Errorf("ring %d lives in sections %d to %d", i, ring.First, ring.Last)
	}
	n := r.lines(ring.Tensor)
	return r.slots[i][y%ring.Rows*n : (y%ring.Rows+1)*n], nil
}

// write puts lines [c0,c1) of row y of the ring's tensor in place and forgets
// what other rings had in those bytes.
func (r *replay) write(i, y, c0, c1 int, upload bool) error {
	ls, err := r.ring(i, y)
	if err != nil {
		return err
	}
	ring := &r.plan.Rings[i]
	for c := c0; c < c1; c++ {
		if at := y%ring.Rows*r.lines(ring.Tensor) + c; r.busy[i][at] > r.strip {
			return fmt.Errorf("row %d of ring %d overwrites rows on their way to the host", y, i)
		} else {
			r.ready[i][at] = 0
		}
		ls[c] = line{ring.Tensor + 1, y, c}
		from, to := r.span(i, y%ring.Rows, c)
		for _, o := range r.overlap[i] {
			if err := r.forget(o, from, to, upload); err != nil {
				return err
			}
		}
	}
	return nil
}

// forget makes all lines of ring i in bytes [from,to) of its arena unknown, which must
// not be on their way to the host, nor, if it is an upload that comes over them, be read
// in this strip.
func (r *replay) forget(i int, from, to int64, upload bool) error {
	ring := &r.plan.Rings[i]
	size := r.lineBytes(ring.Tensor)
	first := max(0, (from-ring.Offset)/size)
	for l := first; l < int64(len(r.slots[i])) && ring.Offset+l*size < to; l++ {
		if ring.Offset+(l+1)*size <= from {
			continue
		}
		if r.slots[i][l] = (line{}); r.req.Unified {
			continue
		}
		if r.busy[i][l] > r.strip || upload && r.used[i][l] > r.strip {
			return fmt.Errorf("bytes %d to %d are taken over from ring %d, which launches of this strip or transfers still read", from, to, i)
		}
	}
	return nil
}

// read checks that lines [c0,c1) of row y are in the ring.
func (r *replay) read(i, y, c0, c1 int) error {
	ls, err := r.ring(i, y)
	if err != nil {
		return err
	}
	t := r.plan.Rings[i].Tensor
	for c := c0; c < c1; c++ {
		at := y%r.plan.Rings[i].Rows*r.lines(t) + c
		r.used[i][at] = r.strip + 1
		if r.ready[i][at] > r.strip {
			return fmt.Errorf("row %d of %s is read while it is on its way from the host", y, r.p.Tensors[t].Name)
		}
		if want := (line{t + 1, y, c}); ls[c] != want {
			return fmt.Errorf("row %d, channel %d of %s is not in ring %d of %d rows; there is %+v", y, c, r.p.Tensors[t].Name, i, r.plan.Rings[i].Rows, ls[c])
		}
	}
	return nil
}

func (r *replay) move(m memplan.Move) error {
	switch m.Kind {
	case memplan.NextStrip:
		r.strip++
		return nil
	case memplan.LoadWeights:
		if r.plan.LoadAt[m.Index] < 0 || r.plan.Groups[m.Index] > 0 {
			return fmt.Errorf("parameters of step %d stay on the device, or its launches load them", m.Index)
		}
		r.load(int(m.Index))
		r.up += r.req.Weights(r.plan.Order[m.Index])
		return nil
	}
	if m.Y0 < 0 || m.Y0 >= m.Y1 {
		return fmt.Errorf("an empty range")
	}
	if m.Kind == memplan.Run {
		return r.run(int(m.Index), int(m.Y0), int(m.Y1))
	}
	return r.transfer(m)
}

// run checks one launch: rows in order and in granules, all reads there, and no
// read of memory that the launch itself writes but for the very sample.
func (r *replay) run(i, y0, y1 int) error {
	s := &r.p.Steps[i]
	sec := &r.plan.Sections[r.section]
	h := r.p.Tensors[s.Dst.Tensor].H
	scratch := r.leastScratch(r.plan.Order[i], y1-y0)
	switch g := max(1, r.req.Granule(r.plan.Order[i])); {
	case i < sec.First || i > sec.Last:
		return fmt.Errorf("step %d is not of this section", i)
	case y0 != r.done[i] || y1 > h:
		return fmt.Errorf("rows %d to %d of %d, where %d is next", y0, y1, h, r.done[i])
	case y0%g != 0 || y1%g != 0 && y1 != h:
		return fmt.Errorf("rows %d to %d are not in granules of %d", y0, y1, g)
	case scratch > r.plan.Scratch:
		return fmt.Errorf("needs %d bytes of scratch of %d", scratch, r.plan.Scratch)
	case r.plan.LoadAt[i] >= 0 && r.plan.Groups[i] == 0 && !r.loaded[i]:
		return fmt.Errorf("its parameters are not on the device")
	case y1-y0 > r.plan.Rings[r.plan.WriteRing(i)].Rows:
		return fmt.Errorf("writes more rows than the ring has")
	}
	if r.plan.Groups[i] > 0 { // it loads its parameters, one group after another
		r.load(i)
		delete(r.loaded, i)
		r.up += int64(r.plan.Groups[i]) * r.loads(i)
	}
	r.done[i] = y1
	r.launches++
	r.flops += r.p.FLOPs(s, y1-y0)
	for _, v := range r.views(s) {
		for y := y0; y < y1; y++ {
			for _, row := range r.rowsRead(s, v, y) {
				if err := r.readView(i, v, row, y, y0, y1); err != nil {
					return err
				}
			}
		}
	}
	c0, c1 := r.channels(s.Dst)
	for y := y0; y < y1; y++ {
		if err := r.write(r.plan.WriteRing(i), y, c0, c1, false); err != nil {
			return err
		}
	}
	return nil
}

// views lists everything a step reads.
func (r *replay) views(s *fuse.Step) []fuse.View {
	vs := append([]fuse.View(nil), s.Src...)
	if s.Res.Tensor != fuse.None {
		vs = append(vs, s.Res)
	}
	if s.Affine != fuse.None {
		vs = append(vs, fuse.View{Tensor: s.Affine, C: r.p.Tensors[s.Affine].C})
	}
	return vs
}

// rowsRead lists the rows of view v that row y of the step's destination needs.
func (r *replay) rowsRead(s *fuse.Step, v fuse.View, y int) []int {
	return fusetest.Touched(r.p, s, v.Tensor, y)
}

// channels are the lines of a view.
func (r *replay) channels(v fuse.View) (c0, c1 int) {
	switch r.p.Tensors[v.Tensor].Storage {
	case fuse.Activation:
		return v.C0, v.C0 + v.C
	case fuse.Codes:
		return v.C0 / fuse.CodesInWord, (v.C0 + v.C + fuse.CodesInWord - 1) / fuse.CodesInWord
	case fuse.Pairs:
		return v.C0 / fuse.ChannelsInPair, (v.C0 + v.C + fuse.ChannelsInPair - 1) / fuse.ChannelsInPair
	case fuse.Split:
		return 3 * (v.C0 / fuse.ChannelsInPair), 3 * ((v.C0 + v.C + fuse.ChannelsInPair - 1) / fuse.ChannelsInPair)
	case fuse.Octets:
		return v.C0 / fuse.ChannelsInOctet, (v.C0 + v.C + fuse.ChannelsInOctet - 1) / fuse.ChannelsInOctet
	}
	return 0, 1
}

// readView reads one row of a view for row y of step i's launch over [y0,y1).
func (r *replay) readView(i int, v fuse.View, row, y, y0, y1 int) error {
	s := &r.p.Steps[i]
	ring, dst := r.plan.ReadRing(i, v.Tensor), r.plan.WriteRing(i)
	c0, c1 := r.channels(v)
	if err := r.read(ring, row, c0, c1); err != nil {
		return err
	}
	for _, o := range r.overlap[ring] {
		if o != dst {
			continue
		}
		// In place: sample (c, y) is read only where sample (c, y) is written.
		rows := r.plan.Rings[ring].Rows
		from, _ := r.span(ring, row%rows, c0)
		at, _ := r.span(dst, y%r.plan.Rings[dst].Rows, s.Dst.C0)
		if row != y || from != at || s.Kind != fuse.Pointwise {
			return fmt.Errorf("step %d reads row %d of %s where the launch over [%d,%d) writes other samples", i, row, r.p.Tensors[v.Tensor].Name, y0, y1)
		}
	}
	return nil
}

// leastScratch is what a launch of a step of the request works with.
func (r *replay) leastScratch(step, rows int) int64 {
	want := r.req.Scratch(step, rows)
	if r.req.LessScratch == nil {
		return want
	}
	for _, n := range r.req.LessScratch(step) {
		want = min(want, n)
	}
	return want
}

// loads is the size of the parameters of step i that are loaded at a time.
func (r *replay) loads(i int) int64 {
	if g := r.plan.Groups[i]; g > 0 {
		return r.req.GroupWeights(r.plan.Order[i])[bits.Len(uint(g))-2]
	}
	return r.req.Weights(r.plan.Order[i])
}

// load puts the parameters of step i over whatever was in their place.
func (r *replay) load(i int) {
	end := func(i int) int64 { return r.plan.LoadAt[i] + r.loads(i) }
	for o := range r.loaded {
		if r.plan.LoadAt[o] < end(i) && r.plan.LoadAt[i] < end(o) {
			delete(r.loaded, o)
		}
	}
	r.loaded[i] = true
}
