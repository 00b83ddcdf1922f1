package pipeline

import (
	"math/rand/v2"
	"slices"
	"testing"

	"enhance/raw"
	"enhance/raw/mosaic"
)

// TestLightSampleRow: the cells of a Bayer mosaic are those that sample after sample makes, to
// the bit, for any phase and a crop of any size.
func TestLightSampleRow(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, cfa := range []mosaic.Pattern{mosaic.RGGB, mosaic.GRBG, mosaic.BGGR, mosaic.Mono, mosaic.XTrans} {
		m := raw.Meta{Width: 53, Height: 40, CFA: cfa, Crop: raw.Rect{X0: 3, Y0: 1, X1: 52, Y1: 40}}
		m.SetBlack(100)
		m.SetWhite(5000)
		got, want := newLightSample(&m), newLightSample(&m)
		const first, rows = 9, 16
		stored := make([]uint16, rows*m.Width)
		for i := range stored {
			stored[i] = uint16(rng.IntN(5000))
		}
		got.band(first, rows, stored)
		for k := range rows {
			m.Normalise(first+k, m.Crop.X0, stored[k*m.Width+m.Crop.X0:][:m.Crop.Width()], want.line)
			for x, v := range want.line[:len(want.sum)*cellSide] {
				want.sum[x/cellSide].add(cfa.At(first+k, m.Crop.X0+x), v)
			}
			if k%cellSide == cellSide-1 {
				want.rowEnds()
			}
		}
		if len(got.cells) != 2*6 || !slices.Equal(got.cells, want.cells) {
			t.Errorf("%v: %v, want %v", cfa.Kind(), got.cells, want.cells)
		}
	}
}
