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

// Pattern is a 2x2 Bayer colour filter array: the sample at row y and column x
// lies behind a filter of colour [y&1][x&1]. The zero Pattern is not valid and
// stands for "unknown".
type Pattern [2][2]Colour

// The four phases of the Bayer pattern.
var (
	RGGB = Pattern{{Red, Green}, {Green, Blue}}
	BGGR = Pattern{{Blue, Green}, {Green, Red}}
	GBRG = Pattern{{Green, Blue}, {Red, Green}}
	GRBG = Pattern{{Green, Red}, {Blue, Green}}
)

// ParsePattern reads "RGGB", "BGGR", "GBRG" or "GRBG": the four colours in
// reading order.
func ParsePattern(s string) (Pattern, error) {
	for _, p := range []Pattern{RGGB, BGGR, GBRG, GRBG} {
		if p.String() == s {
			return p, nil
		}
	}
	return Pattern{}, fmt.Errorf("unknown CFA pattern %q: want RGGB, BGGR, GBRG or GRBG", s)
}

// String spells the pattern in reading order, for example "RGGB".
func (p Pattern) String() string {
	return p[0][0].String() + p[0][1].String() + p[1][0].String() + p[1][1].String()
}

// Valid reports whether p is one of the four Bayer phases.
func (p Pattern) Valid() bool {
	return p == RGGB || p == BGGR || p == GBRG || p == GRBG
}

// At returns the colour of the filter over the sample at row y, column x.
func (p Pattern) At(y, x int) Colour { return p[y&1][x&1] }

// Shift returns the pattern as seen from the sample at row dy, column dx:
// the phase of a crop that starts there.
func (p Pattern) Shift(dy, dx int) Pattern {
	var q Pattern
	for y := range q {
		for x := range q[y] {
			q[y][x] = p.At(y+dy, x+dx)
		}
	}
	return q
}
