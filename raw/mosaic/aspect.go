package mosaic

import (
	"fmt"
	"math"
)

// maxAspect is the most that pixels are believed to be longer than wide, or wider than
// long: it bounds the size of pictures.
const maxAspect = 4

// squareEnough is how far from 1 a ratio may be that is not worth resampling for: a pixel
// in 200.
const squareEnough = 0.005

// SetPixelAspect takes a file's ratio of a sample's width to its height, and says in
// Warnings what follows of it.
func (m *Meta) SetPixelAspect(ratio float64) {
	m.PixelAspect = 0
	switch {
	case math.Abs(ratio-1) <= squareEnough:
	case !(ratio >= 1.0/maxAspect && ratio <= maxAspect): // no number too
		m.Warnings = append(m.Warnings, fmt.Sprintf("the file says that pixels are %.3g times as wide as high, which is not believed: the picture is not stretched", ratio))
	default:
		m.PixelAspect = ratio
		m.Warnings = append(m.Warnings, fmt.Sprintf("the camera's pixels are not square (%.4g to 1): the picture is stretched", ratio))
	}
}

// SquareSize is the size of a picture of w x h samples when its pixels are square: the
// side along which they are longer grows, so that no detail is lost.
func (m *Meta) SquareSize(w, h int) (int, int) {
	switch a := m.PixelAspect; {
	case a > 1:
		w = int(math.Round(float64(w) * a))
	case a > 0 && a < 1:
		h = int(math.Round(float64(h) / a))
	}
	return w, h
}
