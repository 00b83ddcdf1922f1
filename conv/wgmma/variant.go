package wgmma

import (
	"fmt"

	"enhance/conv"
)

const (
	group = 256 // two warpgroups
	tileW = 16

	// localMem is what a work-group may take of a compute unit's 228 KiB, so that
	// two fit: each takes 1 KiB more. OpenCL says 48, what a kernel can have that
	// declares it as OpenCL does.
	localMem = 228<<10/2 - 1<<10
)

// variant is how a work-group divides its tile (see wgmma.cl).
type variant struct {
	block   int // rows of the picture in M: 1 or 2
	buffers int // patches in local memory: 1 to 3
	piece   int // kernel rows whose weights come together: 1 if block is 2
	slots   int // such pieces in local memory, at least 2, or 3 if block is 2
}

// String is the part of a kernel's name that says the variant.
func (v variant) String() string {
	return fmt.Sprintf("m%d_b%d_p%dx%d", v.block, v.buffers, v.piece, v.slots)
}

func (v variant) tileH() int   { return 16 * v.block }
func (v variant) outputs() int { return 64 / v.block }

// localBytes is the size of the patches, the ring of weights with its barriers
// and the table of rows, as wgmma.cl defines them.
func (v variant) localBytes(k int) int64 {
	rows, columns := v.tileH()+k-1, tileW
	if k > 1 {
		columns += 8
	}
	plane := (rows*(columns+1)+3)/8*8 + 4
	need := v.buffers*2*plane*16 + (v.slots+v.block-1)*v.piece*k*tapBytes/v.block + v.slots*16
	return int64(max(need, v.outputs()*(v.tileH()*tileW*2+16)) + 4*rows*8)
}

// choose gives the variant for a shape. Local memory is taken from what caches
// global memory: more slots than these made layers slower. docs/wgmma.md has
// figures.
func choose(s conv.Shape) variant {
	stages := len(channelOrder(s.SrcC)) / 16
	v := variant{block: 1, buffers: min(stages, 3), piece: 1, slots: 3}
	if s.OutC <= 32 {
		v.block = 2
	}
	switch {
	case v.block == 2:
		v.slots = 5
	case s.K == 1:
		v.piece = 4
	case s.K == 3:
		v.piece, v.slots = 3, 2
	}
	if v.localBytes(s.K) > 97<<10 { // of two groups, that leaves the L1 cache 60 KiB of 256
		v.buffers = 1
	}
	return v
}
