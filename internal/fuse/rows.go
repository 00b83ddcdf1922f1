package fuse

import (
	"math"

	"enhance/model"
)

// This file holds the one definition of which source rows a step reads. The
// planner sizes ring buffers with it and the kernels' index arithmetic must
// agree with it row for row.

// Reflect maps any row or column index to 0..n-1 by reflection that does not
// repeat the edge: its period is 2n-2, and n = 1 always gives 0.
func Reflect(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2*n - 2
	i %= period
	if i < 0 {
		i += period
	}
	if i >= n {
		i = period - i
	}
	return i
}

// PadIndex is the row or column that stands for one outside 0..n-1, -1 if that counts
// as zero.
func PadIndex(pad model.PadMode, i, n int) int {
	switch {
	case pad == model.PadReflect:
		return Reflect(i, n)
	case pad == model.PadEdge:
		return min(max(i, 0), n-1)
	case i < 0 || i >= n:
		return -1
	}
	return i
}

// UpsampleSource gives the upper source row of output row y of a bilinear ×2
// enlargement of h rows, and the weight num/den of the row below it (which is
// min(y0+1, h-1)). The arithmetic is exact.
func UpsampleSource(y, h int, alignCorners bool) (y0, num, den int) {
	if alignCorners {
		den = 2*h - 1
		return y * (h - 1) / den, y * (h - 1) % den, den
	}
	// (y+0.5)/2 - 0.5 = (2y-1)/4, clamped at the top.
	q := 2*y - 1
	if q < 0 {
		return 0, 0, 4
	}
	return q / 4, q % 4, 4
}

// Need returns how many leading rows of tensor t must exist before rows up to
// (not including) end of the step's destination can be made. An end above the
// plane (negative) gives the need that precedes it by as many rows, which may be
// negative too: a planner paces the rows before the first one with it.
func (p *Program) Need(s *Step, t, end int) int {
	h := p.Tensors[t].H
	need := math.MinInt32
	if s.Affine == t && end > 0 {
		need = h
	}
	if s.Res.Tensor == t {
		need = max(need, end)
	}
	for k, v := range s.Src {
		switch {
		case v.Tensor != t:
		case s.Picture != nil:
			need = max(need, s.pictureNeed(k, end))
		default:
			need = max(need, p.srcNeed(s, h, end))
		}
	}
	return min(need, h)
}

func (p *Program) srcNeed(s *Step, h, end int) int {
	switch s.Kind {
	case Conv:
		if s.Windowed() {
			return applyNeed(s, h, end)
		}
		if h <= s.reach() && end > 0 {
			return h
		}
		return end + s.reach()
	case MaxPool:
		return 2 * end
	case Upsample:
		if end <= 0 {
			return (end - 1) / 2
		}
		y0, _, _ := UpsampleSource(end-1, h, s.AlignCorners)
		return y0 + 2
	case Shuffle:
		if end <= 0 {
			return end / 2
		}
		return (end + 1) / 2
	case Affine, Merge:
		if end > 0 {
			return h
		}
	case Apply:
		return applyNeed(s, h, end)
	}
	return end
}

// Oldest returns the first row of tensor t that the step still reads once rows
// before begin of its destination are done.
func (p *Program) Oldest(s *Step, t, begin int) int {
	h := p.Tensors[t].H
	if begin >= p.Tensors[s.Dst.Tensor].H {
		return h
	}
	oldest := h
	if s.Affine == t {
		oldest = 0
	}
	if s.Res.Tensor == t {
		oldest = min(oldest, begin)
	}
	for k, v := range s.Src {
		switch {
		case v.Tensor != t:
		case s.Picture != nil:
			oldest = min(oldest, s.pictureOldest(k, begin))
		default:
			oldest = min(oldest, p.srcOldest(s, h, begin))
		}
	}
	return max(oldest, 0)
}

func (p *Program) srcOldest(s *Step, h, begin int) int {
	switch s.Kind {
	case Conv:
		if s.Windowed() {
			return applyOldest(s, h, begin)
		}
		// Rows reflected at the bottom edge are never older than that when
		// the plane is higher than the padding.
		if h <= s.reach() {
			return 0
		}
		return begin - s.reach()
	case MaxPool:
		return 2 * begin
	case Upsample:
		y0, _, _ := UpsampleSource(begin, h, s.AlignCorners)
		return y0
	case Shuffle:
		return begin / 2
	case Affine, Merge:
		return 0
	case Apply:
		return applyOldest(s, h, begin)
	}
	return begin
}
