package noise

import "enhance/raw/mosaic"

// BandRows is how many mosaic rows a band has.
const BandRows = bandRows

// Bands are the first rows of the bands that Estimate reads, for others who want a
// bounded sample of the photo: none if its crop is smaller than a band.
func Bands(m *mosaic.Meta) (first []int) {
	across, tall := min(m.Crop.Width()/bandRows, maxColumns), m.Crop.Height()/bandRows
	if across == 0 || tall == 0 {
		return nil
	}
	n := min(tall, maxBlocks/(4*across))
	for k := range n {
		first = append(first, m.Crop.Y0+bandRows*int((int64(k)*2+1)*int64(tall)/int64(2*n)))
	}
	return first
}
