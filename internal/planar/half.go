package planar

import (
	"math"
	"sync"
)

// Half rounds v to binary16, to nearest, ties to even. NaN stays NaN, quiet, with the
// upper bits of its payload.
func Half(v float32) uint16 {
	b := math.Float32bits(v)
	sign := uint16(b >> 16 & 0x8000)
	exp := int(b>>23&0xff) - 127
	man := b & 0x7fffff
	switch {
	case exp == 128:
		if man != 0 {
			return sign | 0x7e00 | uint16(man>>13)
		}
		return sign | 0x7c00
	case exp > 15:
		return sign | 0x7c00
	case exp >= -14:
		h := uint32(exp+15)<<10 | man>>13
		rest := man & 0x1fff
		if rest > 0x1000 || rest == 0x1000 && h&1 == 1 {
			h++ // may carry into the exponent, up to infinity
		}
		return sign | uint16(h)
	case exp >= -25:
		man |= 0x800000
		shift := uint(-exp - 1) // 14..24
		h := man >> shift
		rest := man & (1<<shift - 1)
		half := uint32(1) << (shift - 1)
		if rest > half || rest == half && h&1 == 1 {
			h++
		}
		return sign | uint16(h)
	}
	return sign
}

// floats holds Float of every binary16.
var floats = sync.OnceValue(func() *[1 << 16]float32 {
	var t [1 << 16]float32
	for i := range t {
		t[i] = Float(uint16(i))
	}
	return &t
})

// Float widens binary16. NaN becomes quiet.
func Float(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h >> 10 & 0x1f)
	man := uint32(h & 0x3ff)
	switch {
	case exp == 0x1f:
		if man != 0 {
			man |= 0x200
		}
		return math.Float32frombits(sign | 0x7f800000 | man<<13)
	case exp != 0:
		return math.Float32frombits(sign | (exp+112)<<23 | man<<13)
	}
	v := float32(man) / (1 << 24)
	if sign != 0 {
		v = -v
	}
	return v
}

// BFloat rounds v to bfloat16, the upper half of binary32, to nearest, ties to even. NaN stays NaN, quiet.
func BFloat(v float32) uint16 {
	b := math.Float32bits(v)
	if v != v {
		return 0x7fc0
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// OfBFloat widens bfloat16.
func OfBFloat(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
