package pipeline

import (
	"enhance/model"
	"enhance/raw"
)

// masks say which samples of a mosaic are of which colour, for networks whose planes are
// masked (model.SamplesMasked).
type masks struct {
	y0   int       // of the region, in the active area
	rows [][]uint8 // the colours of a row of the region, for each row of the filter array
}

func newMasks(p raw.Pattern, region raw.Rect) *masks {
	m := &masks{y0: region.Y0, rows: make([][]uint8, p.Rows())}
	for y := range m.rows {
		row := make([]uint8, region.Width())
		for x := range row {
			row[x] = uint8(p.At(y, region.X0+x))
		}
		m.rows[y] = row
	}
	return m
}

// colours are those of row at of the region.
func (m *masks) colours(at int) []uint8 { return m.rows[(m.y0+at)%len(m.rows)] }

// maskedHalf fills the planes of row r (0 or 1) of the quads with a row of a mosaic, whose
// columns are of so many colours.
func (s *source) maskedHalf(w packing, planes [][]float32, r int, colours []uint8) {
	for j, cols := range s.cols {
		for c := range uint8(3) {
			k := model.MaskedPlane(int(c), r, j)
			mask(planes[k], w.line, cols, colours, c, 0)
			if w.noise != nil {
				mask(planes[3*4+k], w.noise, cols, colours, c, model.NoNoise)
			}
		}
	}
}

// mask picks the samples of a packed row that are of colour c; others are none.
func mask(dst, line []float32, cols []int32, colours []uint8, c uint8, none float32) {
	for x, from := range cols[:len(dst)] {
		v := none
		if colours[from] == c {
			v = line[from]
		}
		dst[x] = v
	}
}
