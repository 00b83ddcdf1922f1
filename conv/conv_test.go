package conv_test

import (
	"fmt"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/convtest"
	"enhance/planar"
)

// TestContract holds the direct algorithms of both kinds of device to the
// contract, on whatever device there is.
func TestContract(t *testing.T) {
	dev := convtest.Device(t)
	for _, algo := range []conv.Algo{conv.Rows{}, conv.Tile{}} {
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			t.Run(fmt.Sprintf("%s/%s", algo.Name(), p), func(t *testing.T) {
				c := convtest.Config{Algo: algo, Device: dev, Precision: p}
				if _, gpu := algo.(conv.Tile); gpu && dev.Info().Type == clrt.CPU {
					c.Families = 2 // take seconds each to compile there
				}
				convtest.Run(t, c)
			})
		}
	}
}
