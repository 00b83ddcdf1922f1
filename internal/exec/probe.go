package exec

import (
	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
)

// ProbeUnits asks a device whether it has matrix units, and Hopper's. It does not say that activations
// may be octets.
func ProbeUnits(ctx *clrt.Context) (u conv.Units, err error) {
	if u.Matrix, err = mma.Probe(ctx); err == nil && u.Matrix {
		u.Warpgroup, err = wgmma.Probe(ctx)
	}
	return u, err
}
