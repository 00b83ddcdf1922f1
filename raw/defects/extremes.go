package defects

import (
	"time"

	"enhance/internal/workers"
)

// extremes tells which samples of some rows lie beyond all eight neighbours of their filter
// place, one bit for each: the first test of all samples, by which the others are looked at.
type extremes struct {
	top, words   int // first row; words of a row
	above, below []uint64
}

// extremeUnit is how many samples extremeUnits takes at a time.
const extremeUnit = 16

// find looks at rows y0 to y1-1 of a window, which has the two rows before and after each.
func (e *extremes) find(w *window, y0, y1 int) {
	e.top, e.words = y0, w.width/64+2 // two, so that 64 bits may be taken from any column on
	if n := (y1 - y0) * e.words; len(e.above) < n {
		e.above, e.below = make([]uint64, n), make([]uint64, n)
	}
	workers.Each(workers.Count(y1-y0, time.Duration(w.width)/2), y1-y0, func(_, i int) {
		y := y0 + i
		above, below := e.row(y)
		clear(above)
		clear(below)
		extremesOf(above, below, w.row(within(y-2, y, w.height)), w.row(y), w.row(within(y+2, y, w.height)))
	})
}

// row are the bits of row y.
func (e *extremes) row(y int) (above, below []uint64) {
	at := (y - e.top) * e.words
	return e.above[at:][:e.words], e.below[at:][:e.words]
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
	width := len(own)
	up, down = up[:width], down[:width]
	one := func(x int) {
		l, r := within(x-2, x, width), within(x+2, x, width)
		v := own[x]
		if v > max(own[l], own[r]) && v > max(up[l], up[x], up[r], down[l], down[x], down[r]) {
			above[x/64] |= 1 << (x % 64)
		} else if v < min(own[l], own[r]) && v < min(up[l], up[x], up[r], down[l], down[x], down[r]) {
			below[x/64] |= 1 << (x % 64)
		}
	}
	from, to := 0, 0 // columns that are taken many at a time
	if last := (width - 2) / extremeUnit * extremeUnit; hasExtremeUnits && last > extremeUnit {
		from, to = extremeUnit, last
		extremeUnits(&above[0], &below[0], &up[0], &own[0], &down[0], from, to)
	}
	for x := range from {
		one(x)
	}
	for x := to; x < width; x++ {
		one(x)
	}
}
