package imgio

// paethUnit is how many bytes paethUnits takes at a time.
const paethUnit = 8

// paethUnits writes x less its prediction from a (left), b (above) and c (above
// left) to dst, n bytes: a multiple of paethUnit and not 0.
//
//go:noescape
func paethUnits(dst, x, a, b, c *byte, n int)

const hasPaethUnits = true
