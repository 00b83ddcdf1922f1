package colour

import "math"

// The curve of IEC 61966-2-1: linear up to knee, a power beyond it.
const (
	knee     = 0.0031308
	codeKnee = 0.04045
	slope    = 12.92
	gamma    = 2.4
	lift     = 0.055
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
	if v <= codeKnee {
		return v / slope
	}
	return math.Pow((v+lift)/(1+lift), gamma)
}
