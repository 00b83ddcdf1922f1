package memplan

// This file decides where on the host the rows of spilled tensors wait.

// placeSpills gives every tensor that goes to the host and is read again from
// there its place. Tensors that are never there at the same time share places, and so do
// a pointwise step's source and destination where the source has no other use.
func (d *draft) placeSpills() {
	p, pl := d.req.Program, d.plan
	pl.HostOffset = make([]int64, len(p.Tensors))
	at := make([]*item, len(p.Tensors))
	var order []int
	for s, sec := range pl.Sections {
		for _, mv := range sec.Moves {
			if mv.Kind != Download {
				continue
			}
			if t := pl.Rings[mv.Index].Tensor; t != p.Output && at[t] == nil {
				at[t] = &item{bytes: d.req.hostBytes(t), first: s, last: d.lastRead[t]}
				order = append(order, t)
			}
		}
	}
	var items []*item
	for _, t := range order { // by first section, so that a source has its place before its successor
		if from := d.source(t, at); from != nil {
			from.last = at[t].last
			at[t] = from
			continue
		}
		items = append(items, at[t])
	}
	for _, n := range pack(items, 0, hostAlign) {
		pl.HostBytes += n
	}
	for t, it := range at {
		if pl.HostOffset[t] = -1; it != nil {
			pl.HostOffset[t] = it.offset
		}
	}
}

// source is the place of a spilled tensor that tensor t, spilled too, takes over row by row:
// t is made of it by pointwise steps alone, which read the channels that they write and are the
// last to read it. A row of it has then left for the device before t's row comes.
func (d *draft) source(t int, at []*item) *item {
	p := d.req.Program
	from := -1
	for i := range p.Steps {
		step := &p.Steps[i]
		if step.Dst.Tensor != t {
			continue
		}
		if !step.InPlace() || from >= 0 && step.Src[0].Tensor != from {
			return nil
		}
		from = step.Src[0].Tensor
	}
	if from < 0 || from == t || at[from] == nil || at[from].bytes != at[t].bytes || p.Tensors[from].H != p.Tensors[t].H ||
		at[from].first >= at[t].first || at[from].last != at[t].first {
		return nil
	}
	for i := range p.Steps {
		step := &p.Steps[i]
		for _, r := range d.req.facts.reads[i] {
			if r == from && d.sectionOf(i) >= at[t].first && !(step.InPlace() && step.Dst.Tensor == t && step.Src[0].Tensor == from) {
				return nil
			}
		}
	}
	return at[from]
}
