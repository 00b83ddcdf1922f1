package memplan

import (
	"sort"
)

// This file sends rows that only wait for a reader far behind through the host, within one section.

// spilling sends the reads that hold the most rows back through the host, the
// most saved bytes per byte transferred first, and as few as make the plan p fit.
// If even all of them do not, it returns the plan that spills all, or at the lowest
// strips, where nothing else is left to try, the nearest of some that spill fewer: what comes back
// comes through a ring of its own.
func (r *Request) spilling(rows, level int, p *Plan) *Plan {
	if !r.spills() && r.allocates(p.Largest) {
		return p // what waits on the host takes the same bytes
	}
	all := r.savings(rows, p)
	if len(all) == 0 {
		return p
	}
	spill := func(n int) *Plan {
		spilled := map[use]bool{}
		for _, u := range all[:n] {
			spilled[u] = true
		}
		return r.streaming(pace{rows: rows}, level, spilled)
	}
	best, n := spill(len(all)), len(all)
	if !r.fits(best) {
		for k := 1; k < fewerSpills && rows <= lowestStrips; k++ {
			if q := spill(len(all) * k / fewerSpills); r.nearer(q, best) {
				best, n = q, len(all)*k/fewerSpills
			}
		}
		if rows <= lowestStrips {
			best = r.exchange(rows, level, all, n, best)
		}
		return best
	}
	for low, high := 0, len(all); high-low > 1; { // high fits, low does not
		mid := (low + high) / 2
		if q := spill(mid); r.fits(q) {
			best, high = q, mid
		} else {
			low = mid
		}
	}
	return best
}

// fewerSpills is into how many parts the list of reads is cut to try spilling some.
const fewerSpills = 16

// exchange improves a plan that spills the first n of all reads: it spills any other, or no
// longer spills any of them, as long as that brings the plan nearer to the limits.
func (r *Request) exchange(rows, level int, all []use, n int, best *Plan) *Plan {
	spilled := map[use]bool{}
	for _, u := range all[:n] {
		spilled[u] = true
	}
	tries := exchangeWork / len(r.Program.Steps)
	for better := true; better; {
		better = false
		for _, u := range all {
			if tries--; tries < 0 || r.fits(best) {
				return best
			}
			was := spilled[u]
			if spilled[u] = true; was {
				delete(spilled, u)
			}
			if q := r.streaming(pace{rows: rows}, level, spilled); r.nearer(q, best) {
				best, better = q, true
			} else if delete(spilled, u); was {
				spilled[u] = true
			}
		}
	}
	return best
}

// savings lists the reads of plan p worth spilling, best first: those of rings above
// the largest allocation, and those that hold many rows back.
func (r *Request) savings(rows int, p *Plan) []use {
	worth := map[use]float64{}
	var all []use
	for i := range r.Program.Steps {
		for _, t := range r.facts.reads[i] {
			ring, tensor := p.reads[i][t], r.Program.Tensors[t]
			held := p.Rings[ring].Rows
			if t == r.Program.Input || !tensor.Storage.Planes() {
				continue
			}
			lag := r.lag(i, t, ring, p)
			switch u := (use{i, t}); {
			case !r.allocates(p.Rings[ring].Bytes):
				worth[u] = 1 + float64(lag)
			case !r.spills() || held < 4*rows || held < 16 || lag*2 <= held:
				// Only a reader that lags behind the ring's writer is worth a ring of its own.
				continue
			default:
				worth[u] = float64(held) / float64(tensor.H)
			}
			all = append(all, use{i, t})
		}
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		switch {
		case worth[a] != worth[b]:
			return worth[a] > worth[b]
		case a.step != b.step:
			return a.step < b.step
		}
		return a.tensor < b.tensor
	})
	return all
}

// lag is the number of rows by which step i's reading of tensor t trails its
// writer at the end of the first strip in which the reader runs.
func (r *Request) lag(i, t int, ring int32, p *Plan) int {
	written, lag := 0, 0
	for _, m := range p.Sections[0].Moves {
		if m.Kind != Run {
			continue
		}
		if p.WriteRing(int(m.Index)) == int(ring) {
			written = max(written, int(m.Y1))
		}
		if int(m.Index) == i {
			lag = max(lag, written-r.Program.Oldest(&r.Program.Steps[i], t, int(m.Y0)))
		}
	}
	return lag
}
