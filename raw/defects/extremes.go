package defects

// extremes tells which samples of some rows lie beyond all eight neighbours of their filter
// place, one bit for each: the first test of all samples, by which the others are looked at.
type extremes struct {
	top, words   int // first row; words of a row
	above, below []uint64
	candidates   []uint64 // those of them that no screen turned down
	plane        int      // from a word of one to that of the next, which are parts of one array

	// excess is by how much those of them lie beyond the mean of their neighbours, in units of
	// screens, below it negative; 0 for all other samples. Without screens it is empty.
	excess []int16
	stride int // of excess
}

// extremeUnit is how many samples are taken at a time.
const extremeUnit = 16

// activityReach is how far around a sample the screens look.
const activityReach = 4

// rootRows is how many rows of roots are kept, of which the last 2·activityReach are kept longer.
const rootRows = 5 * 2 * activityReach

// begin makes e ready for rows y0 to y1-1 of photos of that width.
func (e *extremes) begin(width, y0, y1 int) {
	e.top, e.words = y0, width/64+2 // two, so that 64 bits may be taken from any column on
	if n := (y1 - y0) * e.words; e.plane < n {
		all := make([]uint64, 3*n)
		e.above, e.below, e.candidates, e.plane = all[:n], all[n:2*n], all[2*n:], n
	}
	if e.stride = 0; hasScreens {
		e.stride = (width + 2*extremeUnit) / extremeUnit * extremeUnit
		if n := (y1-y0)*e.stride + extremeUnit; len(e.excess) < n {
			e.excess = make([]int16, n)
		}
	}
}

// row are the bits of row y.
func (e *extremes) row(y int) (above, below, candidates []uint64) {
	at := (y - e.top) * e.words
	return e.above[at:][:e.words], e.below[at:][:e.words], e.candidates[at:][:e.words]
}

// at is the excess of row y, column x, and how many bytes a row of them has; nil without screens.
func (e *extremes) at(y, x int) (excess *int16, stride uintptr) {
	if e.stride == 0 {
		return nil, 0
	}
	return &e.excess[(y-e.top)*e.stride+x], 2 * uintptr(e.stride)
}

// unscreened looks at row y, whose extreme samples are all candidates.
func (e *extremes) unscreened(w *window, y int) {
	above, below, candidates := e.row(y)
	clear(above)
	clear(below)
	extremesOf(above, below, w.row(within(y-2, y, w.height)), w.row(y), w.row(within(y+2, y, w.height)))
	for i := range candidates {
		candidates[i] = above[i] | below[i]
	}
}

// around are the bits of patchSide columns of row y from column x on, of those above or of those
// below.
func (e *extremes) around(y, x int, sign float64) uint32 {
	b := e.below
	if sign > 0 {
		b = e.above
	}
	at, shift := (y-e.top)*e.words+x>>6, x&63
	return uint32(b[at]>>shift|b[at+1]<<(64-shift)) & (1<<patchSide - 1)
}

// extremesOf sets the bits of a row. Neighbours beyond the photo's sides are reflected in the
// sample, so that they are not the sample itself.
func extremesOf(above, below []uint64, up, own, down []uint16) {
	from, to := 0, 0 // columns that are taken many at a time
	if last := (len(own) - 2) / extremeUnit * extremeUnit; hasExtremeUnits && last > extremeUnit {
		from, to = extremeUnit, last
		extremeUnits(&above[0], &below[0], &up[0], &own[0], &down[0], from, to)
	}
	extremesIn(above, below, up, own, down, 0, from)
	extremesIn(above, below, up, own, down, to, len(own))
}

// extremesIn sets the bits of columns from to to-1.
func extremesIn(above, below []uint64, up, own, down []uint16, from, to int) {
	width := len(own)
	up, down = up[:width], down[:width]
	for x := from; x < to; x++ {
		l, r := within(x-2, x, width), within(x+2, x, width)
		v := own[x]
		if v > max(own[l], own[r]) && v > max(up[l], up[x], up[r], down[l], down[x], down[r]) {
			above[x/64] |= 1 << (x % 64)
		} else if v < min(own[l], own[r]) && v < min(up[l], up[x], up[r], down[l], down[x], down[r]) {
			below[x/64] |= 1 << (x % 64)
		}
	}
}
