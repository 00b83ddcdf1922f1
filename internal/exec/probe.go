package exec

import (
	"enhance/clrt"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
)

// ProbeUnits asks a device whether it has matrix units, and Hopper's.
func ProbeUnits(ctx *clrt.Context) (matrix, warpgroup bool, err error) {
	if matrix, err = mma.Probe(ctx); err == nil && matrix {
		warpgroup, err = wgmma.Probe(ctx)
	}
	return matrix, warpgroup, err
}
