package defects

import "time"

// marks are the places of a list, a bit for each sample of some rows. There are bits for reach columns
// beyond the photo's sides too, where the places are reflected.
type marks struct {
	top, words int // first row; words of a row
	bits       []uint64
}

// begin takes the places in rows top to end-1 of a photo.
func (m *marks) begin(list []Place, top, end, width int) {
	m.top, m.words = top, (width+2*reach)/64+2 // two, so that 64 bits may be taken from any column on
	if n := (end - top) * m.words; cap(m.bits) < n {
		m.bits = make([]uint64, n)
	} else {
		m.bits = m.bits[:n]
		clear(m.bits)
	}
	last := width - 1
	for _, p := range placesIn(list, top, end) {
		row := m.row(p.Row)
		set := func(x int) { row[(x+reach)/64] |= 1 << ((x + reach) % 64) }
		set(p.Column)
		if p.Column <= reach {
			set(-p.Column)
		}
		if p.Column >= last-reach {
			set(2*last - p.Column)
		}
	}
}

func (m *marks) row(y int) []uint64 { return m.bits[(y-m.top)*m.words:][:m.words] }

// has reports whether a place is listed.
func (m *marks) has(y, x int) bool { return m.row(y)[(x+reach)/64]>>((x+reach)%64)&1 != 0 }

// around are the bits of patchSide columns of row y, of which column x is in the middle.
func (m *marks) around(y, x int) uint32 {
	row, at, shift := m.row(y), x/64, x%64
	return uint32(row[at]>>shift|row[at+1]<<(64-shift)) & (1<<patchSide - 1)
}

// listed are the places of the list in rows y0 to y1-1.
func (r *Rows) listed(y0, y1 int) []Place { return placesIn(r.list, y0, y1) }

// repairListed repairs the samples of rows y0 to y0+n-1 that are in the list, in dst.
func (r *Rows) repairListed(w *window, y0, n int, dst []uint16) {
	const one = 3 * time.Microsecond // to repair a sample
	r.marks.begin(r.list, max(0, y0-reach), min(w.height, y0+n+reach), w.width)
	row := time.Duration(w.width/8) + one*time.Duration(len(r.listed(y0, y0+n)))/time.Duration(n)
	inPieces(n, row, func(s *searching, from, end int) {
		for i := from; i < end; i++ {
			out := dst[i*w.width:][:w.width]
			copy(out, w.row(y0+i))
			r.found.set(y0+i, s.listedRow(r, w, y0+i, out))
		}
	})
}

// listedRow repairs the listed samples of row y in out.
func (s *searching) listedRow(r *Rows, w *window, y int, out []uint16) (places []int32) {
	here := r.listed(y, y+1)
	if len(here) == 0 {
		return nil
	}
	repair := func(x int) (uint16, bool) { return r.plain(w, y, x) }
	if Searched(r.meta.CFA) {
		s.band = bandOf(w, y)
		repair = func(x int) (uint16, bool) { return s.fitted(r, x) }
	}
	for _, at := range here {
		if v, ok := repair(at.Column); ok {
			out[at.Column] = v
			places = append(places, int32(at.Column))
		}
	}
	return places
}

// fitted is the repaired value of column x of the band's middle row.
func (s *searching) fitted(r *Rows, x int) (uint16, bool) {
	q, p := &s.spot, &s.patch
	q.move(&s.band, x)
	r.finder.fill(p, q)
	for i := range patchSide {
		p.bad[i] = r.marks.around(mirror(q.y+i-reach, q.height), x)
	}
	return r.finder.repair(p, q.y, x)
}

// plain is the repaired value of a sample behind any filter array: the mean of the nearest good
// samples of its colour, which lie on a square around it.
func (r *Rows) plain(w *window, y, x int) (uint16, bool) {
	cfa := &r.meta.CFA
	colour := cfa.At(y, x)
	for far := 1; far <= reach; far++ {
		sum, count := 0, 0
		for yy := max(0, y-far); yy <= min(w.height-1, y+far); yy++ {
			step := 2 * far // to the other side
			if yy == y-far || yy == y+far {
				step = 1
			}
			for xx := x - far; xx <= x+far; xx += step {
				if xx >= 0 && xx < w.width && cfa.At(yy, xx) == colour && !r.marks.has(yy, xx) {
					sum, count = sum+int(w.row(yy)[xx]), count+1
				}
			}
		}
		if count > 0 {
			return uint16((sum + count/2) / count), true
		}
	}
	return 0, false
}
