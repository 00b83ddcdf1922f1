package ops

import (
	_ "embed"

	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/planar"
)

//go:embed samples.cl
var samplesCL string

//go:embed unpackoctets.cl
var unpackOctetsCL string

// SamplesSource is the text of the kernel that takes stored samples to planes, or to octets, without the prelude: a
// program of its own.
func SamplesSource(octets bool) string {
	if octets {
		return planar.OctetsSource() + kerneltext.Define(unpackOctetsCL, "TABLE", TableLen)
	}
	return linesCL + kerneltext.Define(samplesCL, "TABLE", TableLen)
}

// TableLen is how many entries a table of samples has: one for every number of 16 bits.
const TableLen = 1 << 16

// Unpacker has the kernel of SamplesSource.
type Unpacker struct {
	caps   conv.Caps
	q      *clrt.Queue
	kernel *clrt.Kernel
}

// NewUnpacker takes the kernel from a program built with SamplesSource.
func NewUnpacker(p *clrt.Program, q *clrt.Queue, c conv.Caps, octets bool) (*Unpacker, error) {
	name := "samples_unpack"
	if octets {
		name += "_octets"
	}
	k, err := p.Kernel(name)
	return &Unpacker{caps: c, q: q, kernel: k}, err
}

// Close releases the kernel.
func (u *Unpacker) Close() {
	if u != nil && u.kernel != nil {
		u.kernel.Close()
	}
}

// Unpack makes rows [y0,y1) of dst, whose planes are so many and whose plane k is what table k makes of the samples at
// places[k mod 4] (row and column) of the quads. src is a ring of fuse.Samples; tables
// holds one table of TableLen entries, in the precision of dst, for each plane.
func (u *Unpacker) Unpack(src, dst planar.Ring, planes int, tables *clrt.Buffer, places [fuse.QuadPlaces][2]int, y0, y1 int) error {
	if err := new(conv.KernelArgs).Ring(src).Ring(dst).Buffer(tables).Int(y0, packed(places), planes/fuse.QuadPlaces-1).Set(u.kernel); err != nil {
		return err
	}
	if dst.Octets {
		lx := local(u.caps, dst.W)
		return u.q.LaunchQuiet(u.kernel, []int{(dst.W + lx - 1) / lx * lx, 1, y1 - y0}, []int{lx, 1, 1})
	}
	items := (dst.W + 7) / 8
	lx := local(u.caps, items)
	return u.q.LaunchQuiet(u.kernel, []int{(items + lx - 1) / lx * lx, fuse.QuadPlaces, y1 - y0}, []int{lx, channels(u.caps, lx, fuse.QuadPlaces), 1})
}

// packed is the places as the kernels take them.
func packed(places [fuse.QuadPlaces][2]int) int {
	pack := 0
	for k, at := range places {
		pack |= (at[0] | at[1]<<1) << (2 * k)
	}
	return pack
}
