package noise

import (
	"math"
	"testing"

	"enhance/raw/mosaic"
)

// TestLattice: blocks are as small as an array allows, and all of a block's samples are
// behind filters of one colour, wherever the crop begins.
func TestLattice(t *testing.T) {
	for name, want := range map[string]struct{ rows, cols, places int }{
		"RGGB": {2, 2, 4}, "mono": {2, 2, 4}, "xtrans": {3, 3, 5}, "quad-GRBG": {4, 4, 6}, "3x3:RGBGBRBRG": {3, 3, 3}, "3x5:RGBGRGBRGBBRGBG": {3, 5, 5},
	} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		for shift := range 6 {
			m := &mosaic.Meta{Width: 400, Height: 300, CFA: p, Crop: mosaic.Rect{X0: shift, Y0: 2 * shift, X1: 390, Y1: 290}}
			l := latticeOf(m)
			if l.rows != want.rows || l.cols != want.cols || len(l.places) != want.places {
				t.Fatalf("%s: steps of %d rows, %d columns, %d places; want %+v", name, l.rows, l.cols, len(l.places), want)
			}
			for _, y0 := range l.bands(m) {
				for _, place := range l.places {
					y, x := y0+place[0], m.Crop.X0+l.bandCols()+place[1]
					for i := range side {
						for j := range side {
							if p.At(y+i*l.rows, x+j*l.cols) != p.At(y, x) {
								t.Fatalf("%s: row %d, column %d is not of the block's colour", name, y+i*l.rows, x+j*l.cols)
							}
						}
					}
				}
			}
		}
	}
}

// TestPaintedBehindOthers is TestPainted for arrays that are not Bayer's.
func TestPaintedBehindOthers(t *testing.T) {
	for _, name := range []string{"xtrans", "quad-RGGB", "3x3:RGBGBRBRG", "mono"} {
		p, err := mosaic.ParsePattern(name)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range sensors {
			e, err := shootBehind(p, 1200, 900, painted(1200, 900), want, uint64(i)).estimate()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, v := range []float64{0.01, 0.1, 0.4} {
				if r := math.Sqrt(e.Levels[1].At(v) / want[1].At(v)); !(r > 0.85 && r < 1.15) {
					t.Errorf("%s, sensor %d at %g: %.3f of the true deviation (%+v)", name, i, v, r, e.Levels[1])
				}
			}
		}
	}
}
