package octets

import "fmt"

// variant is how a work-group divides its work (see octets.cl).
type variant struct {
	nt    int // octets of outputs
	r     int // rows of a tile
	teams int // warpgroups with tiles of their own
	os    int // octets of a stage
	slots int // stages in local memory, 2 to mostSlots
}

const (
	tileW = 64 // columns of a tile
	team  = 128
	// mostSlots is for how many slots of a team octets.cl has barrier objects.
	mostSlots = 4
)

// String says the variant.
func (v variant) String() string { return fmt.Sprintf("%sx%d", v.compiled(), v.slots) }

// compiled is the part of a kernel's name that says what of the variant is no argument.
func (v variant) compiled() string {
	return fmt.Sprintf("n%d_r%d_t%d_o%d", v.nt, v.r, v.teams, v.os)
}

func (v variant) group() int   { return team * v.teams }
func (v variant) outputs() int { return 8 * v.nt }

// steps is the number of steps of a stage for kernel side k.
func (v variant) steps(k int) int { return v.os/2*k + v.os%2*((k+1)/2) }

// stageBytes is the size of the weights of a stage.
func (v variant) stageBytes(k int) int { return v.steps(k) * k * v.outputs() * 32 }

// localBytes is the size of biases, slopes, barriers, weights and slots, as octets.cl places them.
func (v variant) localBytes(k, stages int) int {
	slot := v.os * (v.r + k - 1) * (tileW + k - 1) * 16
	taps := ceilDiv(v.outputs()*8+8+mostSlots*v.teams*16, 128) * 128
	return taps + stages*v.stageBytes(k) + v.teams*v.slots*slot
}

// sane reports whether there is such a variant.
func (v variant) sane() bool {
	for _, n := range []int{v.nt, v.r, v.teams, v.os} {
		if n < 1 || n > maxOctets {
			return false
		}
	}
	return v.slots >= 2 && v.slots <= mostSlots
}
