package conv_test

import (
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/planar"
)

func TestRowTileNames(t *testing.T) {
	for _, vector := range []int{4, 8, 16} {
		for _, outC := range []int{3, 12, 20, 32, 96} {
			c := conv.Caps{CPU: true, Vector: vector}
			s := conv.Shape{K: 3, SrcC: []int{16}, OutC: outC, H: 40, W: 70}
			list := conv.RowTiles(c, s, planar.FP32)
			if outC > 3 && len(list) == 0 {
				t.Errorf("no tiles for vectors of %d and %d outputs", vector, outC)
			}
			for _, a := range list {
				if back, ok := conv.RowTileNamed(a.Name()); !ok || back != a {
					t.Errorf("%s gives %+v, %v", a.Name(), back, ok)
				}
				if _, err := a.New(c, s, planar.FP32); err != nil {
					t.Errorf("%v: %v", s, err)
				}
			}
		}
	}
	for _, name := range []string{"", "direct-rows", "direct-rows-o0v1", "direct-rows-o1v1x", "direct-rows-o17v1", "direct-rows-o-1v2", "direct-rows-o06v2"} {
		if a, ok := conv.RowTileNamed(name); ok {
			t.Errorf("%q gives %+v", name, a)
		}
	}
}

// TestRowTileContract holds tiles that Rows does not choose to the contract.
func TestRowTileContract(t *testing.T) {
	dev := convtest.Device(t)
	for _, tile := range []conv.RowTile{{Lanes: 1, Tile: 4}, {Lanes: 3, Tile: 2}} {
		t.Run(tile.Name(), func(t *testing.T) {
			convtest.Run(t, convtest.Config{Algo: tile, Device: dev, Precision: planar.FP32, Cases: convtest.Cases(3)})
		})
	}
}
