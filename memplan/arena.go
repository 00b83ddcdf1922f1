package memplan

import (
	"cmp"
	"slices"
	"sort"
)

// item is one reservation: bytes that exist from section first to section last.
type item struct {
	bytes       int64
	first, last int
	arena       int
	offset      int64
}

func (a *item) overlaps(b *item) bool { return a.first <= b.last && b.first <= a.last }

// pack gives every item an arena and an offset such that items that exist in a
// common section never share a byte. It packs in several orders and keeps the
// best: by decreasing size (greedy by size: Pisarchyk and Lee, arXiv 2001.03288,
// section 4), by decreasing size times lifetime, those that live longest first, and
// the fullest sections first (like greedy by breadth, section 4 there); then, as long as
// that is not near what must be, with the item that came to lie highest before all others, or
// the largest below it, in turns. No arena exceeds maxAlloc (0: no limit), but for one that holds a
// single larger item. It returns the sizes of the arenas.
func pack(items []*item, maxAlloc, align int64) []int64 {
	if len(items) == 0 {
		return nil
	}
	live := liveBytes(items)
	least := int64(0)
	for _, n := range live {
		least = max(least, n)
	}
	var best []int64
	var places []item
	var bestOrder []*item
	enough := func() bool { return best != nil && total(best) <= least+least/256 }
	try := func(order []*item) {
		arenas := packInOrder(order, maxAlloc, align)
		if best != nil && total(arenas) >= total(best) {
			return
		}
		best, bestOrder, places = arenas, slices.Clone(order), places[:0]
		for _, it := range items {
			places = append(places, *it)
		}
	}
	for _, before := range slices.Concat(orders, []func(a, b *item) int{breadth(items, live)}) {
		order := slices.Clone(items)
		slices.SortStableFunc(order, before)
		if try(order); enough() {
			break
		}
	}
	for order, n := slices.Clone(bestOrder), 0; n < promotions && !enough(); n++ {
		promote(order, n%2 == 1)
		try(order)
	}
	for i, it := range items {
		*it = places[i]
	}
	return best
}

// promotions is how often pack packs again with another item first.
const promotions = 20

// promote moves the item that ends highest, where it was packed, to the front; or, if
// below is true, the largest of those that exist at the same time and lie below it.
func promote(order []*item, below bool) {
	at := 0
	for i, it := range order {
		if it.offset+it.bytes > order[at].offset+order[at].bytes {
			at = i
		}
	}
	if top := order[at]; below {
		for i, it := range order {
			if it != top && it.overlaps(top) && (order[at] == top || it.bytes > order[at].bytes) {
				at = i
			}
		}
	}
	it := order[at]
	copy(order[1:at+1], order[:at])
	order[0] = it
}

// orders are the orders that pack tries.
var orders = []func(a, b *item) int{
	func(a, b *item) int { return cmp.Or(cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.first, b.first)) },
	func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.bytes*b.sections(), a.bytes*a.sections()), cmp.Compare(a.first, b.first))
	},
	func(a, b *item) int {
		return cmp.Or(cmp.Compare(b.sections(), a.sections()), cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.first, b.first))
	},
}

func (a *item) sections() int64 { return int64(a.last - a.first + 1) }

func total(arenas []int64) (n int64) {
	for _, a := range arenas {
		n += a
	}
	return n
}

// liveBytes is how many bytes of items exist in each section.
func liveBytes(items []*item) (live []int64) {
	for _, it := range items {
		for len(live) <= it.last {
			live = append(live, 0)
		}
		for s := it.first; s <= it.last; s++ {
			live[s] += it.bytes
		}
	}
	return live
}

// breadth orders items by the fullest section in which they exist, then by size.
func breadth(items []*item, live []int64) func(a, b *item) int {
	fullest := make(map[*item]int64, len(items))
	for _, it := range items {
		for s := it.first; s <= it.last; s++ {
			fullest[it] = max(fullest[it], live[s])
		}
	}
	return func(a, b *item) int {
		return cmp.Or(cmp.Compare(fullest[b], fullest[a]), cmp.Compare(b.bytes, a.bytes), cmp.Compare(a.first, b.first))
	}
}

// packInOrder packs by best fit.
func packInOrder(order []*item, maxAlloc, align int64) []int64 {
	var arenas []int64
	var placed [][]*item // by arena, sorted by offset
	for _, it := range order {
		found := false
		for a := range arenas {
			off := fit(placed[a], it, align)
			if maxAlloc > 0 && off+it.bytes > maxAlloc {
				continue
			}
			it.arena, it.offset, found = a, off, true
			break
		}
		if !found {
			arenas, placed = append(arenas, 0), append(placed, nil)
			it.arena, it.offset = len(arenas)-1, 0
		}
		arenas[it.arena] = max(arenas[it.arena], it.offset+it.bytes)
		at := sort.Search(len(placed[it.arena]), func(k int) bool { return placed[it.arena][k].offset > it.offset })
		placed[it.arena] = slices.Insert(placed[it.arena], at, it)
	}
	return arenas
}

// fit finds the tightest gap for it between the items of one arena that coexist
// with it, or the end of them.
func fit(placed []*item, it *item, align int64) int64 {
	best, bestGap := int64(-1), int64(0)
	end := int64(0)
	for _, p := range placed {
		if !p.overlaps(it) {
			continue
		}
		if gap := p.offset - end; gap >= it.bytes && (best < 0 || gap < bestGap) {
			best, bestGap = end, gap
		}
		end = max(end, alignUp(p.offset+p.bytes, align))
	}
	if best >= 0 {
		return best
	}
	return end
}

func alignUp(n, align int64) int64 { return (n + align - 1) / align * align }

// address packs the draft's rings into arenas and fills the plan's
// peak. Rings of an elementwise step's source and destination share storage
// where the step can work in place.
func (d *draft) address() {
	pl, req := d.plan, d.req
	align := max(req.Align, 64)
	items := make([]*item, len(pl.Rings))
	for i := range pl.Rings {
		r := &pl.Rings[i]
		r.Bytes = int64(r.Rows)*req.RowBytes(r.Tensor) + req.RimBytes(r.Tensor)
		items[i] = &item{bytes: r.Bytes, first: r.First, last: r.Last}
	}
	d.shareInPlace(items)
	d.stretch(items)
	var unique []*item
	seen := make(map[*item]bool, len(items))
	for _, it := range items {
		if !seen[it] {
			seen[it] = true
			unique = append(unique, it)
		}
	}
	pl.Arenas = pack(unique, req.MaxAlloc, align)
	for i, it := range items {
		pl.Rings[i].Arena, pl.Rings[i].Offset = it.arena, it.offset
	}
	d.record()
	pl.Peak = pl.Scratch + pl.fixedBytes()
	for _, a := range pl.Arenas {
		pl.Peak += a
	}
}

// stretch lets rings of transfers exist beyond their section where it overlaps a neighbour.
func (d *draft) stretch(items []*item) {
	for i := range d.plan.Rings {
		r := &d.plan.Rings[i]
		if r.Early {
			r.First--
			items[i].first = min(items[i].first, r.First)
		}
		if r.Late {
			r.Last++
			items[i].last = max(items[i].last, r.Last)
		}
	}
}

// used is the range of sections in which steps use the ring.
func (r *Ring) used() (first, last int) {
	first, last = r.First, r.Last
	if r.Early {
		first++
	}
	if r.Late {
		last--
	}
	return first, last
}

// shareInPlace lets the destination of pointwise steps take over its source's
// ring: both are whole planes of one row size, and from the destination's first
// section on every reader of the source is such a step, reading the channels it
// writes.
func (d *draft) shareInPlace(items []*item) {
	p := d.req.Program
	for i := range p.Steps {
		step := &p.Steps[i]
		if !step.InPlace() {
			continue
		}
		src, dst := d.plan.ReadRing(i, step.Src[0].Tensor), d.plan.WriteRing(i)
		a, b := &d.plan.Rings[src], &d.plan.Rings[dst]
		if a.Rows != p.Tensors[a.Tensor].H || b.Rows != a.Rows || a.Bytes != b.Bytes || items[src] == items[dst] ||
			a.Tensor == p.Input || a.First >= b.First || items[src].last < b.First {
			continue
		}
		ok := true
		for _, r := range d.readers[src] {
			rs := &p.Steps[r]
			if d.sectionOf(r) >= b.First && !(rs.InPlace() && rs.Dst.Tensor == step.Dst.Tensor && rs.Src[0].Tensor == a.Tensor) {
				ok = false
			}
		}
		if ok {
			items[src].last = max(items[src].last, b.Last)
			items[dst] = items[src]
		}
	}
}

func (d *draft) sectionOf(step int) int {
	s := 0
	for s < len(d.cuts) && step >= d.cuts[s] {
		s++
	}
	return s
}
