package safetensors

import "math"

// float16 widens an IEEE 754 binary16 value exactly.
func float16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exponent := uint32(h>>10) & 0x1f
	fraction := uint32(h & 0x3ff)
	switch exponent {
	case 0: // zero or subnormal: fraction · 2^-24
		v := math.Float32bits(float32(fraction) * (1.0 / (1 << 24)))
		return math.Float32frombits(sign | v)
	case 0x1f: // infinity or NaN
		return math.Float32frombits(sign | 0x7f800000 | fraction<<13)
	}
	return math.Float32frombits(sign | (exponent+127-15)<<23 | fraction<<13)
}

// bfloat16 widens a value that is the upper half of a float32.
func bfloat16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
