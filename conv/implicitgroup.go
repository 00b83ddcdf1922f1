package conv

import (
	"fmt"

	"enhance/internal/planar"
)

// ImplicitGroup is ImplicitGEMM on GPUs with a work-group of one's own: Across
// work-items of Pixels pixels by Along work-items of Outputs outputs, Terms terms of
// the sums in local memory at a time. It is for tuning; ImplicitGEMM chooses by a
// rule.
type ImplicitGroup struct{ Pixels, Across, Outputs, Along, Terms int }

// Name is "implicit-gemm-m8x16-n8x8-k16" for 8 pixels × 16 work-items, 8 outputs × 8
// work-items and 16 terms.
func (g ImplicitGroup) Name() string {
	return fmt.Sprintf("implicit-gemm-m%dx%d-n%dx%d-k%d", g.Pixels, g.Across, g.Outputs, g.Along, g.Terms)
}

func (g ImplicitGroup) tile() implicitTile {
	return implicitTile{mx: g.Across, nx: g.Along, tm: g.Pixels, tn: g.Outputs, bk: g.Terms}
}

// New refuses kernels wider than the rim and what the device has no room for.
func (g ImplicitGroup) New(c Caps, s Shape, _ planar.Precision) (Impl, error) {
	if err := s.WithinRim(g.Name()); err != nil {
		return nil, err
	}
	t := g.tile()
	switch {
	case !g.sane():
		return nil, fmt.Errorf("conv: %s: want pixels and outputs in fours, work-items and all pixels in multiples of 32, and terms in multiples of work-items/32", g.Name())
	case t.items() > c.MaxWorkGroup:
		return nil, fmt.Errorf("conv: %s needs work-groups of %d, the device allows %d", g.Name(), t.items(), c.MaxWorkGroup)
	case t.local(s.K) > c.LocalMem:
		return nil, fmt.Errorf("conv: %s needs %d bytes of local memory, the device has %d", g.Name(), t.local(s.K), c.LocalMem)
	}
	return &implicitImpl{shape: s, tile: t}, nil
}

// sane says what the kernel takes: see implicit.cl. More than 128 sums of a
// work-item would not fit the registers of any device.
func (g ImplicitGroup) sane() bool {
	for _, n := range []int{g.Pixels, g.Across, g.Outputs, g.Along, g.Terms} {
		if n < 1 || n > maxGroupSide {
			return false
		}
	}
	t := g.tile()
	return t.tm%4 == 0 && t.tn%4 == 0 && t.tm*t.tn <= 128 && t.items()%32 == 0 && t.bm()%32 == 0 && t.bk%(t.items()/32) == 0
}

// ImplicitGroupNamed finds an ImplicitGroup by its Name.
func ImplicitGroupNamed(name string) (ImplicitGroup, bool) {
	var g ImplicitGroup
	_, err := fmt.Sscanf(name, "implicit-gemm-m%dx%d-n%dx%d-k%d", &g.Pixels, &g.Across, &g.Outputs, &g.Along, &g.Terms)
	return g, err == nil && g.Name() == name && g.sane()
}

// Neighbours of the work-group that ImplicitGEMM's rule chooses.
func (a ImplicitGEMM) Neighbours(c Caps, s Shape, p planar.Precision) []Algo {
	return implicitNeighbours(a, c, s, p)
}

// Neighbours of the work-group.
func (g ImplicitGroup) Neighbours(c Caps, s Shape, p planar.Precision) []Algo {
	return implicitNeighbours(g, c, s, p)
}

func implicitNeighbours(a Algo, c Caps, s Shape, p planar.Precision) []Algo {
	if c.CPU {
		return nil
	}
	impl, err := a.New(c, s, p)
	if err != nil {
		return nil
	}
	own := impl.(*implicitImpl)
	t := own.tile
	g := ImplicitGroup{t.tm, t.mx, t.tn, t.nx, t.bk}
	var tries []Algo
	side := func(at *int) {
		was := *at
		for _, v := range Steps(was) {
			if *at = v; g.sane() && GroupSuits(c, g.tile().items()) {
				tries = append(tries, g)
			}
		}
		*at = was
	}
	for _, at := range []*int{&g.Along, &g.Across, &g.Terms, &g.Outputs, &g.Pixels} {
		side(at)
	}
	return Affordable(own, tries, c, s, p)
}
