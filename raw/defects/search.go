package defects

import (
	"time"

	"enhance/internal/buffers"
	"enhance/internal/workers"
)

// piecesOf is how many pieces n rows are taken in, and the rows of one. One goroutine takes a
// piece. The extremes around it are found for both pieces, so that it has some rows.
func piecesOf(n int) (pieces, rows int) {
	const least, most = 32, 128
	rows = min(max(n/4, least), most)
	return (n + rows - 1) / rows, rows
}

// searching is what the search or the repair of a piece works with. It serves the next.
type searching struct {
	extremes extremes
	rooted   rooted
	band     band
	spot     spot
	patch    patch
	fitting  *fitting
}

var searches = buffers.Values[searching]{New: func() *searching { return &searching{fitting: newFitting()} }}

// inPieces calls do for n rows in pieces, on several cores. A row takes about so long.
func inPieces(n int, row time.Duration, do func(s *searching, from, end int)) {
	pieces, rows := piecesOf(n)
	workers.Each(workers.Count(pieces, time.Duration(rows)*row), pieces, func(_, i int) {
		s := searches.Get()
		do(s, i*rows, min((i+1)*rows, n))
		s.band, s.spot.rows = band{}, nil // which refer to the photo
		s.rooted.release()
		searches.Put(s)
	})
}

// search finds and repairs the defects of rows y0 to y0+n-1 of a window, in dst.
func (r *Rows) search(w *window, y0, n int, dst []uint16) {
	inPieces(n, time.Duration(2*w.width), func(s *searching, from, end int) {
		s.rows(r, w, y0+from, y0+end, dst[from*w.width:])
	})
}

// rows searches rows y0 to y1-1. The extremes of a row are found when those it needs are read, while
// they are in the processor's cache.
func (s *searching) rows(r *Rows, w *window, y0, y1 int, dst []uint16) {
	const ahead = peerRows / 2
	top, end := max(0, y0-ahead), min(w.height, y1+ahead)
	s.extremes.begin(w.width, top, end)
	s.rooted.begin(r.finder, w, top-activityReach)
	next := top
	for y := y0; y < y1; y++ {
		for ; next < min(y+ahead+1, end); next++ {
			if hasScreens {
				s.extremes.screenedRow(&s.rooted, next, y0 <= next && next < y1)
			} else {
				s.extremes.unscreened(w, next)
			}
		}
		out := dst[(y-y0)*w.width:][:w.width]
		copy(out, w.row(y))
		r.found.set(y, s.row(r, w, y, out))
	}
}

// row finds and repairs the defects of row y in out.
func (s *searching) row(r *Rows, w *window, y int, out []uint16) (places []int32) {
	b, q, p := &s.band, &s.spot, &s.patch
	*b = bandOf(w, y)
	r.finder.candidates(b, &s.extremes, func(x int) {
		q.move(b, x)
		if v, bad := r.finder.judge(q, &s.extremes, p, s.fitting); bad {
			out[x] = v
			places = append(places, int32(x))
		}
	})
	return places
}
