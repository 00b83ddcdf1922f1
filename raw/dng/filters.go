package dng

import (
	"fmt"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// cfa reads the filter pattern, whose origin is the active area's corner.
func (s *source) cfa(im *Image, _ *layout) error {
	switch {
	case s.mono:
		im.Meta.CFA = mosaic.Mono
		return nil
	case !s.isDNG() || s.linear:
		return nil
	}
	dim, err := s.raw.Uints(tagCFARepeatPatternDim, 2)
	if err != nil {
		return err
	}
	if len(dim) != 2 || dim[0] < 1 || dim[1] < 1 {
		return rawerr.Formatf("dng", "CFARepeatPatternDim %v", dim)
	}
	if dim[0] > mosaic.MaxPeriod || dim[1] > mosaic.MaxPeriod {
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("CFA pattern of %dx%d", dim[0], dim[1]),
			Advice: fmt.Sprintf("patterns of up to %dx%d are read", mosaic.MaxPeriod, mosaic.MaxPeriod)}
	}
	n := int(dim[0] * dim[1])
	v, err := s.raw.Uints(tagCFAPattern, int64(n))
	if err != nil {
		return err
	}
	if len(v) != n {
		return rawerr.Formatf("dng", "CFAPattern has %d values, want %d", len(v), n)
	}
	filters := make([]mosaic.Colour, n)
	for i, c := range v {
		if c > 2 {
			return &rawerr.UnsupportedError{Feature: fmt.Sprintf("CFA with a filter colour other than red, green and blue (code %d)", c)}
		}
		filters[i] = mosaic.Colour(c)
	}
	p, err := mosaic.NewPattern(int(dim[0]), int(dim[1]), filters)
	if err != nil {
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("CFA pattern of %dx%d: %v", dim[0], dim[1], err),
			Advice: "only red, green and blue sensors, and monochrome ones, are read"}
	}
	im.Meta.CFA = p
	return nil
}
