package dng

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"

	"enhance/internal/workers"
	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

var bigEndian = binary.BigEndian

// linearPlanes is how many samples a pixel of a linear image has.
const linearPlanes = 3

// linearLevels are the black and white levels of a linear image. Black has
// rows x cols cells of linearPlanes values.
type linearLevels struct {
	rows, cols     int
	black          []float32
	deltaH, deltaV []float32
	white          [linearPlanes]float32
}

// readLinearLevels reads them. Meta gets 0 and 1, as ReadLinear gives samples.
func (s *source) readLinearLevels(im *Image, l *layout) error {
	m := &im.Meta
	m.Linear = true
	m.SetBlack(0)
	m.SetWhite(1)
	v := &im.linearLevels
	v.rows, v.cols = 1, 1
	for i := range v.white {
		v.white[i] = l.fullScale()
	}
	if s.raw.Has(tagBlackLevelRepeatDim) {
		d, err := s.raw.Uints(tagBlackLevelRepeatDim, 2)
		if err != nil {
			return err
		}
		if len(d) != 2 || d[0] < 1 || d[1] < 1 || d[0] > uint64(l.h) || d[1] > uint64(l.w) {
			return rawerr.Formatf("dng", "BlackLevelRepeatDim %v in an image of %d rows, %d columns", d, l.h, l.w)
		}
		v.rows, v.cols = int(d[0]), int(d[1])
	}
	var err error
	for _, c := range []struct {
		tag  uint16
		name string
		want int
		dst  *[]float32
	}{
		{tagBlackLevel, "BlackLevel", v.rows * v.cols * linearPlanes, &v.black},
		{tagBlackLevelDeltaH, "BlackLevelDeltaH", m.Width, &v.deltaH},
		{tagBlackLevelDeltaV, "BlackLevelDeltaV", m.Height, &v.deltaV},
	} {
		if *c.dst, err = s.floats32(c.tag, c.name, c.want); err != nil {
			return err
		}
	}
	if v.black == nil {
		v.rows, v.cols, v.black = 1, 1, make([]float32, linearPlanes)
	}
	if white, err := s.floats32(tagWhiteLevel, "WhiteLevel", linearPlanes); err != nil {
		return err
	} else if white != nil {
		v.white = [linearPlanes]float32(white)
	}
	return v.check()
}

// floats32 reads want finite values of a tag, one for all where the file has one,
// nil if it has none.
func (s *source) floats32(tag uint16, name string, want int) ([]float32, error) {
	if !s.raw.Has(tag) {
		return nil, nil
	}
	v, err := s.raw.Floats(tag, int64(want))
	if err != nil {
		return nil, err
	}
	if len(v) != want && len(v) != 1 {
		return nil, rawerr.Formatf("dng", "%s has %d values, want %d", name, len(v), want)
	}
	out := make([]float32, want)
	for i := range out {
		out[i] = float32(v[min(i, len(v)-1)])
		if x := out[i]; x-x != 0 {
			return nil, rawerr.Formatf("dng", "%s has a value that is not a number", name)
		}
	}
	return out, nil
}

func (v *linearLevels) check() error {
	most := func(x []float32) float32 {
		top := float32(0)
		for i, b := range x {
			if i == 0 || b > top {
				top = b
			}
		}
		return top
	}
	black := most(v.black) + most(v.deltaH) + most(v.deltaV)
	white := min(v.white[0], v.white[1], v.white[2])
	if !(black < white) {
		return rawerr.Formatf("dng", "white level %g is not above black level %g", white, black)
	}
	return nil
}

// ReadLinear reads rows y0 to y0+n-1 of the active area of a linear image: each
// row's red, green and blue one after the other, Meta.Width samples each, 0 at
// black and 1 at white, not clipped.
func (im *Image) ReadLinear(y0, n int, dst []float32) error {
	if im.linearRows == nil {
		return fmt.Errorf("dng: the image is a mosaic, not linear")
	}
	a := im.active
	if err := im.linearRows.readFloats(a.Y0+y0, n, a.X0, a.X1, dst); err != nil {
		return fmt.Errorf("dng: %w", err)
	}
	w := a.Width()
	workers.Each(workers.Count(n, time.Duration(6*w)), n, func(_, r int) {
		for p := range linearPlanes {
			im.normalise(y0+r, p, dst[(r*linearPlanes+p)*w:][:w])
		}
	})
	return nil
}

// normalise linearizes and scales plane p of row y in place. Samples that are not
// numbers become 0, infinite ones the white level.
func (im *Image) normalise(y, p int, row []float32) {
	v := &im.linearLevels
	if t := im.table; t != nil {
		for i, x := range row {
			row[i] = float32(t[min(max(int(x), 0), len(t)-1)])
		}
	}
	dv := float32(0)
	if v.deltaV != nil {
		dv = v.deltaV[y]
	}
	cells := v.black[y%v.rows*v.cols*linearPlanes:]
	white := v.white[p]
	for i, x := range row {
		b := cells[i%v.cols*linearPlanes+p] + dv
		if v.deltaH != nil {
			b += v.deltaH[i]
		}
		x = (x - b) / (white - b)
		switch {
		case x != x:
			x = 0
		case x > math.MaxUint16:
			x = math.MaxUint16
		case x < -1:
			x = -1
		}
		row[i] = x
	}
}

// floatRows gives a floating-point mosaic as 16-bit integers, white level 65535.
type floatRows struct {
	*streamRows
	scale float32
}

// setLevels fixes the scale by the white level, and scales the levels.
func (f *floatRows) setLevels(m *mosaic.Meta) {
	f.scale = math.MaxUint16 / max(m.White[0], m.White[1], m.White[2])
	for _, v := range [][]float32{m.Black, m.BlackDeltaH, m.BlackDeltaV, m.White[:]} {
		for i := range v {
			v[i] *= f.scale
		}
	}
	m.BitDepth = 16
}

func (f *floatRows) readRows(y0, n, x0, x1 int, dst []uint16) error {
	size := n * (x1 - x0)
	if cap(f.flat) < size {
		f.flat = make([]float32, size)
	}
	flat := f.flat[:size]
	if err := f.readFloats(y0, n, x0, x1, flat); err != nil {
		return err
	}
	for i, v := range flat {
		v *= f.scale
		if !(v > 0) { // not a number too
			v = 0
		}
		dst[i] = uint16(min(v, math.MaxUint16) + 0.5)
	}
	return nil
}
