package mosaic

import (
	"fmt"
	"strconv"
	"strings"
)

// The four phases of the Bayer pattern, the X-Trans pattern and the absence of one.
var (
	RGGB = mustParse("RGGB")
	BGGR = mustParse("BGGR")
	GBRG = mustParse("GBRG")
	GRBG = mustParse("GRBG")

	// XTrans is Fujifilm's 6x6 array in the phase that ParsePattern calls xtrans.
	XTrans = mustParse("6x6:GBGGRGRGRBGBGBGGRGGRGGBGBGBRGRGRGGBG")

	// Mono is a sensor without filters. Its samples count as green.
	Mono = pack(1, 1, func(int, int) Colour { return Green })

	quadRGGB = mustParse("4x4:RRGGRRGGGGBBGGBB")
)

func mustParse(s string) Pattern {
	p, err := parseFilters(s)
	if err != nil {
		panic(err)
	}
	return p
}

// PatternForms says what ParsePattern reads, for messages and help.
const PatternForms = "RGGB, BGGR, GBRG, GRBG, quad-RGGB and so on, xtrans, mono, or rows x columns and the filters row by row such as 4x4:RRGGRRGGGGBBGGBB"

// ParsePattern reads the name of a pattern: "RGGB", "BGGR", "GBRG" or "GRBG", the four
// colours in reading order; "quad-" before one of them; "xtrans"; "mono"; or the rows
// and columns of any array with its filters row by row, "6x6:GBGGRG...". Colours are
// upper case; the words may be of any case.
func ParsePattern(s string) (Pattern, error) {
	word := strings.ToLower(s)
	switch {
	case word == "xtrans":
		return XTrans, nil
	case word == "mono":
		return Mono, nil
	}
	if n := len("quad-"); len(s) > n && strings.EqualFold(s[:n], "quad-") {
		if p, err := parseFilters(s[n:]); err == nil && p.Bayer() {
			return quad(p), nil
		}
	} else if p, err := parseFilters(s); err == nil && (p.Bayer() || strings.Contains(s, ":")) {
		return p, nil
	}
	return Pattern{}, fmt.Errorf("unknown CFA pattern %q: want %s", s, PatternForms)
}

// quad is Bayer's pattern with each filter over four samples.
func quad(p Pattern) Pattern {
	return pack(4, 4, func(y, x int) Colour { return p.At(y/2, x/2) })
}

// parseFilters reads four letters, or "RxC:" and R·C letters.
func parseFilters(s string) (Pattern, error) {
	rows, cols := 2, 2
	if size, rest, ok := strings.Cut(s, ":"); ok {
		r, c, _ := strings.Cut(strings.ToLower(size), "x")
		var err error
		if rows, err = strconv.Atoi(r); err != nil {
			return Pattern{}, err
		}
		if cols, err = strconv.Atoi(c); err != nil {
			return Pattern{}, err
		}
		s = rest
	}
	filters := make([]Colour, len(s))
	for i := range s {
		c := strings.IndexByte(colourLetters, s[i])
		if c < 0 {
			return Pattern{}, fmt.Errorf("%q is no filter", s[i:i+1])
		}
		filters[i] = Colour(c)
	}
	return NewPattern(rows, cols, filters)
}

// String is the name of the pattern, as ParsePattern reads it; "unknown" of the zero
// Pattern.
func (p Pattern) String() string {
	switch {
	case !p.known:
		return "unknown"
	case p == Mono:
		return "mono"
	case p == XTrans:
		return "xtrans"
	case p.Bayer():
		return p.letters()
	}
	for _, b := range []Pattern{RGGB, BGGR, GBRG, GRBG} {
		if quad(b) == p {
			return "quad-" + b.String()
		}
	}
	return fmt.Sprintf("%dx%d:%s", p.Rows(), p.Cols(), p.letters())
}

// letters are the filters of a period in reading order.
func (p Pattern) letters() string {
	var b strings.Builder
	for y := range p.Rows() {
		for x := range p.Cols() {
			b.WriteString(p.At(y, x).String())
		}
	}
	return b.String()
}

// Kind says in words what kind of sensor has the pattern: "Bayer", "X-Trans",
// "quad-Bayer", "monochrome", or "3x5 filter array" of another.
func (p Pattern) Kind() string {
	switch {
	case !p.known:
		return "unknown"
	case p == Mono:
		return "monochrome"
	case p.Bayer():
		return "Bayer"
	case p.XTrans():
		return "X-Trans"
	case p.Quad():
		return "quad-Bayer"
	}
	return fmt.Sprintf("%dx%d filter array", p.Rows(), p.Cols())
}
