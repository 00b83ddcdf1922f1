package model

import (
	"math"

	"enhance/internal/colour"
)

// Curve is how light is encoded for a network, and by it.
type Curve uint8

const (
	// CurveGamma is x^(1/Gamma).
	CurveGamma Curve = iota
	// CurveSRGB is sRGB's curve, whose straight part goes on below 0.
	CurveSRGB
)

// Clip is how light is limited before it is encoded.
type Clip uint8

const (
	// ClipBoth limits to 0..1.
	ClipBoth Clip = iota
	// ClipHigh limits to -1..1: noise around black keeps its mean.
	ClipHigh
)

// NoiseScale is what noise planes hold a standard deviation multiplied by, so
// that usual noise is of the size of usual samples.
const NoiseScale = 8

// srgbLinear is where the straight part of sRGB's curve ends, as light.
const srgbLinear = 0.0031308

// Limit clips white-balanced light.
func (c *Convention) Limit(x float64) float64 {
	low := 0.0
	if c.Clip == ClipHigh {
		low = -1
	}
	switch {
	case !(x > low):
		return low
	case x >= 1:
		return 1
	}
	return x
}

// Encode is the curve from limited light to a network's sample.
func (c *Convention) Encode(x float64) float64 {
	switch {
	case c.Curve == CurveGamma:
		return math.Pow(max(x, 0), 1/c.Gamma)
	case x <= srgbLinear:
		return 12.92 * x
	}
	return 1.055*math.Pow(x, 1/2.4) - 0.055
}

// Decode is the inverse of Encode on 0..1.
func (c *Convention) Decode(v float64) float64 {
	if c.Curve == CurveGamma {
		return math.Pow(v, c.Gamma)
	}
	return colour.SRGBDecode(v)
}

// NoiseOf is NoiseSample where the slope of the curve is known.
func NoiseOf(slope, x, gain, s, o float64) float64 {
	return NoiseScale * slope * math.Sqrt(max(0, gain*s*min(max(x, 0), 1)+gain*gain*o))
}

// Slope is the derivative of Encode at light, which it limits to 0..1.
func (c *Convention) Slope(x float64) float64 { return c.slope(min(max(x, 0), 1)) }

// slope is the derivative of Encode at light of 0..1.
func (c *Convention) slope(x float64) float64 {
	switch {
	case c.Curve == CurveGamma:
		// A power curve is infinitely steep at 0; the steepness of the first
		// 1/1024 stands for it.
		return math.Pow(max(x, 1.0/1024), 1/c.Gamma-1) / c.Gamma
	case x <= srgbLinear:
		return 12.92
	}
	return 1.055 / 2.4 * math.Pow(x, 1/2.4-1)
}

// NoiseSample is the sample of a noise plane beside light x: NoiseScale times
// the standard deviation that Encode(x) has if the sensor's value before the
// white-balance gain has the variance s·value + o. x is white-balanced light as
// measured, limited or not.
func (c *Convention) NoiseSample(x, gain, s, o float64) float64 {
	return NoiseOf(c.Slope(x), x, gain, s, o)
}
