package convtest

import (
	"math"

	"enhance/internal/fuse"
	"enhance/internal/planar"
)

const (
	unit32 = 0x1p-24 // unit roundoff of float32
	unit16 = 0x1p-11 // of binary16
	unitB  = 0x1p-8  // of bfloat16
	// subnormal16 is half the distance of the smallest binary16 numbers.
	subnormal16 = 0x1p-25
	// confidence is the factor λ of the probabilistic error bound for sums
	// (Higham and Mary 2019, theorem 3.1): a bound λ·√n·u·Σ|wx| fails for one
	// output with a probability below 2n·exp(-λ²/2), 1e-10 for n = 1000.
	confidence = 8
)

// Accuracy is how exact an algorithm promises to be, where it is not simply a
// sum of products in float32. Zero values promise that.
type Accuracy struct {
	// Growth is how many times larger than of the plain sum the rounding error may
	// be, as transforms with large coefficients make it.
	Growth float64
	// Factor is the unit roundoff with which weights, inputs or their transforms
	// enter the products.
	Factor float64
}

// Reference is the convolution in float64, and how far a result may be from it:
//
//	sum         λ·√n·u·Growth·Σ|wx| + λ·Factor·√Σ(wx)²
//	activation  a leaky ReLU adds u; a sigmoid passes a quarter and adds 8u for
//	            exp (3 ulp by the OpenCL specification) and division (2.5 ulp); the
//	            others pass at most 3/2, and add 16u for their functions (erf: 16 ulp)
//	residual    u of the result, behind the activation or before it
//	storage     binary16: its unit roundoff, or half a subnormal step
func (k *Operands) Reference(p planar.Precision, a Accuracy) (want, allowed []float64) {
	s := k.Shape
	n := float64(k.taps() + 1)
	growth := max(a.Growth, 1)
	want, allowed = make([]float64, s.OutC*s.H*s.W), make([]float64, s.OutC*s.H*s.W)
	for i := range want {
		o, y, x := i/(s.H*s.W), i/s.W%s.H, i%s.W
		sum, abs, squares := k.sum(o, y, x)
		tol := confidence * (math.Sqrt(n)*unit32*growth*abs + a.Factor*math.Sqrt(squares))
		if s.ResFirst && k.Res != nil {
			sum += float64(k.Res.At(o, y, x))
			tol += unit32 * math.Abs(sum)
		}
		switch s.Act {
		case fuse.LeakyReLU:
			if sum < 0 {
				sum *= float64(k.Slope)
			}
			tol += unit32 * math.Abs(sum)
		case fuse.Sigmoid:
			sum = 1 / (1 + math.Exp(-sum))
			tol = tol/4 + 8*unit32
		case fuse.PReLU:
			if sum < 0 {
				sum *= float64(k.Slopes[o])
			}
			tol += unit32 * math.Abs(sum)
		case fuse.Clipped:
			sum = min(max(sum, 0), float64(k.Slope))
		case fuse.HardSwish, fuse.SiLU, fuse.GELU, fuse.Tanh:
			sum = smooth(s.Act, sum)
			tol = 1.5*tol + 16*unit32*(1+math.Abs(sum))
		}
		if !s.ResFirst && k.Res != nil {
			sum += float64(k.Res.At(o, y, x))
			tol += unit32 * math.Abs(sum)
		}
		if p == planar.FP16 {
			tol += max(unit16*(math.Abs(sum)+tol), subnormal16)
		}
		if s.PairsOut {
			tol += unitB * (math.Abs(sum) + tol)
		}
		want[i], allowed[i] = sum, tol
	}
	return want, allowed
}

// smooth is one of the activations that have no parameters.
func smooth(act fuse.Act, x float64) float64 {
	switch act {
	case fuse.HardSwish:
		return x * min(max(x/6+0.5, 0), 1)
	case fuse.SiLU:
		return x / (1 + math.Exp(-x))
	case fuse.GELU:
		return x * (1 + math.Erf(x/math.Sqrt2)) / 2
	}
	return math.Tanh(x)
}

// sum is one output before its activation, and the sums of the magnitudes and
// of the squares of its terms.
func (k *Operands) sum(o, y, x int) (sum, abs, squares float64) {
	s := k.Shape
	add := func(v float64) {
		sum += v
		abs += math.Abs(v)
		squares += v * v
	}
	add(float64(k.Bias[o]))
	if w := s.Window; w != nil {
		each, src := s.InC()/w.Groups, k.Src[0]
		for t := range k.taps() {
			c, i, j := o/(s.OutC/w.Groups)*each+t/(w.KH*w.KW), t/w.KW%w.KH, t%w.KW
			yy := fuse.PadIndex(w.Pad, y*w.StrideH+i*w.DilationH-w.Top, w.SrcH)
			if xx := fuse.PadIndex(w.Pad, x*w.StrideW+j*w.DilationW-w.Left, w.SrcW); yy >= 0 && xx >= 0 {
				add(float64(k.Weight[o*k.taps()+t]) * float64(src.At(c, yy, xx)))
			}
		}
		return sum, abs, squares
	}
	at := o * s.InC() * s.K * s.K
	for _, p := range k.Src {
		for c := range p.C {
			for ky := range s.K {
				from := fuse.PadIndex(s.Pad, y+ky-s.K/2, s.H)
				for kx := range s.K {
					if xx := fuse.PadIndex(s.Pad, x+kx-s.K/2, s.W); from >= 0 && xx >= 0 {
						add(float64(k.Weight[at]) * float64(p.At(c, from, xx)))
					}
					at++
				}
			}
		}
	}
	return sum, abs, squares
}
