package opcode

import "fmt"

// GainMap multiplies by gains on a coarse grid that spans the whole frame,
// interpolated bilinearly. The gain of grid point i, j for map plane p is
// Gains[(i*PointsH+j)*Planes+p]; it lies at OriginV+i·SpacingV of the frame's
// height and OriginH+j·SpacingH of its width. Beyond the grid the nearest gains
// count.
type GainMap struct {
	Area               Area
	PointsV, PointsH   int
	SpacingV, SpacingH float64
	OriginV, OriginH   float64
	Planes             int
	Gains              []float32
}

func readGainMap(p *parser) (any, string) {
	g := &GainMap{}
	var problem string
	if g.Area, problem = p.area(); problem != "" {
		return nil, problem
	}
	v, h := p.uint32(), p.uint32()
	grid, ok := p.float64s(4)
	planes := p.uint32()
	if !ok {
		return nil, notFinite
	}
	if p.short {
		return nil, ""
	}
	if v < 1 || h < 1 || planes < 1 {
		return nil, fmt.Sprintf("its grid has %dx%d points of %d planes", h, v, planes)
	}
	// Each factor is below 2^32: two of them fit, and has bounds their product.
	points := uint64(v) * uint64(h)
	if !p.has(points, 4) || !p.has(points*uint64(planes), 4) {
		return nil, ""
	}
	if v > 1 && !(grid[0] > 0) || h > 1 && !(grid[1] > 0) {
		return nil, "the spacing of its grid is not above 0"
	}
	g.PointsV, g.PointsH, g.Planes = int(v), int(h), int(planes)
	g.SpacingV, g.SpacingH, g.OriginV, g.OriginH = grid[0], grid[1], grid[2], grid[3]
	if g.Gains, ok = p.float32s(points * uint64(planes)); !ok {
		return nil, notFinite
	}
	for _, x := range g.Gains {
		if x < 0 {
			return nil, fmt.Sprintf("it has a gain of %g, below 0", x)
		}
	}
	return g, ""
}

// place is the grid point at or before a coordinate 0..1 of the frame, and how
// far it is to the next.
func place(at, origin, spacing float64, points int) (k int, part float32) {
	v := (at - origin) / spacing
	switch {
	case points == 1 || !(v > 0):
		return 0, 0
	case v >= float64(points-1):
		return points - 1, 0
	}
	return int(v), float32(v - float64(int(v)))
}

// Row implements Pointwise.
func (g *GainMap) Row(f Frame, y, x0, plane int, row []float32) {
	a := &g.Area
	if !a.hasRow(y, plane) {
		return
	}
	from, to := a.columns(x0, len(row))
	if from >= to {
		return
	}
	mapPlane := min(plane-int(a.Plane), g.Planes-1)
	i, part := place((float64(y)+0.5)/float64(f.Height), g.OriginV, g.SpacingV, g.PointsV)
	top := g.Gains[i*g.PointsH*g.Planes+mapPlane:]
	low := g.Gains[min(i+1, g.PointsV-1)*g.PointsH*g.Planes+mapPlane:]
	at := func(j int) float32 {
		j = min(j, g.PointsH-1) * g.Planes
		return top[j] + float32((low[j]-top[j])*part)
	}
	last, left, right := -1, float32(0), float32(0)
	for k := from; k < to; k += int(a.ColPitch) {
		j, across := place((float64(x0+k)+0.5)/float64(f.Width), g.OriginH, g.SpacingH, g.PointsH)
		if j != last {
			last, left, right = j, at(j), at(j+1)
		}
		row[k] = min(row[k]*(left+float32((right-left)*across)), 1)
	}
}
