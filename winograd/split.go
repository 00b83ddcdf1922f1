package winograd

import (
	"fmt"
	"math"
)

// Range is the half-open interval [From, To).
type Range struct{ From, To int }

// Len is To − From.
func (r Range) Len() int { return r.To - r.From }

func mulSaturated(xs ...int64) int64 {
	p := int64(1)
	for _, x := range xs {
		if x == 0 {
			return 0
		}
		if p > math.MaxInt64/x {
			p = math.MaxInt64
			continue
		}
		p *= x
	}
	return p
}

func addSaturated(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// Scratch describes what lies in scratch memory for each tile.
type Scratch struct {
	N            int // side of a transformed tile
	C, K         int // input and output channels
	ElemV, ElemM int // bytes of a number of V and of M
}

// VBytes is the size of V, [N·N][tiles][C], for the given tiles. It is math.MaxInt64,
// more than any cap, if the product does not fit.
func (s Scratch) VBytes(tiles int64) int64 {
	return mulSaturated(int64(s.N)*int64(s.N), tiles, int64(s.C), int64(s.ElemV))
}

// MBytes is the size of M, [N·N][tiles][K], as VBytes.
func (s Scratch) MBytes(tiles int64) int64 {
	return mulSaturated(int64(s.N)*int64(s.N), tiles, int64(s.K), int64(s.ElemM))
}

// Bytes is the size of V and M together for the given tiles.
func (s Scratch) Bytes(tiles int64) int64 { return addSaturated(s.VBytes(tiles), s.MBytes(tiles)) }

// part is the scratch for c input channels at a time.
func (s Scratch) part(c int) Scratch {
	s.C = c
	return s
}

func (s Scratch) check() error {
	if s.N < 1 || s.C < 1 || s.K < 1 || s.ElemV < 1 || s.ElemM < 1 {
		return fmt.Errorf("winograd split: scratch %+v needs positive sides, channels and sizes", s)
	}
	return nil
}

// CapError says that even the smallest part does not fit a byte cap.
type CapError struct {
	Cap, Smallest int64
	What          string // the smallest part
}

func (e *CapError) Error() string {
	return fmt.Sprintf("winograd split: %s needs %d bytes of scratch, the cap is %d; allow at least %d", e.What, e.Smallest, e.Cap, e.Smallest)
}

// SplitRows cuts rows tile rows of cols tiles each into consecutive ranges whose V
// and M fit limit bytes, as few and as equal as possible. The error is a *CapError
// if one tile row does not fit; SplitChannels then helps. Tiles are the same
// under any split, so the result does not change.
func (s Scratch) SplitRows(rows, cols int, limit int64) ([]Range, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if rows < 1 || cols < 1 {
		return nil, fmt.Errorf("winograd split: grid of %dx%d tiles is empty", rows, cols)
	}
	one := s.Bytes(int64(cols))
	if one > limit || one == math.MaxInt64 {
		return nil, &CapError{Cap: limit, Smallest: one, What: fmt.Sprintf("one row of %d tiles", cols)}
	}
	return evenRanges(rows, int(min(limit/one, int64(rows)))), nil
}

// SplitChannels cuts the input channels into consecutive ranges, in multiples of
// quantum but for the last, so that V of one range and the whole of M fit limit
// bytes for the given tiles, as few as possible and as equal as quantum lets them be. M
// keeps its sums from range to range; the result stays the same bytes only if the
// kernel adds channels one after another, into a sum that starts from M, and M
// holds the accumulator's format. The error is a *CapError if one quantum does not
// fit.
func (s Scratch) SplitChannels(tiles int64, quantum int, limit int64) ([]Range, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if tiles < 1 || quantum < 1 {
		return nil, fmt.Errorf("winograd split: %d tiles and a quantum of %d channels, need at least 1", tiles, quantum)
	}
	q := min(quantum, s.C)
	m := s.MBytes(tiles)
	v := s.part(q).VBytes(tiles)
	if smallest := addSaturated(m, v); smallest > limit || smallest == math.MaxInt64 {
		return nil, &CapError{Cap: limit, Smallest: smallest, What: fmt.Sprintf("%d channels of %d tiles", q, tiles)}
	}
	quanta := (s.C-1)/q + 1
	most := int(min((limit-m)/v, int64(quanta)))
	if s.Bytes(tiles) <= limit {
		most = quanta // a short last quantum may let everything fit
	}
	parts := evenRanges(quanta, most)
	for i := range parts {
		parts[i].From *= q
		parts[i].To = min(parts[i].To*q, s.C)
	}
	return parts, nil
}

// evenRanges cuts 0..n into the fewest ranges of at most most, sizes differing by
// at most one, larger first.
func evenRanges(n, most int) []Range {
	parts := (n-1)/most + 1
	ranges := make([]Range, 0, parts)
	from := 0
	for i := range parts {
		size := n / parts
		if i < n%parts {
			size++
		}
		ranges = append(ranges, Range{from, from + size})
		from += size
	}
	return ranges
}
