package defects

import (
	"math"
	"math/bits"
	"slices"

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
	roots [2][2]*roots  // above black; one table for all that have the same
	green [2][2]bool
	step  int

	screen *screen
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
	tables := map[float64]*roots{}
	for i := range f.black {
		for j, black := range f.black[i] {
			if tables[black] == nil {
				tables[black] = rootsAbove(black)
			}
			f.roots[i][j] = tables[black]
		}
	}
	f.step = max(1, int(least*leastStep))
	f.screen = newScreen(f, m)
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

// candidates calls each for the samples of a band's middle row that lie beyond all eight
// neighbours of their filter place and stand out: the cheap tests that nearly all samples fail.
func (f *finder) candidates(b *band, e *extremes, each func(x int)) {
	y, width := b.y, b.width
	up, own, down := b.rows[reach+within(y-2, y, b.height)-y], b.rows[reach], b.rows[reach+within(y+2, y, b.height)-y]
	up, down = up[:len(own)], down[:len(own)]
	_, _, candidates := e.row(y)
	inside := b.inside()
	for i, m := range candidates {
		for ; m != 0; m &= m - 1 {
			x := 64*i + bits.TrailingZeros64(m)
			l, r := x-2, x+2
			if x < 2 || x >= width-2 {
				l, r = within(l, x, width), within(r, x, width)
			}
			if inside && x >= reach && x < width-reach && f.outdone(e, y, x, own) {
				continue
			}
			if f.standsOut(y, x, own[x], &[8]uint16{up[l], up[x], up[r], own[r], down[r], down[x], down[l], own[l]}) {
				each(x)
			}
		}
	}
}

// outdone reports whether three samples around a candidate surely have so large excesses that
// crowded turns it down.
func (f *finder) outdone(e *extremes, y, x int, own []uint16) bool {
	at, stride := e.at(y, x)
	if at == nil || *at == 0 {
		return false
	}
	excess, sign := int(*at), 1.0
	if excess < 0 {
		excess, sign = -excess, -1
	}
	if !f.screen.rows[y&1].plain(x, own[x], own[x-2], own[x+2], sign) {
		return false
	}
	limit := int(float64(excess)/peers) + peersSlack
	first, _ := e.at(y-peerRows/2, x-peerRows/2)
	return limit <= math.MaxInt16 && countPeers(first, stride, int16(limit)*int16(sign)) >= 3
}

// within is i, or where that is beyond the border its mirror image in at, which is not at
// itself.
func within(i, at, n int) int {
	if i < 0 || i >= n {
		return 2*at - i
	}
	return i
}

// standsOut tests sample v against its neighbours, which come clockwise. Near black
// stored units say little about steps in roots: what is black there passes.
func (f *finder) standsOut(y, x int, v uint16, around *[8]uint16) bool {
	a := around
	lo := int(min(min(a[0], a[1], a[2], a[3]), min(a[4], a[5], a[6], a[7])))
	hi := int(max(max(a[0], a[1], a[2], a[3]), max(a[4], a[5], a[6], a[7])))
	s := int(v)
	step := max(s-hi, lo-s)
	if step < f.step {
		return false
	}
	if step*8 > hi-lo {
		sum, differ, last := 0, 0, int(a[7])
		for _, n := range a {
			next := int(n)
			sum, differ, last = sum+next, differ+max(next-last, last-next), next
		}
		if max(8*s-sum, sum-8*s) > activity*differ { // to the side of the step
			return true
		}
	}
	black := f.black[y&1][x&1] + f.pad[y&1][x&1]
	return s < lo && float64(s)-black < (float64(lo)-black)/4
}

// sight is what is seen of a sample and its nearest neighbours, in roots.
type sight struct {
	sign   float64 // 1: the sample is above its neighbours, -1: below
	excess float64 // over the mean of its eight neighbours
	alone  bool    // black, or saturated, and the neighbours are far from it
}

// look examines a candidate. It reports false for what is no defect.
func (f *finder) look(q *spot) (s sight, ok bool) {
	row := func(dy int) *[7]uint16 { return (*[7]uint16)(q.rows[reach+dy][q.at-3:]) }
	far3, far2, far1, here, next1, next2, next3 := row(-3), row(-2), row(-1), row(0), row(1), row(2), row(3)
	own, beside, below := f.at(q.y, q.x), f.at(q.y, q.x^1), f.at(q.y^1, q.x)
	v := own[here[3]]
	around := [8]uint16{here[5], here[1], next2[3], far2[3], next2[5], next2[1], far2[5], far2[1]} // as in ring
	if !q.inside {
		for i, o := range q.ring() {
			around[i] = q.row(o.dy)[reach+o.dx]
		}
	}
	sum := 0.0
	for _, n := range around {
		sum += own[n]
	}
	lo, hi := own[slices.Min(around[:])], own[slices.Max(around[:])] // roots grow with what is stored
	step := v - hi
	if s.sign = 1; v < lo {
		s.sign, step = -1, lo-v
	}
	if step < beyond*(hi-lo) {
		return s, false
	}
	s.excess = (v - sum/8) * s.sign
	pad := f.pad[q.y&1][q.x&1]
	light := func(root float64) float64 { return float64(root*root) - pad }
	if s.sign > 0 {
		span := 100 * pad
		s.alone = light(v) > saturated*span && light(hi) < farFrom*span
	} else {
		s.alone = light(v) < blackAlone*light(lo)
	}
	// By how much the neighbours of other colours stand out: of their own neighbours those
	// count that are not beside the sample too.
	with := beside[here[4]] - (beside[here[6]]+beside[next2[4]]+beside[far2[4]])/3
	with += beside[here[2]] - (beside[here[0]]+beside[far2[2]]+beside[next2[2]])/3
	with += below[next1[3]] - (below[next3[3]]+below[next1[5]]+below[next1[1]])/3
	with += below[far1[3]] - (below[far3[3]]+below[far1[1]]+below[far1[5]])/3
	most := company
	switch {
	case s.alone && s.sign < 0:
		most = companyDark
	case s.alone:
		most = companyAlone
	}
	return s, with*s.sign < most*s.excess && s.excess >= activity*f.activity(q)
}

// ring are the eight nearest samples of a filter place.
var ring = [8]pair{{0, 2}, {0, -2}, {2, 0}, {-2, 0}, {2, 2}, {2, -2}, {-2, 2}, {-2, -2}}

// ring is ring around a spot: what is beyond the photo's border is reflected in the sample, so
// that it is not the sample itself.
func (q *spot) ring() *[8]pair {
	if q.inside {
		return &ring
	}
	r := ring
	for i, o := range r {
		r[i] = pair{within(q.y+o.dy, q.y, q.height) - q.y, within(q.x+o.dx, q.x, q.width) - q.x}
	}
	return &r
}

// judge decides about a candidate, and gives its repaired value.
func (f *finder) judge(q *spot, e *extremes, p *patch, a *fitting) (repaired uint16, bad bool) {
	s, ok := f.look(q)
	if !ok {
		return 0, false
	}
	least, times := improbable, peers
	if s.alone {
		least, times = improbableAlone, peersAlone
	}
	p.clear(q)
	if f.crowded(q, e, &s, times, p) {
		return 0, false
	}
	if f.unlikely(a, p, q, s.sign, least) {
		return 0, false
	}
	f.fill(p, q)
	prior := f.priorAt(q.y, q.x)
	root, ok := p.predict(prior)
	if !ok || (p.middle()-root.value)*s.sign < least*root.rms {
		return 0, false
	}
	if s.sign < 0 { // in darkness noise is skewed in roots
		p.square()
		l, ok := p.predict(prior)
		if !ok || l.value-p.middle() < f.leastDark(s, l, q.y, q.x) {
			return 0, false
		}
	}
	return f.sample(root.value, q.y, q.x), true
}

// leastDark is how far below its prediction in light a sample is dark by defect.
func (f *finder) leastDark(s sight, l prediction, y, x int) float64 {
	pad := f.pad[y&1][x&1]
	detail := improbableLit * l.rms
	if s.alone && l.value-pad > lit*100*pad {
		return detail
	}
	return min(improbable*l.rms, max(improbableDark*l.noise(), detail))
}

// activity is the mean difference of neighbours among the samples of a spot's filter
// place up to four rows and columns away, without itself.
func (f *finder) activity(q *spot) float64 {
	const side, middle = 5, 2 // in samples of the filter place
	var v [side][side]float64
	light := f.at(q.y, q.x)
	for i := range v {
		row := (*[4*middle + 1]uint16)(q.rows[reach+2*(i-middle)][q.at-2*middle:])
		for j := range v[i] {
			v[i][j] = light[row[2*j]]
		}
	}
	if q.inside { // all but the four differences from the middle
		sum := 0.0
		for i := range side {
			for j := range side - 1 {
				if i != middle || j != middle-1 && j != middle {
					sum += math.Abs(v[i][j] - v[i][j+1])
					sum += math.Abs(v[j][i] - v[j+1][i])
				}
			}
		}
		return sum / (2*side*(side-1) - 4)
	}
	for i := range v {
		for j := range v[i] {
			if q.is(2*(i-middle), 2*(j-middle)) {
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
