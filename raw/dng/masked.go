package dng

import (
	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// Bounds on what is read of masked areas.
const (
	maxMasked  = 64  // areas
	maskedRows = 128 // of each
)

// maskedBlack measures the black level of a mosaic whose file states none, where it
// names areas of the sensor that no light reaches: the mean of their samples by place
// in the filter pattern, of at most maskedRows rows of each.
func (s *source) maskedBlack(im *Image, l *layout) error {
	if !s.isDNG() || s.linear || s.raw.Has(tagBlackLevel) || !s.raw.Has(tagMaskedAreas) {
		return nil
	}
	v, err := s.raw.Uints(tagMaskedAreas, 4*maxMasked)
	if err != nil {
		return err
	}
	m := &im.Meta
	m.BlackRows, m.BlackCols = m.CFA.Rows(), m.CFA.Cols()
	sum, count := make([]float64, m.BlackRows*m.BlackCols), make([]int64, m.BlackRows*m.BlackCols)
	for ; len(v) >= 4; v = v[4:] {
		top, left, bottom, right := v[0], v[1], v[2], v[3]
		if top >= bottom || left >= right || bottom > uint64(l.h) || right > uint64(l.w) {
			return rawerr.Formatf("dng", "MaskedAreas has %v, not a rectangle inside the %dx%d image", v[:4], l.w, l.h)
		}
		area := mosaic.Rect{X0: int(left), Y0: int(top), X1: int(right), Y1: int(min(bottom, top+maskedRows))}
		if err := im.addMasked(area, sum, count); err != nil {
			return err
		}
	}
	for _, n := range count {
		if n == 0 {
			m.SetBlack(0)
			s.warn("MaskedAreas are too small to measure the black level, which is taken as 0")
			return nil
		}
	}
	m.Black = make([]float32, len(sum))
	for i := range m.Black {
		m.Black[i] = float32(sum[i] / float64(count[i]))
	}
	s.warn("the file states no black level: measured in its masked areas")
	return nil
}

// addMasked adds up the samples of an area of the stored image. Places count from
// the active area's corner.
func (im *Image) addMasked(a mosaic.Rect, sum []float64, count []int64) error {
	m, row := &im.Meta, make([]uint16, a.Width())
	for y := a.Y0; y < a.Y1; y++ {
		if err := im.rows.readRows(y, 1, a.X0, a.X1, row); err != nil {
			return err
		}
		im.linearise(row)
		for i, v := range row {
			k := phase(y-im.active.Y0, m.BlackRows)*m.BlackCols + phase(a.X0+i-im.active.X0, m.BlackCols)
			sum[k] += float64(v)
			count[k]++
		}
	}
	return nil
}

// phase is the place of a coordinate, which may be negative, in a period.
func phase(at, period int) int { return (at%period + period) % period }
