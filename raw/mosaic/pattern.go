// Package mosaic holds what is known about a colour filter array photo,
// whatever file it came from: the filter pattern, the black and white levels,
// the colour facts of the camera, and the arithmetic from stored integers to
// linear values. It reads no files; start at Meta.
package mosaic

import "fmt"

// Colour is the colour of one filter of the array.
type Colour uint8

// The three filter colours, in the order of camera RGB vectors and matrices.
const (
	Red Colour = iota
	Green
	Blue
)

func (c Colour) String() string {
	if int(c) < len(colourLetters) {
		return colourLetters[c : c+1]
	}
	return fmt.Sprintf("Colour(%d)", uint8(c))
}

const colourLetters = "RGB"

// MaxPeriod is the largest number of rows and of columns after which a filter array
// may repeat.
const MaxPeriod = 8

// Pattern is a colour filter array: the sample at row y and column x lies behind a
// filter of colour At(y, x). Arrays that are the same have equal Patterns. The zero
// Pattern is not valid and stands for "unknown". A monochrome sensor, which has no
// filters, is [Mono].
type Pattern struct {
	known            bool
	lastRow, lastCol uint8             // of the smallest period
	cells            [MaxPeriod]uint16 // by row, two bits a filter, the first the lowest
}

// NewPattern makes the pattern of rows × cols filters, row by row, that repeats. It
// must have red, green and blue filters, or be of one colour for a sensor without
// filters.
func NewPattern(rows, cols int, filters []Colour) (Pattern, error) {
	if rows < 1 || cols < 1 || rows > MaxPeriod || cols > MaxPeriod || len(filters) != rows*cols {
		return Pattern{}, fmt.Errorf("filter array of %d rows, %d columns and %d filters: want up to %d of both", rows, cols, len(filters), MaxPeriod)
	}
	var seen [3]bool
	for _, c := range filters {
		if c > Blue {
			return Pattern{}, fmt.Errorf("filter array with a colour of number %d: want red, green and blue", c)
		}
		seen[c] = true
	}
	at := func(y, x int) Colour { return filters[y%rows*cols+x%cols] }
	r, c := smallestPeriod(rows, cols, at)
	if r*c == 1 {
		return Mono, nil
	}
	if seen != [3]bool{true, true, true} {
		return Pattern{}, fmt.Errorf("filter array of two colours: want red, green and blue")
	}
	return pack(r, c, at), nil
}

// pack stores the pattern of a period.
func pack(rows, cols int, at func(y, x int) Colour) Pattern {
	p := Pattern{known: true, lastRow: uint8(rows - 1), lastCol: uint8(cols - 1)}
	for y := range rows {
		for x := range cols {
			p.cells[y] |= uint16(at(y, x)) << (2 * x)
		}
	}
	return p
}

// smallestPeriod finds how many rows and columns of rows × cols repeat.
func smallestPeriod(rows, cols int, at func(y, x int) Colour) (int, int) {
	repeats := func(dy, dx int) bool {
		for y := range rows {
			for x := range cols {
				if at(y, x) != at(y+dy, x+dx) {
					return false
				}
			}
		}
		return true
	}
	r, c := 1, 1
	for rows%r != 0 || !repeats(r, 0) {
		r++
	}
	for cols%c != 0 || !repeats(0, c) {
		c++
	}
	return r, c
}

// Valid reports whether p is known.
func (p Pattern) Valid() bool { return p.known }

// Rows is the number of rows after which p repeats, at least 1.
func (p Pattern) Rows() int { return int(p.lastRow) + 1 }

// Cols is the number of columns after which p repeats, at least 1.
func (p Pattern) Cols() int { return int(p.lastCol) + 1 }

// At returns the colour of the filter over the sample at row y, column x.
func (p Pattern) At(y, x int) Colour {
	if p.lastRow == 1 && p.lastCol == 1 {
		return Colour(p.cells[y&1] >> (2 * (x & 1)) & 3)
	}
	return Colour(p.cells[y%(int(p.lastRow)+1)] >> (2 * (x % (int(p.lastCol) + 1))) & 3)
}

// Shift returns the pattern as seen from the sample at row dy, column dx:
// the phase of a crop that starts there.
func (p Pattern) Shift(dy, dx int) Pattern {
	if !p.known {
		return p
	}
	return pack(p.Rows(), p.Cols(), func(y, x int) Colour { return p.At(y+dy, x+dx) })
}

// Bayer reports whether p is one of the four phases of Bayer's array.
func (p Pattern) Bayer() bool {
	return p == RGGB || p == BGGR || p == GBRG || p == GRBG
}

// Quad reports whether p is Bayer's array with four samples behind each filter, in one
// of its 16 phases.
func (p Pattern) Quad() bool { return p.PhaseOf(quadRGGB) }

// XTrans reports whether p is Fujifilm's X-Trans array, in one of its 18 phases.
// Turned or mirrored it is in another of them.
func (p Pattern) XTrans() bool { return p.PhaseOf(XTrans) }

// PhaseOf reports whether p and q are one array, seen from the same sample or from different ones.
func (p Pattern) PhaseOf(q Pattern) bool {
	if p.known != q.known || p.lastRow != q.lastRow || p.lastCol != q.lastCol {
		return false
	}
	for y := range p.Rows() {
		for x := range p.Cols() {
			if q.Shift(y, x) == p {
				return true
			}
		}
	}
	return false
}
