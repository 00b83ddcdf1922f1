package dng

import (
	"math"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// area reads ActiveArea, the default crop and the orientation.
func (s *source) area(im *Image, l *layout) error {
	m := &im.Meta
	im.active = mosaic.Rect{X1: l.w, Y1: l.h}
	if s.isDNG() && s.raw.Has(tagActiveArea) {
		v, err := s.raw.Uints(tagActiveArea, 4)
		if err != nil {
			return err
		}
		// Top, left, bottom, right.
		if len(v) != 4 || v[0] >= v[2] || v[1] >= v[3] || v[2] > uint64(l.h) || v[3] > uint64(l.w) {
			return rawerr.Formatf("dng", "ActiveArea %v is not a rectangle inside the %dx%d image", v, l.w, l.h)
		}
		im.active = mosaic.Rect{X0: int(v[1]), Y0: int(v[0]), X1: int(v[3]), Y1: int(v[2])}
	}
	m.Width, m.Height = im.active.Width(), im.active.Height()
	m.Crop = mosaic.Rect{X1: m.Width, Y1: m.Height}
	if err := s.crop(m); err != nil {
		return err
	}
	if s.isDNG() && s.raw.Has(tagDefaultScale) {
		v, err := s.raw.Floats(tagDefaultScale, 2)
		if err != nil {
			return err
		}
		if len(v) != 2 {
			return rawerr.Formatf("dng", "DefaultScale has %d values, want 2", len(v))
		}
		m.SetPixelAspect(v[0] / v[1])
	}
	o, err := s.first.Uint(tagOrientation, 1)
	if err != nil {
		return err
	}
	if o < 1 || o > 8 {
		s.warn("Orientation %d is not 1 to 8 and is taken as 1 (upright)", o)
		o = 1
	}
	m.Orientation = int(o)
	return nil
}

// crop reads DefaultCropOrigin and DefaultCropSize, which count from the active
// area's corner and may be fractions.
func (s *source) crop(m *mosaic.Meta) error {
	if !s.isDNG() || !s.raw.Has(tagDefaultCropSize) {
		return nil
	}
	size, err := s.raw.Floats(tagDefaultCropSize, 2)
	if err != nil {
		return err
	}
	origin := []float64{0, 0}
	if s.raw.Has(tagDefaultCropOrigin) {
		if origin, err = s.raw.Floats(tagDefaultCropOrigin, 2); err != nil {
			return err
		}
	}
	if len(size) != 2 || len(origin) != 2 {
		return rawerr.Formatf("dng", "default crop of size %v at %v, want two numbers each", size, origin)
	}
	full := m.Crop
	x0, y0 := math.Round(origin[0]), math.Round(origin[1])
	x1, y1 := math.Round(origin[0]+size[0]), math.Round(origin[1]+size[1])
	inside := x0 >= 0 && y0 >= 0 && x0 < x1 && y0 < y1 && x0 < float64(full.X1) && y0 < float64(full.Y1)
	if !inside { // false for NaN too
		return rawerr.Formatf("dng", "default crop of size %v at %v is not inside the active area of %dx%d", size, origin, m.Width, m.Height)
	}
	if x1 > float64(full.X1) || y1 > float64(full.Y1) {
		s.warn("the default crop of size %v at %v reaches beyond the active area and was cut to it", size, origin)
	}
	m.Crop = mosaic.Rect{X0: int(x0), Y0: int(y0), X1: int(min(x1, float64(full.X1))), Y1: int(min(y1, float64(full.Y1)))}
	return nil
}

func (s *source) linearization(im *Image, l *layout) error {
	if !s.isDNG() || !s.raw.Has(tagLinearizationTable) {
		return nil
	}
	v, err := s.raw.Uints(tagLinearizationTable, 1<<16)
	if err != nil {
		return err
	}
	im.table = make([]uint16, len(v))
	for i, x := range v {
		if x > math.MaxUint16 {
			return rawerr.Formatf("dng", "LinearizationTable has %d at %d, more than 16 bits", x, i)
		}
		im.table[i] = uint16(x)
	}
	return nil
}

// levels reads black and white levels; defaults are 0 and the largest sample.
func (s *source) levels(im *Image, l *layout) error {
	if s.linear {
		return s.readLinearLevels(im, l)
	}
	m := &im.Meta
	m.BlackRows, m.BlackCols, m.Black = 1, 1, []float32{0}
	m.SetWhite(l.fullScale())
	if !s.isDNG() {
		m.WhiteUnsure = true
		return nil
	}
	if s.raw.Has(tagWhiteLevel) {
		v, err := s.raw.Floats(tagWhiteLevel, 1)
		if err != nil {
			return err
		}
		m.SetWhite(float32(v[0]))
	}
	if err := s.blackLevels(m, l); err != nil {
		return err
	}
	if f, ok := im.rows.(*floatRows); ok {
		f.setLevels(m)
	}
	return nil
}

// blackLevels reads the pattern of black levels, and what rows and columns add to it.
func (s *source) blackLevels(m *mosaic.Meta, l *layout) error {
	if s.raw.Has(tagBlackLevelRepeatDim) {
		v, err := s.raw.Uints(tagBlackLevelRepeatDim, 2)
		if err != nil {
			return err
		}
		if len(v) != 2 || v[0] < 1 || v[1] < 1 || v[0] > uint64(l.h) || v[1] > uint64(l.w) {
			return rawerr.Formatf("dng", "BlackLevelRepeatDim %v in an image of %d rows, %d columns", v, l.h, l.w)
		}
		m.BlackRows, m.BlackCols = int(v[0]), int(v[1])
	}
	for _, c := range []struct {
		tag  uint16
		name string
		want int
		dst  *[]float32
	}{
		{tagBlackLevel, "BlackLevel", m.BlackRows * m.BlackCols, &m.Black},
		{tagBlackLevelDeltaH, "BlackLevelDeltaH", m.Width, &m.BlackDeltaH},
		{tagBlackLevelDeltaV, "BlackLevelDeltaV", m.Height, &m.BlackDeltaV},
	} {
		if !s.raw.Has(c.tag) {
			continue
		}
		v, err := s.raw.Floats(c.tag, int64(c.want))
		if err != nil {
			return err
		}
		if len(v) != c.want {
			return rawerr.Formatf("dng", "%s has %d values, want %d", c.name, len(v), c.want)
		}
		*c.dst = make([]float32, len(v))
		for i, x := range v {
			(*c.dst)[i] = float32(x)
		}
	}
	if len(m.Black) != m.BlackRows*m.BlackCols { // no BlackLevel: zeros
		m.BlackRows, m.BlackCols = 1, 1
	}
	return nil
}

// fullScale is the white level of a file that names none.
func (l *layout) fullScale() float32 {
	if l.float {
		return 1
	}
	return float32(uint(1)<<l.bits - 1)
}
