package ref

import (
	"math"

	"enhance/model"
)

// mapSamples works on any range of samples; dst may be src. The function is computed in float64.
func mapSamples[T sample](dst, src []T, n *model.Node) {
	f := functionOf(n.Func, float64(n.Alpha), float64(n.Beta))
	for i, v := range src {
		dst[i] = T(f(float64(v)))
	}
}

func softplus(x float64) float64 { return max(x, 0) + math.Log1p(math.Exp(-math.Abs(x))) }

// functionOf is the function that model.Func names; its comments there define it.
func functionOf(f model.Func, a, b float64) func(x float64) float64 {
	if plain := plainFunctions[f]; plain != nil {
		return plain
	}
	switch f {
	case model.FuncClip:
		return func(x float64) float64 { return min(max(x, a), b) }
	case model.FuncHardSigmoid:
		return func(x float64) float64 { return max(0, min(1, a*x+b)) }
	case model.FuncSiLU:
		return func(x float64) float64 { return x / (1 + math.Exp(-a*x)) }
	case model.FuncELU:
		return func(x float64) float64 {
			if x >= 0 {
				return x
			}
			return a * math.Expm1(x)
		}
	case model.FuncSELU:
		return func(x float64) float64 {
			if x > 0 {
				return b * x
			}
			return b * a * math.Expm1(x)
		}
	case model.FuncCELU:
		return func(x float64) float64 { return max(0, x) + min(0, a*math.Expm1(x/a)) }
	case model.FuncThresholded:
		return func(x float64) float64 {
			if x > a {
				return x
			}
			return 0 * x // NaN stays NaN
		}
	}
	panic("ref: unknown function")
}

// plainFunctions have no attributes.
var plainFunctions = map[model.Func]func(x float64) float64{
	model.FuncTanh:       math.Tanh,
	model.FuncHardSwish:  func(x float64) float64 { return x * max(0, min(1, x/6+0.5)) },
	model.FuncGELU:       func(x float64) float64 { return x * (1 + math.Erf(x/math.Sqrt2)) / 2 },
	model.FuncGELUTanh:   func(x float64) float64 { return x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x))) / 2 },
	model.FuncSoftplus:   softplus,
	model.FuncSoftsign:   func(x float64) float64 { return x / (1 + math.Abs(x)) },
	model.FuncMish:       func(x float64) float64 { return x * math.Tanh(softplus(x)) },
	model.FuncExp:        math.Exp,
	model.FuncLog:        math.Log,
	model.FuncSqrt:       math.Sqrt,
	model.FuncReciprocal: func(x float64) float64 { return 1 / x },
	model.FuncAbs:        math.Abs,
	model.FuncNeg:        func(x float64) float64 { return -x },
	model.FuncSquare:     func(x float64) float64 { return x * x },
	model.FuncErf:        math.Erf,
	model.FuncFloor:      math.Floor,
	model.FuncCeil:       math.Ceil,
	model.FuncRound:      math.RoundToEven,
	model.FuncSin:        math.Sin,
	model.FuncCos:        math.Cos,
	model.FuncSign: func(x float64) float64 {
		switch {
		case x > 0:
			return 1
		case x < 0:
			return -1
		}
		return x
	},
}
