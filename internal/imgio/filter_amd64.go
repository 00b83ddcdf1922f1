package imgio

import "golang.org/x/sys/cpu"

// hasUnits says that the functions below can be used, fastCodes that codeUnits can, and manyCodes
// that codeManyUnits can. n is not 0 and a multiple of the unit.
var (
	hasUnits  = cpu.X86.HasAVX2
	fastCodes = cpu.X86.HasBMI2
	manyCodes = fastCodes && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VBMI
)

// paethUnits writes x less its prediction from a (left), b (above) and c (above
// left) to dst, n bytes.
//
//go:noescape
func paethUnits(dst, x, a, b, c *byte, n int)

// subtractUnits writes x-y to dst, n bytes.
//
//go:noescape
func subtractUnits(dst, x, y *byte, n int)

// meanUnits writes x less the mean of y and z, rounded down, to dst, n bytes.
//
//go:noescape
func meanUnits(dst, x, y, z *byte, n int)

// costUnits adds to costs, by filter, the magnitudes of what filters leave of n bytes, read as
// signed.
//
//go:noescape
func costUnits(costs *[5]int, x, a, b, c *byte, n int)

// reduceUnits rounds n samples to 8 bits, as to8 does.
//
//go:noescape
func reduceUnits(dst *byte, src *uint16, n int)

// adlerUnits sets sums to what adler32 adds up of n bytes, at most adlerMost.
//
//go:noescape
func adlerUnits(sums *[3]uint64, p *byte, n int)

// codeUnits writes the codes of n bytes, a multiple of four, behind held, whose number of bits is
// less than eight. It returns the number of whole bytes, and what is left. Up to eight bytes more
// than these are overwritten.
//
//go:noescape
func codeUnits(out, data *byte, n int, entries *[256]uint32, held, bits uint64) (written int, rest, left uint64)

// codeManyUnits is codeUnits for a multiple of 64 bytes. tables are the lower bytes of the bytes'
// codes, the upper ones, and the numbers of their bits.
//
//go:noescape
func codeManyUnits(out, data *byte, n int, tables *[3][256]byte, held, bits uint64) (written int, rest, left uint64)
