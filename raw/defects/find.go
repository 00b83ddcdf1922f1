package defects

import (
	"math"

	"enhance/raw/mosaic"
)

// Limits of what is taken for a defect. They were chosen on 48 photos with 80 defects
// each (docs/quality.md): lower ones find more defects and change more healthy samples.
const (
	leastStep  = 1.0 / 1000 // of the range: smaller steps cannot be seen
	beyond     = 1.0 / 8    // step beyond the neighbours, in times of their range
	activity   = 2          // excess, in times of the mean difference of neighbours
	improbable = 6.0        // error of the prediction, in times of its usual one; of dark samples in light too
	company    = 0.6        // how far the neighbours of other colours may stand out with it, all together
	peers      = 1.25       // excess, in times of that of the third largest around

	// The same for a sample that is black or saturated alone.
	improbableAlone = 4.5
	companyAlone    = 1.0
	companyDark     = 2.0 // of a black one: no star is dark
	peersAlone      = 0.25

	// A dark sample's error in light is held against the noise around too. Detail may make up
	// for less: where light is lit of the range, no sensitivity that is in use makes noise
	// that reaches black.
	improbableDark = 6.6
	improbableLit  = 2.5
	lit            = 0.08

	blackAlone = 0.12 // of the darkest neighbour's light
	saturated  = 0.97 // of the range
	farFrom    = 0.75 // of the range: neighbours of such a sample are below
)

// finder knows what of a photo's facts the search needs.
type finder struct {
	// black is, by row and column mod 2, the level from which light is counted: a
	// hundredth of the range below black, so that noise around black has a root.
	black [2][2]float64
	pad   [2][2]float64 // that hundredth
	green [2][2]bool
	step  int
}

func newFinder(m *mosaic.Meta) *finder {
	f := &finder{}
	least := math.Inf(1)
	for i := range f.black {
		for j := range f.black[i] {
			black := blackOf(m, i, j)
			col := m.CFA.At(i, j)
			span := max(float64(m.White[col])-black, 1)
			f.green[i][j] = col == mosaic.Green
			f.pad[i][j] = span / 100
			f.black[i][j] = black - f.pad[i][j]
			least = min(least, span)
		}
	}
	f.step = max(1, int(least*leastStep))
	return f
}

// blackOf is the black level of a filter place, without what differs by row and column.
func blackOf(m *mosaic.Meta, row, column int) float64 {
	if m.BlackRows <= 2 && m.BlackCols <= 2 {
		return float64(m.Black[row%m.BlackRows*m.BlackCols+column%m.BlackCols]) + mean(m.BlackDeltaH) + mean(m.BlackDeltaV)
	}
	return mean(m.Black) + mean(m.BlackDeltaH) + mean(m.BlackDeltaV)
}

func mean(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x)
	}
	return sum / float64(max(len(v), 1))
}

// candidates calls each for the samples of row y that lie beyond all eight neighbours of
// their filter place: the cheap test that nearly all samples fail.
func (f *finder) candidates(w *window, y int, each func(x int)) {
	up, own, down := w.row(within(y-2, y, w.height)), w.row(y), w.row(within(y+2, y, w.height))
	width := w.width
	for x := range 2 {
		l, r := within(x-2, x, width), x+2
		f.candidate(y, x, own[x], [8]uint16{up[l], up[x], up[r], own[r], down[r], down[x], down[l], own[l]}, each)
	}
	step := f.step
	up, down = up[:len(own)], down[:len(own)]
	for x := 2; x < len(own)-2; x++ {
		v, a, b, c, d := int(own[x]), int(own[x-2]), int(own[x+2]), int(up[x]), int(down[x])
		if v-max(a, b, c, d) < step && min(a, b, c, d)-v < step {
			continue
		}
		f.candidate(y, x, own[x], [8]uint16{up[x-2], up[x], up[x+2], own[x+2], down[x+2], down[x], down[x-2], own[x-2]}, each)
	}
	for x := width - 2; x < width; x++ {
		l, r := x-2, within(x+2, x, width)
		f.candidate(y, x, own[x], [8]uint16{up[l], up[x], up[r], own[r], down[r], down[x], down[l], own[l]}, each)
	}
}

// within is i, or where that is beyond the border its mirror image in at, which is not at
// itself.
func within(i, at, n int) int {
	if i < 0 || i >= n {
		return 2*at - i
	}
	return i
}

// candidate tests sample v against its neighbours, which come clockwise. Near black
// stored units say little about steps in roots: what is black there passes.
func (f *finder) candidate(y, x int, v uint16, around [8]uint16, each func(x int)) {
	lo, hi, sum, differ := int(around[0]), int(around[0]), 0, 0
	last := int(around[7])
	for _, n := range around {
		s := int(n)
		lo, hi, sum, differ = min(lo, s), max(hi, s), sum+s, differ+max(s-last, last-s)
		last = s
	}
	s := int(v)
	excess, step := 8*s-sum, s-hi
	if lo-s > step {
		excess, step = -excess, lo-s
	}
	if step < f.step {
		return
	}
	if excess > activity*differ && step*8 > hi-lo {
		each(x)
		return
	}
	if black := f.black[y&1][x&1] + f.pad[y&1][x&1]; s < lo && float64(s)-black < (float64(lo)-black)/4 {
		each(x)
	}
}

// sight is what is seen of a sample and its nearest neighbours, in roots.
type sight struct {
	sign   float64 // 1: the sample is above its neighbours, -1: below
	excess float64 // over the mean of its eight neighbours
	alone  bool    // black, or saturated, and the neighbours are far from it
}

// look examines a candidate. It reports false for what is no defect.
func (f *finder) look(w *window, y, x int) (s sight, ok bool) {
	at := func(dy, dx int) float64 {
		return f.root(w.row(y + dy)[mirror(x+dx, w.width)], f.black[(y+dy)&1][(x+dx)&1])
	}
	v := at(0, 0)
	lo, hi, sum := math.Inf(1), math.Inf(-1), 0.0
	for _, o := range ring {
		n := at(within(y+o.dy, y, w.height)-y, within(x+o.dx, x, w.width)-x)
		lo, hi, sum = min(lo, n), max(hi, n), sum+n
	}
	step := v - hi
	if s.sign = 1; v < lo {
		s.sign, step = -1, lo-v
	}
	if step < beyond*(hi-lo) {
		return s, false
	}
	s.excess = (v - sum/8) * s.sign
	with := 0.0 // by how much the neighbours of other colours stand out
	for _, o := range beside {
		// Of their own neighbours those that are not beside the sample too.
		own := at(3*o.dy, 3*o.dx) + at(o.dy+2*o.dx, o.dx+2*o.dy) + at(o.dy-2*o.dx, o.dx-2*o.dy)
		with += at(o.dy, o.dx) - own/3
	}
	pad := f.pad[y&1][x&1]
	light := func(root float64) float64 { return float64(root*root) - pad }
	if s.sign > 0 {
		span := 100 * pad
		s.alone = light(v) > saturated*span && light(hi) < farFrom*span
	} else {
		s.alone = light(v) < blackAlone*light(lo)
	}
	if s.excess < activity*f.activity(w, y, x) {
		return s, false
	}
	switch {
	case s.alone && s.sign < 0:
		return s, with*s.sign < companyDark*s.excess
	case s.alone:
		return s, with*s.sign < companyAlone*s.excess
	}
	return s, with*s.sign < company*s.excess
}

var (
	ring   = [8]pair{{0, 2}, {0, -2}, {2, 0}, {-2, 0}, {2, 2}, {2, -2}, {-2, 2}, {-2, -2}}
	beside = [4]pair{{0, 1}, {0, -1}, {1, 0}, {-1, 0}}
)

// judge decides about a candidate, and gives its repaired value.
func (f *finder) judge(w *window, y, x int, p *patch) (repaired uint16, bad bool) {
	s, ok := f.look(w, y, x)
	if !ok {
		return 0, false
	}
	f.fill(p, w, y, x)
	third := p.others(s)
	least, times := improbable, peers
	if s.alone {
		least, times = improbableAlone, peersAlone
	}
	if s.excess < times*third {
		return 0, false
	}
	q, ok := p.predict(f.green[y&1][x&1])
	if !ok || (p.v[reach][reach]-q.value)*s.sign < least*q.rms {
		return 0, false
	}
	if s.sign < 0 { // in darkness noise is skewed in roots
		p.square()
		l, ok := p.predict(f.green[y&1][x&1])
		if !ok || l.value-p.v[reach][reach] < f.leastDark(s, l, y, x) {
			return 0, false
		}
	}
	return f.sample(q.value, y, x), true
}

// leastDark is how far below its prediction in light a sample is dark by defect.
func (f *finder) leastDark(s sight, l prediction, y, x int) float64 {
	pad := f.pad[y&1][x&1]
	detail := improbableLit * l.rms
	if s.alone && l.value-pad > lit*100*pad {
		return detail
	}
	return min(improbable*l.rms, max(improbableDark*l.noise, detail))
}

// activity is the mean difference of neighbours among the samples of a sample's filter
// place up to four rows and columns away, without itself.
func (f *finder) activity(w *window, y, x int) float64 {
	const side, middle = 5, 2 // in samples of the filter place
	var v [side][side]float64
	for i := range v {
		yi := mirror(y+2*(i-middle), w.height)
		row, black := w.row(yi), f.black[y&1][x&1]
		for j := range v[i] {
			xj := mirror(x+2*(j-middle), w.width)
			if v[i][j] = f.root(row[xj], black); yi == y && xj == x {
				v[i][j] = math.NaN()
			}
		}
	}
	sum, count := 0.0, 0.0
	add := func(a, b float64) {
		if d := math.Abs(a - b); d == d {
			sum, count = sum+d, count+1
		}
	}
	for i := range side {
		for j := range side - 1 {
			add(v[i][j], v[i][j+1])
			add(v[j][i], v[j+1][i])
		}
	}
	return sum / count
}

// others gives the third largest excess around, to the side of the middle's, of samples
// that lie beyond their neighbours as it does. Where there are many such there is detail.
// Of up to two that come near the middle's, which may be defects too, it
// marks the places.
func (p *patch) others(s sight) float64 {
	type other struct {
		excess float64
		y, x   int
	}
	var top [3]other
	for y := 2; y < patchSide-2; y++ {
		for x := 2; x < patchSide-2; x++ {
			if dy, dx := y-reach, x-reach; dy >= -2 && dy <= 2 && dx >= -2 && dx <= 2 {
				continue
			}
			v := p.v[y][x] * s.sign
			if p.bad[y][x] || v <= p.v[y][x-2]*s.sign || v <= p.v[y][x+2]*s.sign {
				continue
			}
			sum, alone := 0.0, true
			for _, o := range ring {
				n := p.v[y+o.dy][x+o.dx] * s.sign
				alone = alone && n < v
				sum += n
			}
			if !alone {
				continue
			}
			o := other{v - sum/8, y, x}
			for k := range top {
				if o.excess > top[k].excess {
					o, top[k] = top[k], o
				}
			}
		}
	}
	for _, o := range top[:2] {
		if o.excess > s.excess/2 {
			p.bad[o.y][o.x] = true
		}
	}
	return top[2].excess
}
