package conv

import (
	"fmt"

	"enhance/internal/planar"
)

// Shaped is an Algo for GPUs whose work-groups can have other shapes. A shape decides
// which work-item computes an output and what passes through local memory together,
// never in which order the terms of an output are added.
type Shaped interface {
	Algo
	// Neighbours are the algorithm with work-groups that differ from those it has for
	// a shape in one of their dimensions, by the next value of that dimension. New
	// refuses none of them, and none has longer packed weights. On CPUs, where
	// work-groups have one work-item, there are none.
	Neighbours(Caps, Shape, planar.Precision) []Algo
}

const (
	// subGroup is the number of work-items that work-groups worth measuring are a
	// multiple of: NVIDIA's warp, and half of AMD's wide wave.
	subGroup = 32
	// maxGroup is the largest work-group worth measuring: the registers of a compute
	// unit do not suffice for more work-items of these kernels.
	maxGroup = 512
	// maxGroupSide bounds every dimension of a work-group from a name, so that no product of them
	// is too large.
	maxGroupSide = 256
)

// GroupSuits reports whether a work-group of that many work-items is worth measuring.
func GroupSuits(c Caps, items int) bool {
	return items >= subGroup && items%subGroup == 0 && items <= min(maxGroup, c.MaxWorkGroup)
}

// Affordable are those among tries that New accepts for s without longer weights
// than own's.
func Affordable(own Impl, tries []Algo, c Caps, s Shape, p planar.Precision) []Algo {
	var list []Algo
	for _, a := range tries {
		if impl, err := a.New(c, s, p); err == nil && impl.PackedLen() <= own.PackedLen() {
			list = append(list, a)
		}
	}
	return list
}

// Steps are the values beside v of a dimension that doubles and halves.
func Steps(v int) []int {
	if v == 1 {
		return []int{2}
	}
	return []int{v / 2, 2 * v}
}

// TileGroup is Tile with a work-group of one's own: 16 columns × Rows × Blocks
// work-items, each with Lanes output channels of 4×2 pixels, Stage source channels
// in local memory at a time. It is for tuning; Tile chooses by a rule.
type TileGroup struct{ Lanes, Rows, Blocks, Stage int }

// Name is "direct-tile-o8y4n2c8" for 8 outputs, 4 rows, 2 blocks and 8 channels.
func (g TileGroup) Name() string {
	return fmt.Sprintf("direct-tile-o%dy%dn%dc%d", g.Lanes, g.Rows, g.Blocks, g.Stage)
}

// New refuses kernels wider than the rim and what the device has no room for. Of a
// shape with few channels it takes no more than there are.
func (g TileGroup) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.WithinRim(g.Name()); err != nil {
		return nil, err
	}
	if !g.sane() {
		return nil, fmt.Errorf("conv: %s: want 4, 8, 12 or 16 outputs, and 1 to %d rows, blocks and channels", g.Name(), maxGroupSide)
	}
	t := &tileImpl{shape: s, lanes: g.Lanes, ty: g.Rows, stage: min(g.Stage, s.InC())}
	t.nk = min(g.Blocks, t.blocks())
	if n := 16 * t.ty * t.nk; n > c.MaxWorkGroup {
		return nil, fmt.Errorf("conv: %s needs work-groups of %d, the device allows %d", g.Name(), n, c.MaxWorkGroup)
	}
	if n := t.local(); n > c.LocalMem {
		return nil, fmt.Errorf("conv: %s needs %d bytes of local memory, the device has %d", g.Name(), n, c.LocalMem)
	}
	return t, nil
}

func (g TileGroup) sane() bool {
	for _, n := range []int{g.Lanes, g.Rows, g.Blocks, g.Stage} {
		if n < 1 || n > maxGroupSide {
			return false
		}
	}
	return g.Lanes%4 == 0 && g.Lanes <= 16
}

// TileGroupNamed finds a TileGroup by its Name.
func TileGroupNamed(name string) (TileGroup, bool) {
	var g TileGroup
	_, err := fmt.Sscanf(name, "direct-tile-o%dy%dn%dc%d", &g.Lanes, &g.Rows, &g.Blocks, &g.Stage)
	return g, err == nil && g.Name() == name && g.sane()
}

// Neighbours of the work-group that Tile's rule chooses.
func (t Tile) Neighbours(c Caps, s Shape, p planar.Precision) []Algo {
	return tileNeighbours(t, c, s, p)
}

// Neighbours of the work-group.
func (g TileGroup) Neighbours(c Caps, s Shape, p planar.Precision) []Algo {
	return tileNeighbours(g, c, s, p)
}

func tileNeighbours(a Algo, c Caps, s Shape, p planar.Precision) []Algo {
	impl, err := a.New(c, s, p)
	if err != nil || c.CPU {
		return nil
	}
	own := impl.(*tileImpl)
	g := TileGroup{own.lanes, own.ty, own.nk, own.stage}
	var tries []Algo
	try := func(g TileGroup) {
		if GroupSuits(c, 16*g.Rows*g.Blocks) && g.Stage <= s.InC() && (g.Blocks-1)*g.Lanes < s.OutC {
			tries = append(tries, g)
		}
	}
	for _, v := range Steps(g.Rows) {
		try(TileGroup{g.Lanes, v, g.Blocks, g.Stage})
	}
	for _, v := range Steps(g.Blocks) {
		try(TileGroup{g.Lanes, g.Rows, v, g.Stage})
	}
	for _, v := range Steps(g.Stage) {
		try(TileGroup{g.Lanes, g.Rows, g.Blocks, v})
	}
	for _, v := range []int{g.Lanes - 4, g.Lanes + 4, g.Lanes + 8} {
		try(TileGroup{v, g.Rows, g.Blocks, g.Stage})
	}
	return Affordable(own, tries, c, s, p)
}

// local is the local memory of a work-group in bytes.
func (t *tileImpl) local() int64 {
	return int64(t.stage) * int64(64+t.shape.K-1) * int64(2*t.ty+t.shape.K-1) * 4
}
