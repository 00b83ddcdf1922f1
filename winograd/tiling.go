package winograd

// Tiling is the geometry of the tiles of one transform over an image. Tiles are
// M×M outputs in a grid anchored at row 0, column 0 of the whole image, whatever
// strip is being computed: an output is always made by the same tile from the same
// inputs, so strips never change bytes. Tiles at the bottom and right edge may
// reach beyond the image; what they compute there is thrown away.
type Tiling struct {
	M, R, N    int
	PadY, PadX int // tile row t reads from input row t·M − PadY
}

// Tiling is t's geometry for a convolution that keeps the image's size, the taps
// centred: R/2 rows and columns of padding before the image.
func (t *Transform) Tiling() Tiling {
	return Tiling{M: t.M, R: t.R, N: t.N, PadY: t.R / 2, PadX: t.R / 2}
}

// T is the side of a tile's input, M+R−1.
func (t Tiling) T() int { return t.M + t.R - 1 }

// Range is the half-open interval [From, To).
type Range struct{ From, To int }

// Len is To − From.
func (r Range) Len() int { return r.To - r.From }

// Grid is the number of tile rows and columns that cover h×w outputs; zero for an
// empty image.
func (t Tiling) Grid(h, w int) (rows, cols int) {
	if h < 1 || w < 1 {
		return 0, 0
	}
	return (h-1)/t.M + 1, (w-1)/t.M + 1
}

// Tiles is the number of tiles of an h×w image.
func (t Tiling) Tiles(h, w int) int64 {
	rows, cols := t.Grid(h, w)
	return int64(rows) * int64(cols)
}

// TileRows is the range of tile rows that make the output rows [y0, y1) of a
// strip, cut to the image's h rows. Strips that begin at multiples of M compute no
// tile twice.
func (t Tiling) TileRows(y0, y1, h int) Range {
	y0, y1 = max(y0, 0), min(y1, h)
	if y0 >= y1 {
		return Range{}
	}
	return Range{y0 / t.M, (y1-1)/t.M + 1}
}

// OutputRows is the range of the output rows that tile rows r make, cut to h.
func (t Tiling) OutputRows(r Range, h int) Range {
	if r.From >= r.To {
		return Range{}
	}
	return Range{min(r.From*t.M, h), min(r.To*t.M, h)}
}

// FirstRow is the first input row that tile row i reads, before reflection: it is
// negative where the tile begins in the padding.
func (t Tiling) FirstRow(i int) int { return i*t.M - t.PadY }

// FirstCol is FirstRow for columns.
func (t Tiling) FirstCol(j int) int { return j*t.M - t.PadX }

// SourceRow maps row i of the padded plane, as FirstRow counts, to the row of the
// image of h rows that holds its value, by reflection that does not repeat the
// edge. ok is false for rows that only outputs beyond the image would use: tiles
// take zero there, so that the last strip needs no rows beyond the halo of the
// convolution. h must be at least 1.
func (t Tiling) SourceRow(i, h int) (row int, ok bool) { return t.source(i, h, t.PadY) }

// SourceCol is SourceRow for columns of an image of w columns.
func (t Tiling) SourceCol(j, w int) (col int, ok bool) { return t.source(j, w, t.PadX) }

func (t Tiling) source(i, n, pad int) (int, bool) {
	if i > n-1-pad+t.R-1 {
		return 0, false
	}
	return Reflect(i, n), true
}

// Reflect maps any index to 0..n−1 by reflection at both ends that does not repeat
// the edge sample: −1 is 1, n is n−2. Indices further away bounce as often as
// needed; with one sample all are 0. n must be at least 1.
func Reflect(i, n int) int {
	if i >= 0 && i < n {
		return i
	}
	if n <= 1 {
		return 0
	}
	period := 2 * (n - 1)
	i %= period
	if i < 0 {
		i += period
	}
	return min(i, period-i)
}

// InputRows is the smallest range of image rows that holds every row that tile
// rows r read in an image of h rows.
func (t Tiling) InputRows(r Range, h int) Range {
	if r.From >= r.To || h < 1 {
		return Range{}
	}
	first, last := t.FirstRow(r.From), t.FirstRow(r.To-1)+t.T()-1
	last = min(last, h-1-t.PadY+t.R-1)
	in := Range{h, 0}
	add := func(row int) { in.From, in.To = min(in.From, row), max(in.To, row+1) }
	// Rows inside the image need no walk; reflected ones are few.
	for i := first; i <= min(last, -1); i++ {
		add(Reflect(i, h))
	}
	if a, b := max(first, 0), min(last, h-1); a <= b {
		add(a)
		add(b)
	}
	for i := max(first, h); i <= last; i++ {
		add(Reflect(i, h))
	}
	if in.From >= in.To {
		return Range{}
	}
	return in
}
