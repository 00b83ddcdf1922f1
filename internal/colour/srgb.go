package colour

import (
	"math"
	"sync"
)

// The curve of IEC 61966-2-1: linear up to knee, a power beyond it.
const (
	knee  = 0.0031308
	slope = 12.92
	gamma = 2.4
	lift  = 0.055
)

// SRGBEncode returns the sRGB component, 0..1, of linear light x. Values outside
// 0..1 follow the same formula; negative ones its linear part.
func SRGBEncode(x float64) float64 {
	if x <= knee {
		return slope * x
	}
	return (1+lift)*math.Pow(x, 1/gamma) - lift
}

// SRGBDecode returns the linear light of sRGB component v, 0..1.
func SRGBDecode(v float64) float64 {
	if v <= 0.04045 {
		return v / slope
	}
	return math.Pow((v+lift)/(1+lift), gamma)
}

// The fast encoder replaces the power by chords. The abscissa is cut where the
// bits of a float32 cut it: encodeOctaves octaves below 1, each in
// 1<<encodeBits equal parts. A chord of relative length h = 2^-encodeBits strays
// from 1.055·x^(1/2.4) by at most 0.257·h²/8 of full scale: 0.03 of a 16-bit step.
const (
	encodeOctaves = 9 // 2^-9 lies below the knee
	encodeBits    = 8
	encodeShift   = 23 - encodeBits
	encodeFirst   = (127 - encodeOctaves) << 23 // bits of 2^-9
)

// chord is base + rise·x, scaled to 16 bits.
type chord struct{ base, rise float64 }

var encodeChords = sync.OnceValue(func() *[encodeOctaves << encodeBits]chord {
	t := new([encodeOctaves << encodeBits]chord)
	curve := func(i int) (x, y float64) {
		x = float64(math.Float32frombits(uint32(encodeFirst + i<<encodeShift)))
		return x, 65535 * ((1+lift)*math.Pow(x, 1/gamma) - lift)
	}
	for i := range t {
		x0, y0 := curve(i)
		x1, y1 := curve(i + 1)
		rise := (y1 - y0) / (x1 - x0)
		t[i] = chord{y0 - rise*x0, rise}
	}
	return t
})

// EncodePlanes multiplies every pixel of linear r, g and b by m in single precision
// and writes the 16-bit sRGB codes (65535 is white) of the products, interleaved, to
// dst. Products below 0 and NaN give 0, above 1 65535. The code is a monotone function
// of the product and within 0.54 of a step of 65535·SRGBEncode, so that it differs from
// the rounded exact value only beside a rounding boundary, by one. EncodePlanes panics
// if g or b is shorter than r, or dst shorter than three times that.
func EncodePlanes(dst []uint16, r, g, b []float32, m *Matrix) {
	var f [9]float32
	for i := range f {
		f[i] = float32(m[i/3][i%3])
	}
	g, b, dst = g[:len(r)], b[:len(r)], dst[:3*len(r)]
	t := encodeChords()
	for x, r := range r {
		g, b := g[x], b[x]
		code := dst[:3:3]
		// The conversions forbid fused multiply-add: every machine rounds alike.
		code[0] = encode16(t, float32(f[0]*r)+float32(f[1]*g)+float32(f[2]*b))
		code[1] = encode16(t, float32(f[3]*r)+float32(f[4]*g)+float32(f[5]*b))
		code[2] = encode16(t, float32(f[6]*r)+float32(f[7]*g)+float32(f[8]*b))
		dst = dst[3:]
	}
}

// EncodeLight is EncodePlanes without a matrix.
func EncodeLight(dst []uint16, r, g, b []float32) {
	g, b, dst = g[:len(r)], b[:len(r)], dst[:3*len(r)]
	t := encodeChords()
	for x, r := range r {
		code := dst[:3:3]
		code[0], code[1], code[2] = encode16(t, r), encode16(t, g[x]), encode16(t, b[x])
		dst = dst[3:]
	}
}

func encode16(t *[encodeOctaves << encodeBits]chord, x float32) uint16 {
	switch {
	case x >= 1:
		return 65535
	case x > knee:
		c := t[(math.Float32bits(x)-encodeFirst)>>encodeShift]
		// The conversion forbids fused multiply-add: every machine rounds alike.
		return uint16(c.base + float64(c.rise*float64(x)) + 0.5)
	case x > 0:
		return uint16(float64(65535*slope*float64(x)) + 0.5)
	}
	return 0 // negative or NaN
}
