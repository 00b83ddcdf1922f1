package octets

import "fmt"

// variant is how a work-group divides its work (see octets.cl).
type variant struct {
	units int // how it multiplies: plain, bulk or warpgroups
	nt    int // octets of outputs of a warp
	wn    int // warps along the outputs
	p     int // sixteens of columns of a warp: 1 with wgmma
	wc    int // warps side by side: a multiple of 4 with wgmma
	r     int // rows of a warp
	wr    int // warps below each other
	teams int // of warps with tiles of their own
	os    int // octets of a stage
	slots int // stages in local memory, at least 2
	per   int // work-groups on a compute unit
}

// What a variant may take of the device.
const (
	plain      = iota // mma.sync, lines copied by all work-items
	bulk              // mma.sync, lines copied by Hopper's unit for it
	warpgroups        // and products by warpgroups
)

// String is the part of a name that says the variant.
func (v variant) String() string {
	return fmt.Sprintf("u%d_n%dx%d_c%dx%d_r%dx%d_t%d_o%dx%d_g%d", v.units, v.nt, v.wn, v.p, v.wc, v.r, v.wr, v.teams, v.os, v.slots, v.per)
}

func (v variant) team() int    { return 32 * v.wc * v.wr * v.wn }
func (v variant) group() int   { return v.team() * v.teams }
func (v variant) tileW() int   { return 16 * v.p * v.wc }
func (v variant) tileH() int   { return v.r * v.wr }
func (v variant) outputs() int { return 8 * v.nt * v.wn }

// steps is the number of steps of a stage for kernel side k.
func (v variant) steps(k int) int { return v.os/2*k + v.os%2*((k+1)/2) }

// stageBytes is the size of the weights of a stage.
func (v variant) stageBytes(k int) int { return v.steps(k) * k * v.outputs() * 32 }

// localBytes is the size of weights, slots, biases, slopes and barriers, as octets.cl defines them.
func (v variant) localBytes(k, stages int) int {
	slot := v.os * (v.tileH() + k - 1) * (v.tileW() + k - 1) * 16
	return stages*v.stageBytes(k) + v.teams*v.slots*slot + v.outputs()*8 + 8 + v.teams*v.slots*16
}

// sane bounds the fields of a variant from outside, so that no product of them is too large.
func (v variant) sane() bool {
	for _, n := range []int{v.nt, v.wn, v.p, v.wc, v.r, v.wr, v.teams, v.os, v.slots, v.per} {
		if n < 1 || n > 16 {
			return false
		}
	}
	if v.units == warpgroups && (v.p != 1 || v.wc%4 != 0) {
		return false
	}
	return v.slots >= 2 && v.tileW() <= 128 && v.units >= plain && v.units <= warpgroups
}
