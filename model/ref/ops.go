package ref

import (
	"context"
	"math"

	"enhance/model"
)

// sample is what values are made of.
type sample interface{ float32 | float64 }

// Reflect gives the index that index i of a line of n samples stands for:
// mirrored at both ends without repeating the end sample, with period 2n-2, so
// that any i is valid. A line of one sample repeats it.
func Reflect(i, n int) int {
	if n == 1 {
		return 0
	}
	period := 2*n - 2
	if i %= period; i < 0 {
		i += period
	}
	return min(i, period-i)
}

// outside gives the index in a line of n samples that index i stands for, -1 for a
// sample that is zero.
func outside(i, n int, pad model.PadMode) int {
	switch {
	case i >= 0 && i < n:
		return i
	case pad == model.PadReflect:
		return Reflect(i, n)
	case pad == model.PadEdge:
		return min(max(i, 0), n-1)
	}
	return -1
}

// convPlain is a k×k convolution of src (shape s) padded by k/2:
// dst[o,y,x] = bias[o] + sum over c,i,j of weight[o,c,i,j] · src[c, y+i-k/2, x+j-k/2].
func convPlain[T sample](ctx context.Context, p *pool, dst, src []T, s model.Shape, weight, bias []float32, k int, pad model.PadMode) error {
	return p.each(ctx, len(bias)*s.H, func(_, task int) {
		o, y := task/s.H, task%s.H
		row := dst[task*s.W:][:s.W]
		for x := range row {
			sum := T(bias[o])
			for c := range s.C {
				for i := range k {
					from := outside(y+i-k/2, s.H, pad)
					for j := range k {
						if at := outside(x+j-k/2, s.W, pad); from >= 0 && at >= 0 {
							sum += T(weight[((o*s.C+c)*k+i)*k+j]) * src[(c*s.H+from)*s.W+at]
						}
					}
				}
			}
			row[x] = sum
		}
	})
}

// leakyReLU works on any range of samples; dst may be src.
func leakyReLU[T sample](dst, src []T, slope float32) {
	for i, v := range src {
		if v >= 0 {
			dst[i] = v
		} else {
			dst[i] = T(slope) * v
		}
	}
}

// sigmoid works on any range of samples; dst may be src.
func sigmoid[T sample](dst, src []T) {
	for i, v := range src {
		dst[i] = T(1 / (1 + math.Exp(-float64(v))))
	}
}

// add works on any range of samples; dst may be a or b.
func add[T sample](dst, a, b []T) {
	for i := range dst {
		dst[i] = a[i] + b[i]
	}
}

// instanceNorm makes a plane from a plane; dst may be src. Mean and biased
// variance are taken in float64, in two passes.
func instanceNorm[T sample](dst, src []T, weight, bias, eps float32) {
	sum := 0.0
	for _, v := range src {
		sum += float64(v)
	}
	mean := sum / float64(len(src))
	squares := 0.0
	for _, v := range src {
		d := float64(v) - mean
		squares += d * d
	}
	scale := float64(weight) / math.Sqrt(squares/float64(len(src))+float64(eps))
	for i, v := range src {
		dst[i] = T((float64(v)-mean)*scale + float64(bias))
	}
}

// maxPool makes a plane of h/2×w/2 from one of h×w. NaN wins over numbers.
func maxPool[T sample](dst, src []T, h, w int) {
	oh, ow := h/2, w/2
	for y := range oh {
		for x := range ow {
			at := 2*y*w + 2*x
			m := src[at]
			for _, v := range [...]T{src[at+1], src[at+w], src[at+w+1]} {
				if v > m || v != v {
					m = v
				}
			}
			dst[y*ow+x] = m
		}
	}
}

// tap is where one output sample of an enlargement lies on a line: between
// samples i and j, the share of j being f.
type tap struct {
	i, j int
	f    float64
}

// upsampleTaps gives the taps of a line of n samples enlarged to 2n. With
// alignCorners, output y is at y·(n-1)/(2n-1), so that the ends meet; otherwise
// at (y+½)/2-½, held at the ends.
func upsampleTaps(n int, alignCorners bool) []tap {
	taps := make([]tap, 2*n)
	for y := range taps {
		at := max(0, (float64(y)+0.5)/2-0.5)
		if alignCorners {
			at = float64(y) * float64(n-1) / float64(2*n-1)
		}
		i := min(int(at), n-1)
		taps[y] = tap{i, min(i+1, n-1), at - float64(i)}
	}
	return taps
}

// upsample makes a plane of 2h×2w from one of h×w by bilinear interpolation.
func upsample[T sample](dst, src []T, w int, rows, cols []tap) {
	for y, r := range rows {
		upper, lower := src[r.i*w:][:w], src[r.j*w:][:w]
		line := dst[y*len(cols):][:len(cols)]
		for x, c := range cols {
			f := T(c.f)
			top := upper[c.i] + f*(upper[c.j]-upper[c.i])
			bottom := lower[c.i] + f*(lower[c.j]-lower[c.i])
			line[x] = top + T(r.f)*(bottom-top)
		}
	}
}

// pixelShuffle makes plane c of 2h×2w from planes 4c..4c+3, which src begins
// with: plane 2i+j of them goes to the samples (2y+i, 2x+j).
func pixelShuffle[T sample](dst, src []T, h, w int) {
	for i := range 2 {
		for j := range 2 {
			plane := src[(2*i+j)*h*w:][:h*w]
			for y := range h {
				for x := range w {
					dst[(2*y+i)*2*w+2*x+j] = plane[y*w+x]
				}
			}
		}
	}
}
