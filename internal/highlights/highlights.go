// Package highlights rebuilds light that a sensor clipped, row by row.
//
// Each colour of the filter array saturates at a light of its own once the white balance
// is applied. Where some colours are clipped, the others still tell how bright the light
// is, and unclipped parts nearby tell its colour: a clipped component becomes what that
// colour has beside the unclipped components. Where no colour is left, light is white.
//
// A Window is used as a warp.Warper is, with one more call for each row:
//
//	w.Measure(row)         // any row, on any core: sums of its unclipped light
//	w.Add(row)             // the rows, downwards
//	first, end := w.Ready()
//	w.Make(y, dst)         // each row of the result, in any order, on any core
//	w.Drop()
//
// The colour nearby is the mean over cells of 16x16 pixels: of three rows of cells, and
// along them in both directions, where a cell's weight falls by 0.3 from one to the next. A
// Window therefore holds back some 40 rows, whatever the picture's size, and its result does
// not depend on how many rows come at a time.
package highlights

import "math"

// The constants of the method, which kernels are made with too.
const (
	Side     = 16   // of a cell, in pixels
	sums     = 4    // numbers of a cell: three components and their weight
	BrightOf = 0.4  // of its clipping level: where a component is this bright, light tells the colour
	ClipFrom = 0.92 // of the clipping level: components are more and more taken for clipped
	ClipTo   = 0.97 // from here on wholly
	WhiteOf  = 0.6  // where the least clipped component comes near its level, light goes over to white
	Decay    = 0.7  // of a cell's weight, from one to the next
	Neutral  = 1e-8 // weight of white light, for parts with nothing unclipped around
)

// Window rebuilds the light of one picture.
type Window struct {
	width, height, across int
	clip, inverse         [3]float32
	white                 float32
	rows                  [][]float32
	base                  int         // number of rows[0]
	next                  int         // the row that Ready gives next
	cells                 [][]float64 // sums of rows of cells that are complete; nil: no longer needed
	colours               [][]float32 // by row of cells: the colour around each cell
	partial               []float64   // sums of the row of cells that is not complete
}

// New returns a Window for a picture of so many pixels. clip is the light at which each
// component is clipped, white the level of light where all are.
func New(width, height int, clip [3]float64, white float64) *Window {
	w := &Window{width: width, height: height, across: (width + Side - 1) / Side, white: float32(white)}
	for c, v := range clip {
		w.clip[c], w.inverse[c] = float32(v), float32(1/v)
	}
	w.partial = make([]float64, w.across*sums)
	return w
}

// Extra is how many numbers follow the three components of a source row.
func (w *Window) Extra() int { return w.across * sums }

// Held is how many source rows are held at most, besides those that come and go.
func (w *Window) Held() int { return 2*Side + Side/2 }

// Measure fills the numbers that follow a row's components.
func (w *Window) Measure(row []float32) {
	r, g, b := row[:w.width], row[w.width:][:w.width], row[2*w.width:][:w.width]
	extra := row[3*w.width:][:w.Extra()]
	clear(extra)
	k := w.inverse
	for x, vr := range r {
		vg, vb := g[x], b[x]
		top := max(vr*k[0], vg*k[1], vb*k[2])
		if top < BrightOf || top > ClipFrom {
			continue
		}
		cell := extra[x/Side*sums:][:sums:sums]
		top *= top // the brightest are most like what is clipped
		top *= top
		// The conversions forbid fused multiply-add: every machine rounds alike.
		cell[0] += float32(top * vr)
		cell[1] += float32(top * vg)
		cell[2] += float32(top * vb)
		cell[3] += float32(top * (vr + vg + vb))
	}
}

// Add takes the next measured row, until Drop gives it back.
func (w *Window) Add(row []float32) {
	y := w.base + len(w.rows)
	w.rows = append(w.rows, row)
	for i, v := range row[3*w.width:][:w.Extra()] {
		w.partial[i] += float64(v)
	}
	if y%Side == Side-1 || y == w.height-1 {
		w.cells = append(w.cells, w.partial)
		w.partial = make([]float64, w.across*sums)
		last := len(w.cells) - 1
		if last > 0 {
			w.colours = append(w.colours, w.around(last-1))
		}
		if y == w.height-1 {
			w.colours = append(w.colours, w.around(last))
		}
		if last > 1 {
			w.cells[last-2] = nil
		}
	}
}

// around gives the colour around each cell of a row of cells: the sum of its
// components is 3.
func (w *Window) around(row int) []float32 {
	sum := make([]float64, w.across*sums)
	for d := -1; d <= 1; d++ {
		if k := row + d; k >= 0 && k < len(w.cells) {
			for i, v := range w.cells[k] {
				sum[i] += float64(float64(2-d*d) * v)
			}
		}
	}
	// Forwards and backwards along the row: each cell's sum with its weight by distance.
	back := make([]float64, len(sum))
	copy(back, sum)
	for i := len(sum) - sums - 1; i >= 0; i-- {
		back[i] += float64(Decay * back[i+sums])
	}
	var ahead [sums]float64
	colours := make([]float32, 3*w.across)
	for i := range w.across {
		var v [sums]float64
		for c := range v {
			v[c] = ahead[c] + back[i*sums+c]
			ahead[c] = float64(Decay * (ahead[c] + sum[i*sums+c]))
		}
		scale := 3 / (v[3] + 3*Neutral)
		for c := range 3 {
			colours[3*i+c] = float32((v[c] + Neutral) * scale)
		}
	}
	return colours
}

// Ready gives the rows of the result, first to end-1, that the rows added since the
// last call make possible.
func (w *Window) Ready() (first, end int) {
	first = w.next
	added := w.base + len(w.rows)
	for w.next < added && (len(w.colours)*Side >= w.height || w.next < len(w.colours)*Side-Side/2) {
		w.next++
	}
	return first, w.next
}

// Drop gives back the source rows that no row but those that Ready gave needs.
func (w *Window) Drop() [][]float32 {
	n := w.next - w.base
	used := w.rows[:n:n]
	w.rows = append([][]float32(nil), w.rows[n:]...)
	w.base = w.next
	for k := range max(0, w.base/Side-1) {
		w.colours[k] = nil
	}
	return used
}

// Make makes row y of the result, which Ready gave. dst has its components.
func (w *Window) Make(y int, dst [][]float32) error {
	row := w.rows[y-w.base]
	r, g, b := dst[0][:w.width], dst[1][:w.width], dst[2][:w.width]
	copy(r, row)
	copy(g, row[w.width:])
	copy(b, row[2*w.width:])
	clip := [3]float32{w.clip[0] * ClipFrom, w.clip[1] * ClipFrom, w.clip[2] * ClipFrom}
	for x, v := range r {
		if v > clip[0] || g[x] > clip[1] || b[x] > clip[2] {
			p := w.rebuild([3]float32{v, g[x], b[x]}, w.colourAt(x, y))
			r[x], g[x], b[x] = p[0], p[1], p[2]
		}
	}
	return nil
}

// colourAt is the colour around a pixel, bilinear between the centres of cells.
func (w *Window) colourAt(x, y int) (colour [3]float32) {
	i, fx := between(x, w.across)
	k, fy := between(y, (w.height+Side-1)/Side)
	top, low := w.colours[k], w.colours[min(k+1, len(w.colours)-1)]
	j := min(i+1, w.across-1)
	for c := range colour {
		a := top[3*i+c] + float32(fx*(top[3*j+c]-top[3*i+c]))
		b := low[3*i+c] + float32(fx*(low[3*j+c]-low[3*i+c]))
		colour[c] = a + float32(fy*(b-a))
	}
	return colour
}

// between gives the cell whose centre is before place v, and how far v is from it to
// the next.
func between(v, cells int) (int, float32) {
	at := v - Side/2
	if at < 0 {
		return 0, 0
	}
	i := at / Side
	if i >= cells-1 {
		return cells - 1, 0
	}
	return i, (float32(at%Side) + 0.5) / Side
}

// rebuild is a pixel's light from what of it is not clipped and the colour around.
func (w *Window) rebuild(v, colour [3]float32) [3]float32 {
	var taken [3]float32 // how far a component is taken for clipped
	least := float32(math.Inf(1))
	sum, norm := float32(0), float32(1e-6)
	for c := range v {
		rel := v[c] * w.inverse[c]
		least = min(least, rel)
		taken[c] = smooth(rel, ClipFrom, ClipTo)
		keep := (1 - taken[c]) * colour[c]
		sum += float32(keep * v[c])
		norm += float32(keep * colour[c])
	}
	scale := sum / norm
	for c := range v { // what is clipped is at least as bright as it seems
		scale = max(scale, taken[c]*v[c]/(colour[c]+1e-6))
	}
	top, most := float32(0), max(taken[0], taken[1], taken[2])
	for c := range v {
		v[c] += float32(taken[c] * max(float32(scale*colour[c])-v[c], 0))
		top = max(top, v[c])
	}
	white := most * smooth(least, WhiteOf, ClipTo)
	top = min(top, w.white)
	for c := range v {
		v[c] += float32(white * (top - v[c]))
	}
	return v
}

// smooth rises from 0 at low to 1 at high, without a corner.
func smooth(v, low, high float32) float32 {
	t := min(max((v-low)/(high-low), 0), 1)
	return float32(t*t) * (3 - 2*t)
}

// Levels are the light at which each component is clipped, and one over it, and the level of
// light where all are.
func (w *Window) Levels() (clip, inverse [3]float32, white float32) {
	return w.clip, w.inverse, w.white
}
