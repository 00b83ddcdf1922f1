package defects

import (
	"math"

	"enhance/raw/mosaic"
)

// Screens are tests in integers that turn nearly all extreme samples down before those of
// find.go, many samples at a time. Each is a necessary condition of one there with all that
// rounding may do added, so that what is found is the same with and without screens.
//
// They work on roots of light in whole units, of which white has rootWhite. Such a root is off by
// rootError units at most, and the excess of a sample over its eight neighbours, whose mean is
// rounded up three times, by excessError.
const (
	rootWhite   = 28000
	rootMost    = 32000 // rows with larger ones are not screened
	rootError   = 0.6
	excessError = 3 // ≥ 2·rootError + 1.5

	// The mean of 36 differences between neighbours is at most 1/activity of the excess: their sum
	// is at most activityTimes of it, and activitySlack more for what rounding does.
	activityTimes = 36 / activity
	activitySlack = 98 // ≥ 36·2·rootError + activityTimes·excessError

	// The neighbours of other colours stand out by company of the excess at most: a third of a sum
	// of 24 roots, all taken times 5.
	companySum   = 5
	companyTimes = 9   // 3·company·companySum
	companySlack = 100 // ≥ companySum·24·rootError + companyTimes·excessError

	peersSlack = 6 // ≥ excessError·(1+1/peers)
	halfSlack  = 5 // ≥ excessError·(1+1/2)
	twoSlack   = 7 // ≥ excessError·(1+1/peers) and 2·excessError, and 1 for what is cut off
)

// peerRows is how many rows and columns are looked at for peers.
const peerRows = 2*(reach-2) + 1

// screen is what the screens need of a photo's facts.
type screen struct {
	rows [2]screenRow // by row mod 2
	most uint16       // a row with a larger sample is not screened
}

// screenRow is that of rows of one parity. Lanes are columns.
type screenRow struct {
	base  [8]int32   // whole part of the level from which light is counted
	frac  [8]float32 // the rest of it
	scale [8]float32
	step  [16]uint16 // least step beyond the neighbours
	zero  [16]uint16 // up to here the root may be 0
	dark  [16]uint16 // whole part of black
	hot   [2]int64   // by column mod 2: from here on a sample may be saturated alone
	black [2]int64   // dark
}

func newScreen(f *finder, m *mosaic.Meta) *screen {
	span := 0.0
	for i := range f.pad {
		for _, pad := range f.pad[i] {
			span = max(span, 101*pad)
		}
	}
	s, scale := &screen{}, rootWhite/math.Sqrt(span)
	most := float64(math.MaxUint16)
	for i := range s.rows {
		r := &s.rows[i]
		for lane := range r.step {
			level, pad := f.black[i][lane%2], f.pad[i][lane%2]
			if base := math.Floor(level); lane < len(r.base) {
				r.base[lane], r.frac[lane], r.scale[lane] = int32(base), float32(level-base), float32(scale)
			}
			r.step[lane] = uint16(min(f.step, math.MaxUint16))
			r.zero[lane] = uint16(min(max(math.Floor(level), 0), math.MaxUint16))
			r.dark[lane] = uint16(min(max(math.Floor(level+pad), 0), math.MaxUint16))
			r.black[lane%2] = int64(r.dark[lane])
			r.hot[lane%2] = int64(level + pad + saturated*100*pad - 1)
			most = min(most, level+rootMost/scale*rootMost/scale)
		}
	}
	s.most = uint16(max(most, 0))
	return s
}

// plain reports whether a sample is surely not black or saturated alone. beside are two samples of its
// filter place next to it in its row.
func (r *screenRow) plain(x int, v, left, right uint16, sign float64) bool {
	if sign > 0 {
		return int64(v) < r.hot[x&1]
	}
	v2 := int64(v) - r.black[x&1] - 2
	return v2 >= max(0, (int64(min(left, right))-r.black[x&1])>>3)
}
