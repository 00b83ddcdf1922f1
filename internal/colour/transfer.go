package colour

import (
	"math"
	"sync"
)

// Transfer is a transfer curve between linear light of 0..1 and the codes of a picture:
// linear up to a knee, a power beyond it.
type Transfer struct {
	Name string
	// A code of light x is Slope·x up to Knee, and (1+Lift)·x^(1/Gamma) - Lift beyond it;
	// CodeKnee is the code of Knee.
	Knee, CodeKnee, Slope, Gamma, Lift float64
	table                              func() *transferTable
}

// The curves of pictures: that of IEC 61966-2-1, that of ITU-R BT.2020 table 4 with its
// constants to all digits, and none.
var (
	SRGBTransfer    = newTransfer("sRGB", knee, codeKnee, slope, gamma, lift)
	Rec2020Transfer = newTransfer("BT.2020", 0.018053968510807, 4.5*0.018053968510807, 4.5, 1/0.45, 0.09929682680944)
	LinearTransfer  = newTransfer("linear", 1, 1, 1, 1, 0)
)

func newTransfer(name string, knee, codeKnee, slope, gamma, lift float64) *Transfer {
	t := &Transfer{Name: name, Knee: knee, CodeKnee: codeKnee, Slope: slope, Gamma: gamma, Lift: lift}
	t.table = sync.OnceValue(t.chords)
	return t
}

// Encode returns the code, 0..1, of light x. Values outside of 0..1 follow the same formula.
func (t *Transfer) Encode(x float64) float64 {
	if x <= t.Knee {
		return t.Slope * x
	}
	return (1+t.Lift)*math.Pow(x, 1/t.Gamma) - t.Lift
}

// Decode returns the linear light of code v, 0..1.
func (t *Transfer) Decode(v float64) float64 {
	if v <= t.CodeKnee {
		return v / t.Slope
	}
	return math.Pow((v+t.Lift)/(1+t.Lift), t.Gamma)
}

// The fast encoder replaces the power by chords. The abscissa is cut where the
// bits of a float32 cut it: encodeOctaves octaves below 1, each in
// 1<<encodeBits equal parts. A chord of relative length h = 2^-encodeBits strays
// from a curve here by at most 0.28·h²/8 of full scale: 0.04 of a 16-bit step.
const (
	encodeOctaves = 9 // 2^-9 lies below the knees
	encodeBits    = 8
	encodeShift   = 23 - encodeBits
	encodeFirst   = (127 - encodeOctaves) << 23 // bits of 2^-9
)

// chord is base + rise·x, scaled to 16 bits.
type chord struct{ base, rise float64 }

// transferTable is a Transfer to codes of 16 bits.
type transferTable struct {
	knee   float32
	slope  float64
	chords [encodeOctaves << encodeBits]chord
}

func (t *Transfer) chords() *transferTable {
	table := &transferTable{knee: float32(t.Knee), slope: 65535 * t.Slope}
	curve := func(i int) (x, y float64) {
		x = float64(math.Float32frombits(uint32(encodeFirst + i<<encodeShift)))
		return x, 65535 * ((1+t.Lift)*math.Pow(x, 1/t.Gamma) - t.Lift)
	}
	for i := range table.chords {
		x0, y0 := curve(i)
		x1, y1 := curve(i + 1)
		rise := (y1 - y0) / (x1 - x0)
		table.chords[i] = chord{y0 - rise*x0, rise}
	}
	return table
}

// EncodePlanes multiplies every pixel of linear r, g and b by m in single precision
// and writes the 16-bit codes (65535 is white) of the products, interleaved, to
// dst. Products below 0 and NaN give 0, above 1 65535. The code is a monotone function
// of the product and within 0.54 of a step of 65535·t.Encode, so that it differs from
// the rounded exact value only beside a rounding boundary, by one. EncodePlanes panics
// if g or b is shorter than r, or dst shorter than three times that.
func (t *Transfer) EncodePlanes(dst []uint16, r, g, b []float32, m *Matrix) {
	f := flat(*m)
	g, b, dst = g[:len(r)], b[:len(r)], dst[:3*len(r)]
	table := t.table()
	for x, r := range r {
		g, b := g[x], b[x]
		code := dst[:3:3]
		// The conversions forbid fused multiply-add: every machine rounds alike.
		code[0] = table.code(float32(f[0]*r) + float32(f[1]*g) + float32(f[2]*b))
		code[1] = table.code(float32(f[3]*r) + float32(f[4]*g) + float32(f[5]*b))
		code[2] = table.code(float32(f[6]*r) + float32(f[7]*g) + float32(f[8]*b))
		dst = dst[3:]
	}
}

// EncodeLight is EncodePlanes without a matrix.
func (t *Transfer) EncodeLight(dst []uint16, r, g, b []float32) {
	g, b, dst = g[:len(r)], b[:len(r)], dst[:3*len(r)]
	table := t.table()
	for x, r := range r {
		code := dst[:3:3]
		code[0], code[1], code[2] = table.code(r), table.code(g[x]), table.code(b[x])
		dst = dst[3:]
	}
}

// code is the code of light x.
func (t *transferTable) code(x float32) uint16 {
	switch {
	case x >= 1:
		return 65535
	case x > t.knee:
		c := t.chords[(math.Float32bits(x)-encodeFirst)>>encodeShift]
		// The conversion forbids fused multiply-add: every machine rounds alike.
		return uint16(c.base + float64(c.rise*float64(x)) + 0.5)
	case x > 0:
		return uint16(float64(t.slope*float64(x)) + 0.5)
	}
	return 0 // negative or NaN
}
