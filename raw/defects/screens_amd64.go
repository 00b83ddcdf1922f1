package defects

import "golang.org/x/sys/cpu"

// hasScreens says whether candidates are screened.
var hasScreens = cpu.X86.HasAVX2 && cpu.X86.HasFMA

// hasWide says whether markWide can be used.
var hasWide = cpu.X86.HasAVX512BW

// marking is what markUnits works on: a row and those two rows above and below it.
type marking struct {
	above      *uint64 // bits of the row
	planes     uintptr // bytes from there to those of samples below, and from there to the candidates
	excess     *int16
	up         *uint16 // the samples two rows above
	stride     uintptr // bytes from there to the row
	roots      *uint16 // their roots
	rootStride uintptr
	row        *screenRow
}

// sifting is what siftUnits works on.
type sifting struct {
	candidates *uint64 // bits of the row
	words      int     // of them
	own        *uint16 // the row's samples
	excess     *int16
	roots      *uint16 // four rows above
	rootStride uintptr // bytes of one row
	row        *screenRow
}

// rootUnits makes roots of n samples, a multiple of 16, and returns the largest sample.
//
//go:noescape
func rootUnits(dst, src *uint16, n int, row *screenRow) uint16

// markUnits sets, for columns from to to-1, which are multiples of 16 and not equal, the bits of samples
// above and below their neighbours and of candidates, and the excesses. Two samples before and after
// are read too.
//
//go:noescape
func markUnits(a *marking, from, to int)

// markWide is markUnits of 32 columns at a time, from and to.
//
//go:noescape
func markWide(a *marking, from, to int)

// mark is markUnits, by 32 columns where the processor can.
func mark(a *marking, from, to int) {
	const wide = 2 * extremeUnit
	first, last := (from+wide-1)/wide*wide, to/wide*wide
	if !hasWide || first >= last {
		markUnits(a, from, to)
		return
	}
	markWide(a, first, last)
	if from < first {
		markUnits(a, from, first)
	}
	if last < to {
		markUnits(a, last, to)
	}
}

// siftUnits clears the bits of candidates whose excess is known and which activity or company turns
// down.
//
//go:noescape
func siftUnits(a *sifting)

// countPeers counts excesses above the limit, or if that is below 0 those below it, in 19 rows and
// columns, without the 5 rows and columns in their middle. 24 columns are read.
//
//go:noescape
func countPeers(excess *int16, stride uintptr, limit int16) int

// largePeers sets, by row and column of 19, bits of excesses that are above least when multiplied by
// sign, and of those that are 0. 24 columns are read.
//
//go:noescape
func largePeers(excess *int16, stride uintptr, sign, least int16, large *[peerRows]uint32)

// fitUnits makes of a patch, whose first sample and bytes of a row are given, features, weights and the
// sums of their products.
//
//go:noescape
func fitUnits(a *fitting, sample *uint16, stride uintptr)

// solveUnits is solve with other roundings. The last column of a is overwritten.
//
//go:noescape
func solveUnits(a *[features]fitRow, w *[features]float64) bool

// rooted is rows of roots, of the columns that are taken many at a time. Its memory serves others.
type rooted struct {
	f        *finder
	w        *window
	columns  int
	top, end int // rows that there are
	bottom   int // of those that there may be
	rows     []uint16
	large    [rootRows]bool // those with samples above screen.most
}

// begin makes r ready for rows from y on.
func (r *rooted) begin(f *finder, w *window, y int) {
	r.f, r.w, r.columns = f, w, w.width/extremeUnit*extremeUnit
	r.top = max(y, w.top)
	r.end, r.bottom = r.top, w.top+len(w.rows)/w.width
	if r.columns <= 2*extremeUnit { // one unit at each side is not taken
		r.bottom = r.top
	}
	if n := rootRows * r.columns; len(r.rows) < n {
		r.rows = make([]uint16, n)
	}
}

// release forgets the photo.
func (r *rooted) release() { r.f, r.w = nil, nil }

// at is row y.
func (r *rooted) at(y int) *uint16 { return &r.rows[(y-r.top)*r.columns] }

// extend makes rows until row y is there.
func (r *rooted) extend(y int) {
	for ; r.end <= min(y, r.bottom-1); r.end++ {
		if r.end-r.top == rootRows {
			const keep = 2 * activityReach
			r.top = r.end - keep
			copy(r.rows, r.rows[(rootRows-keep)*r.columns:rootRows*r.columns])
			copy(r.large[:], r.large[rootRows-keep:])
		}
		most := rootUnits(r.at(r.end), &r.w.row(r.end)[0], r.columns, &r.f.screen.rows[r.end&1])
		r.large[r.end-r.top] = most > r.f.screen.most
	}
}

// known reports whether the roots of all rows at most n from row y are there and right.
func (r *rooted) known(y, n int) bool {
	if y-n < r.top || y+n >= r.end {
		return false
	}
	for k := y - n; k <= y+n; k++ {
		if r.large[k-r.top] {
			return false
		}
	}
	return true
}

// screenedRow looks at row y.
func (e *extremes) screenedRow(r *rooted, y int, wanted bool) {
	r.extend(y + activityReach)
	w := r.w
	excess := e.excess[(y-e.top)*e.stride:][:e.stride]
	if !r.known(y, 2) {
		clear(excess)
		e.unscreened(w, y)
		return
	}
	above, below, candidates := e.row(y)
	clear(above)
	clear(below)
	clear(candidates)
	first, last := extremeUnit, r.columns-extremeUnit // the last unit has neighbours in columns
	clear(excess[:first])
	clear(excess[last:])
	up, own, down := w.row(y-2), w.row(y), w.row(y+2)
	m := marking{above: &above[0], planes: 8 * uintptr(e.plane), excess: &excess[0], up: &up[0], stride: 4 * uintptr(w.width),
		roots: r.at(y - 2), rootStride: 4 * uintptr(r.columns), row: &r.f.screen.rows[y&1]}
	mark(&m, first, last)
	if wanted && r.known(y, activityReach) {
		siftUnits(&sifting{candidates: &candidates[0], words: len(candidates), own: &own[0], excess: &excess[0],
			roots: r.at(y - activityReach), rootStride: 2 * uintptr(r.columns), row: m.row})
	}
	extremesIn(above, below, up, own, down, 0, first)
	extremesIn(above, below, up, own, down, last, w.width)
	for x := 0; x < w.width; x++ {
		if x == first {
			x = last
		}
		candidates[x/64] |= (above[x/64] | below[x/64]) & (1 << (x % 64))
	}
}
