package defects

import (
	"math/bits"
	"slices"
)

// other is a sample of a patch that lies beyond its neighbours.
type other struct {
	excess float64
	y, x   int // in the patch
}

// above reports whether o comes before t: by excess, and then in reading order.
func (o *other) above(t *other) bool {
	if o.excess != t.excess {
		return o.excess > t.excess
	}
	return o.y < t.y || o.y == t.y && o.x < t.x
}

// crowded reports whether three samples around, which lie beyond their neighbours to the side
// to which the spot's does, have so large excesses that there is detail: the spot's is less than
// the third largest of them, times as often as is said. Nearly all candidates are told by the
// rows next to them: it looks no further than it must. If it is not so, up to two samples
// that come near the spot's, which may be defects too, are marked bad.
func (f *finder) crowded(q *spot, e *extremes, s *sight, times float64, p *patch) bool {
	const (
		inner  = (1<<(patchSide-4) - 1) << 2 // the columns that have their neighbours in the patch
		nearby = 0b11111 << (reach - 2)
	)
	n, larger := 0, 0
	var large [peerRows]uint32
	screened := q.inside && f.large(e, q, &large)
	for k := range 2*(reach-2) + 1 {
		dy := (k + 1) / 2 // 0, 1, -1, 2, -2, ...
		if k%2 == 0 {
			dy = -dy
		}
		beyond := uint32(inner) // the columns of those that lie beyond their neighbours
		if screened {
			if beyond = large[peerRows/2+dy] << 2; beyond == 0 {
				continue
			}
			beyond &= e.around(q.y+dy, q.at-reach, s.sign)
		} else if q.inside {
			beyond = e.around(q.y+dy, q.at-reach, s.sign)
		} else {
			beyond = beyondNeighbours(q.row(dy-2), q.row(dy), q.row(dy+2), s.sign) &^ p.bad[reach+dy]
		}
		if beyond &= inner; dy >= -2 && dy <= 2 {
			beyond &^= nearby
		}
		if beyond == 0 {
			continue
		}
		up, own, down := q.row(dy-2), q.row(dy), q.row(dy+2)
		lights := [2]*roots{f.at(q.y+dy, q.x-reach), f.at(q.y+dy, q.x-reach+1)}
		for ; beyond != 0; beyond &= beyond - 1 {
			x := bits.TrailingZeros32(beyond) % patchStride
			if x >= patchSide-2 || x < 2 { // as inner says
				break
			}
			around := [8]uint16{own[x+2], own[x-2], down[x], up[x], down[x+2], down[x-2], up[x+2], up[x-2]} // as in ring
			excess, alone := lights[x%2].excess(own[x], &around, s.sign)
			if !alone {
				continue
			}
			p.others[n%len(p.others)] = other{excess, reach + dy, x}
			n++
			if s.excess < times*excess {
				if larger++; larger == 3 {
					return true
				}
			}
		}
	}
	for _, o := range largest(p.others[:n]) {
		if o.excess > s.excess/2 {
			p.setBad(o.y, o.x)
		}
	}
	return false
}

// large sets the bits of samples around whose excess may count: those that may be more than half of
// the spot's and among the two largest, or enough for detail. It reports false if the screens do not know the spot's.
func (f *finder) large(e *extremes, q *spot, large *[peerRows]uint32) bool {
	at, stride := e.at(q.y, q.x)
	if at == nil {
		return false
	}
	excess, sign := int16(*at), int16(1)
	if excess < 0 {
		excess, sign = -excess, -1
	}
	least := excess/2 - halfSlack
	if least < 1 {
		return false
	}
	first, _ := e.at(q.y-peerRows/2, q.x-peerRows/2)
	for _, share := range [...]float64{1 / peers, 0.65} { // two that are larger leave no others to mark
		if limit := int16(float64(excess) * share); countPeers(first, stride, limit*sign) >= 2 {
			least = max(least, limit-twoSlack)
			break
		}
	}
	largePeers(first, stride, sign, least, large)
	return true
}

// largest are the two with the largest excess.
func largest(all []other) (top [2]other) {
	for _, o := range all {
		for k := range top {
			if o.above(&top[k]) {
				o, top[k] = top[k], o
			}
		}
	}
	return top
}

// excess is by how much a sample is above the mean of its neighbours, or for a sign of -1
// below, in roots, and whether it is above or below all of them: it is in stored units.
func (l *roots) excess(v uint16, around *[8]uint16, sign float64) (excess float64, alone bool) {
	root, sum := l[v], 0.0
	for _, n := range around {
		sum += l[n]
	}
	if alone = root > 0; !alone && sign < 0 { // below black all are alike
		alone = l[slices.Min(around[:])] > 0
	}
	return (root - sum/8) * sign, alone
}

// beyondNeighbours are the inner columns of own whose samples are above their eight neighbours,
// or for a sign of -1 below.
func beyondNeighbours(up, own, down *[patchSide]uint16, sign float64) (beyond uint32) {
	for x := 2; x < patchSide-2; x++ {
		v, around := own[x], [8]uint16{own[x-2], own[x+2], up[x-2], up[x], up[x+2], down[x-2], down[x], down[x+2]}
		if sign > 0 && v > slices.Max(around[:]) || sign < 0 && v < slices.Min(around[:]) {
			beyond |= 1 << x
		}
	}
	return beyond
}
