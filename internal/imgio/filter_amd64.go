package imgio

// hasUnits says that the functions below are there. n is not 0 and a multiple of
// filterUnit, or of reduceUnit.
const hasUnits = true

// paethUnits writes x less its prediction from a (left), b (above) and c (above
// left) to dst, n bytes.
//
//go:noescape
func paethUnits(dst, x, a, b, c *byte, n int)

// costUnits adds to costs, by filter, the magnitudes of what filters leave of n bytes, read as
// signed.
//
//go:noescape
func costUnits(costs *[5]int, x, a, b, c *byte, n int)

// reduceUnits rounds n samples to 8 bits, as to8 does.
//
//go:noescape
func reduceUnits(dst *byte, src *uint16, n int)
