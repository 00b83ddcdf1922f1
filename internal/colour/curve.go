package colour

import "math"

// MiddleGrey is the light of a surface that reflects 18 % where white reflects all: what
// a Curve leaves as bright as it is.
const MiddleGrey = 0.18

// Curve is a tone curve from scene light to the light of a display, 0..1. With x scaled
// to the exposure, it is
//
//	A·x^c / (x^c + b)
//
// a log-logistic sigmoid (as used for tone by, among others, darktable's module
// sigmoid): on logarithmic axes straight at middle grey, with a toe and a shoulder. b and
// A follow from two demands: middle grey stays what it is, and the sensor's white level
// gives exactly 1, so that clipped light is white and nothing below it is.
//
// Negative exposures leave the white level where it is too: they bend light by
// k·u/(1-(1-k)·u), u being 1 at the white level and k the exposure's factor.
type Curve struct {
	white          float64 // scene light that gives 1
	gain, bend     float64 // of positive and of negative exposures; one of them is 1
	power, half, a float64 // c, b and A
	profile        *spline // in place of the sigmoid: exposed light of 0..1 to the display's
}

// curvePower is c: the slope at middle grey on logarithmic axes is about 0.85 of it.
const curvePower = 1.45

// NewCurve returns the curve for an exposure of ev stops and scene light of 0..white,
// white being at least 1.
func NewCurve(ev, white float64) Curve {
	c := Curve{white: white, gain: math.Exp2(max(ev, 0)), bend: math.Exp2(min(ev, 0)), power: curvePower}
	top := math.Pow(white*c.gain, c.power)
	grey := math.Pow(MiddleGrey, c.power)
	c.half = grey * (1 - MiddleGrey) / (MiddleGrey - grey/top)
	c.a = 1 + c.half/top
	return c
}

// NewProfileCurve returns a camera profile's curve, through points of exposed light and the
// display's light from (0, 0) to (1, 1) by a natural cubic spline, for an exposure of ev
// stops and scene light of 0..white, white being at least 1. Exposed light above 1 is white.
// Where an exposure leaves white below 1, light is bent by k·x/(1-(1-k·white)·x/white), k
// being the exposure's factor, so that white is 1.
func NewProfileCurve(points [][2]float64, ev, white float64) Curve {
	return Curve{white: white, gain: math.Exp2(max(ev, 0)), bend: math.Exp2(min(ev, 0)), profile: newSpline(points)}
}

// At returns the display light of scene light x.
func (c Curve) At(x float64) float64 {
	switch {
	case !(x > 0):
		return 0
	case x >= c.white:
		return 1
	}
	u, k := x/c.white, c.gain*c.bend
	if c.profile != nil {
		return c.profile.at(x * k / (1 - max(1-k*c.white, 0)*u))
	}
	x *= k / (1 - (1-c.bend)*u)
	p := math.Pow(x, c.power)
	return min(c.a*p/(p+c.half), 1)
}

// Inverse returns the scene light that gives display light y, of 0..1.
func (c Curve) Inverse(y float64) float64 {
	low, high := 0.0, c.white
	for range 60 {
		middle := (low + high) / 2
		if c.At(middle) < y {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}

// A curveTable is a Curve by chords, cut like encodeChords: octaves of float32 numbers
// below the white level in 1<<curveBits equal parts. Below the first octave it is a
// straight line from 0.
type curveTable struct {
	scale  float32 // brings white to 1
	first  uint32  // bits of the number from which chords are there
	slope  float32
	chords []curveChord
}

// curveChord is base + rise·x.
type curveChord struct{ base, rise float32 }

const (
	curveBits  = 7 // a chord strays from x^1.45 by at most 0.33·2^-14/8 of its value: 3e-6
	curveShift = 23 - curveBits
	curveDepth = 16 // octaves below middle grey
	bitsOfOne  = 127 << 23
)

func (c Curve) table() *curveTable {
	return newCurveTable(c.At, c.white, int(math.Floor(math.Log2(MiddleGrey/c.gain/c.white)))-curveDepth)
}

// newCurveTable is the table of a curve that is 1 at white, from 2^low of white on.
func newCurveTable(curve func(float64) float64, white float64, low int) *curveTable {
	t := &curveTable{scale: float32(1 / white), first: uint32(max(low, -126)+127) << 23}
	at := func(b uint32) (x, y float64) {
		x = float64(math.Float32frombits(b))
		return x, curve(x * white)
	}
	for b := t.first; b < bitsOfOne; b += 1 << curveShift {
		x0, y0 := at(b)
		x1, y1 := at(b + 1<<curveShift)
		rise := (y1 - y0) / (x1 - x0)
		t.chords = append(t.chords, curveChord{float32(y0 - rise*x0), float32(rise)})
	}
	x, y := at(t.first)
	t.slope = float32(y / x)
	return t
}

// at is the curve of x, which is at least 0.
func (t *curveTable) at(x float32) float32 {
	x *= t.scale
	b := math.Float32bits(x)
	if b < t.first {
		return t.slope * x
	}
	if b >= bitsOfOne { // also NaN
		return 1
	}
	c := &t.chords[(b-t.first)>>curveShift]
	return min(c.base+float32(c.rise*x), 1)
}
