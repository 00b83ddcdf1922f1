package opcode

// Frame is an image that operations are applied to: Width x Height samples,
// whose first is sample X0, Y0 of the rows. X0 and Y0 are not 0 only after
// TrimBounds.
type Frame struct {
	X0, Y0        int
	Width, Height int
}

// Area says which samples of a frame an operation is for: of planes Plane to
// Plane+Planes-1, every RowPitch-th row from Top to Bottom-1 and every
// ColPitch-th column from Left to Right-1.
type Area struct {
	Top, Left, Bottom, Right uint32
	Plane, Planes            uint32
	RowPitch, ColPitch       uint32
}

func (p *parser) area() (a Area, problem string) {
	for _, v := range []*uint32{&a.Top, &a.Left, &a.Bottom, &a.Right, &a.Plane, &a.Planes, &a.RowPitch, &a.ColPitch} {
		*v = p.uint32()
	}
	if p.short {
		return Area{Planes: 1, RowPitch: 1, ColPitch: 1}, ""
	}
	if a.Planes < 1 || a.RowPitch < 1 || a.ColPitch < 1 || a.Top > a.Bottom || a.Left > a.Right {
		problem = "its area is not a rectangle with pitches of at least 1"
	}
	return a, problem
}

// hasRow reports whether row y of plane belongs to the area.
func (a *Area) hasRow(y, plane int) bool {
	return plane >= int(a.Plane) && int64(plane) < int64(a.Plane)+int64(a.Planes) &&
		y >= int(a.Top) && y < int(a.Bottom) && (y-int(a.Top))%int(a.RowPitch) == 0
}

// columns are the first index into a row of n samples that belongs to the area,
// and the index past the last; the row begins at column x0.
func (a *Area) columns(x0, n int) (from, to int) {
	from, to = int(a.Left)-x0, min(int(a.Right)-x0, n)
	if pitch := int(a.ColPitch); from < 0 {
		from += (-from + pitch - 1) / pitch * pitch
	}
	return from, to
}

// rows is how many rows the area has, columns likewise.
func (a *Area) countRows() uint64 {
	return (uint64(a.Bottom-a.Top) + uint64(a.RowPitch) - 1) / uint64(a.RowPitch)
}

func (a *Area) countColumns() uint64 {
	return (uint64(a.Right-a.Left) + uint64(a.ColPitch) - 1) / uint64(a.ColPitch)
}
