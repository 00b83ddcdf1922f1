package noise

import "enhance/raw/mosaic"

// lattice says which samples make blocks: every step-th row and column from each of some
// places, behind filters of one colour. The steps are the smallest that an array has, so that
// a block is a small part of the picture: 2 for Bayer's, 3 for X-Trans, whose green filters
// repeat after 3 rows and columns, 4 for quad-Bayer.
type lattice struct {
	rows, cols int // the steps
	places     [][2]int
}

// leastStep keeps neighbours apart, which sensors without filters and demosaiced photos
// need: there they may share what made them.
const leastStep = 2

// maxPlaces bounds the blocks of a location, so that there are many locations.
const maxPlaces = 6

func latticeOf(m *mosaic.Meta) lattice {
	for step := leastStep; step <= mosaic.MaxPeriod; step++ {
		l := lattice{rows: step, cols: step}
		if l.places = l.ofOneColour(m); l.places != nil {
			return l.thinned()
		}
	}
	l := lattice{rows: m.CFA.Rows(), cols: m.CFA.Cols()}
	l.places = l.ofOneColour(m)
	return l.thinned()
}

// ofOneColour are the places from which all samples have filters of one colour.
func (l lattice) ofOneColour(m *mosaic.Meta) (places [][2]int) {
	for y := range l.rows {
		for x := range l.cols {
			same := true
			for i := range side * side {
				same = same && m.CFA.At(m.Crop.Y0+y+i/side*l.rows, m.Crop.X0+x+i%side*l.cols) == m.CFA.At(m.Crop.Y0+y, m.Crop.X0+x)
			}
			if same {
				places = append(places, [2]int{y, x})
			}
		}
	}
	return places
}

// thinned leaves out places evenly until they are few. An odd number of them is passed
// over each time, for arrays have even periods mostly, and the colours should mix.
func (l lattice) thinned() lattice {
	every := 1
	for (len(l.places)+every-1)/every > maxPlaces {
		every += 2
	}
	var kept [][2]int
	for i := 0; i < len(l.places); i += every {
		kept = append(kept, l.places[i])
	}
	l.places = kept
	return l
}

// bandRows is how many mosaic rows blocks take, bandCols how many columns.
func (l lattice) bandRows() int { return side * l.rows }
func (l lattice) bandCols() int { return side * l.cols }
