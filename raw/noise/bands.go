package noise

import "enhance/raw/mosaic"

// BandRows is how many mosaic rows a band of a photo has: a multiple of 8.
func BandRows(m *mosaic.Meta) int { return latticeOf(m).bandRows() }

// Bands are the first rows of the bands that Estimate reads, for others who want a
// bounded sample of the photo: none if its crop is smaller than a band.
func Bands(m *mosaic.Meta) (first []int) { return latticeOf(m).bands(m) }

func (l lattice) bands(m *mosaic.Meta) (first []int) {
	rows := l.bandRows()
	across, tall := min(m.Crop.Width()/l.bandCols(), maxColumns), m.Crop.Height()/rows
	if across == 0 || tall == 0 {
		return nil
	}
	n := min(tall, maxBlocks/(len(l.places)*across))
	for k := range n {
		first = append(first, m.Crop.Y0+rows*int((int64(k)*2+1)*int64(tall)/int64(2*n)))
	}
	return first
}
