package wgmma

import (
	"fmt"

	"enhance/conv"
)

const (
	group = 256 // two warpgroups
	tileW = 16

	// localMem is what a work-group may take of a compute unit's 228 KiB, so that
	// two fit: each takes 1 KiB more. OpenCL reports 48, what kernels have that
	// declare it as OpenCL does.
	localMem = 228<<10/2 - 1<<10
)

// variant is how a work-group divides its tile (see wgmma.cl).
type variant struct {
	block int // rows of the picture in M: 1, 2 or 4
	sets  int // stages whose patches are in local memory together
	piece int // taps whose weights come together
	slots int // such pieces in local memory, at least 2
}

// String is the part of a kernel's name that says the variant.
func (v variant) String() string {
	return fmt.Sprintf("m%d_s%d_p%dx%d", v.block, v.sets, v.piece, v.slots)
}

func (v variant) tileH() int   { return 16 * v.block }
func (v variant) outputs() int { return 64 / v.block }

// taps is how many products a stage has.
func (v variant) taps(k int) int { return (k + v.block - 1) * k }

// localBytes is the size of the patches, the ring of weights with its barriers
// and the table of rows, as wgmma.cl defines them.
func (v variant) localBytes(k int) int64 {
	left := min(k/2, 1) * 4
	rows, quads := v.tileH()+k-1, (tileW+left-k/2+k-1+3)/4
	plane := (rows*(4*quads+1)+3)/8*8 + 4
	return int64(v.sets*2*plane*16 + v.slots*(v.piece*tapBytes+16) + 4*rows*8)
}

// choose gives the variant for a shape: one kernel row of weights at a time. More
// slots make a layer slower again, as local memory is taken from what caches
// global memory. docs/mma.md has figures.
func choose(s conv.Shape) variant {
	v := variant{block: 1, sets: 1, piece: s.K, slots: 3}
	if s.OutC <= 32 {
		v.block = 2
	}
	switch {
	case s.K == 1:
		v.piece = 4
	case s.K == 5:
		v.slots = 4
	}
	return v
}
