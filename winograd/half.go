package winograd

import "math"

// roundHalf rounds f to the nearest IEEE 754 binary16 number, ties to even, with
// subnormals; 65520 and more become infinite.
func roundHalf(f float32) float32 {
	a := math.Abs(float64(f))
	switch {
	case a == 0 || math.IsInf(a, 0) || math.IsNaN(a):
		return f
	case a >= 65520: // half way from the largest number, 65504, to 2^16
		return float32(math.Inf(1)) * float32(math.Copysign(1, float64(f)))
	}
	_, e := math.Frexp(a) // a = x·2^e, x in [½,1): 11 significant bits end at 2^(e-11)
	ulp := math.Ldexp(1, max(e-11, -24))
	return float32(math.Copysign(math.RoundToEven(a/ulp)*ulp, float64(f)))
}
