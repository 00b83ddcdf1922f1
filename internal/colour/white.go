package colour

import (
	"errors"
	"fmt"
	"math"
)

// tintScale is how much tint is a distance of 1 from the Planckian locus in the CIE 1960
// diagram: the scale of Adobe's programs. Positive tints are greener lights.
const tintScale = 3000

// TemperatureTint returns the correlated colour temperature of c in kelvin and its
// tint: how far it is from the Planckian locus along the isotherm.
func (c Chromaticity) TemperatureTint() (kelvin, tint float64) {
	kelvin = c.Temperature()
	d := -2*c.X + 12*c.Y + 3
	if !(d > 0) {
		return kelvin, 0
	}
	l := isothermAt(1e6 / kelvin)
	du, dv := 4*c.X/d-l.u, 6*c.Y/d-l.v
	return kelvin, -tintScale * (du + dv*l.slope) / math.Hypot(1, l.slope)
}

// WithTemperature returns the light of a temperature, 1667 to 100000 K, and a tint.
func WithTemperature(kelvin, tint float64) Chromaticity {
	l := isothermAt(1e6 / kelvin)
	k := tint / tintScale / math.Hypot(1, l.slope)
	u, v := l.u-k, l.v-k*l.slope
	d := 2*u - 8*v + 4
	return Chromaticity{3 * u / d, 2 * v / d}
}

// isothermAt interpolates Robertson's table.
func isothermAt(mired float64) isotherm {
	mired = math.Min(math.Max(mired, 0), robertson[len(robertson)-1].mired)
	for i := 1; ; i++ {
		a, b := robertson[i-1], robertson[i]
		if mired > b.mired {
			continue
		}
		f := (mired - a.mired) / (b.mired - a.mired)
		between := func(x, y float64) float64 { return x + f*(y-x) }
		return isotherm{mired, between(a.u, b.u), between(a.v, b.v), between(a.slope, b.slope)}
	}
}

// Lights are the whites of lights by name: CIE illuminants D55, D65, D75, A and F2, and for
// flash the D60 that most units come near.
var Lights = map[string]Chromaticity{
	"daylight": {0.33242, 0.34743}, "cloudy": D65, "shade": {0.29902, 0.31485},
	"tungsten": {0.44757, 0.40745}, "fluorescent": {0.37208, 0.37529}, "flash": {0.32168, 0.33767},
}

// ErrNoMatrix says that a file has no colour matrix, which alone tells how its camera
// sees a light.
var ErrNoMatrix = errors.New("the file has no colour matrix")

// GainsFor returns the white-balance gains, green 1, that make a light white.
func GainsFor(facts Facts, white Chromaticity) (gains [3]float64, err error) {
	if facts.ColorMatrix1 == nil && facts.ColorMatrix2 == nil {
		return gains, ErrNoMatrix
	}
	neutral := newCalibration(facts, &Info{}).neutral(white)
	for i, n := range neutral {
		if !(n > 0) || math.IsInf(n, 0) {
			return gains, fmt.Errorf("%w: the camera's matrix gives %.4v for white (%.4f, %.4f)", ErrNeutral, neutral, white.X, white.Y)
		}
		gains[i] = neutral[1] / n
	}
	return gains, nil
}

// neutral is the camera's RGB of a white.
func (c *calibration) neutral(white Chromaticity) [3]float64 {
	return Apply(c.xyzToCamera(c.weight1(white.Temperature())), white.XYZ())
}
