package ref

import (
	"math"

	"enhance/model"
)

// weighted are the samples of a line that one output sample reads, and their weights.
type weighted struct {
	at     []int
	weight []float64
}

// resizeTaps gives the taps of a line of n samples resized to m by num/den, as ONNX's Resize defines them.
func resizeTaps(n, m, num, den int, r *model.Resize) []weighted {
	taps := make([]weighted, m)
	for x := range taps {
		c := sourceOf(x, n, m, num, den, r.Coordinates)
		switch r.Mode {
		case model.ResizeNearest:
			taps[x] = weighted{[]int{min(max(nearest(c, r.Rounding), 0), n-1)}, []float64{1}}
		case model.ResizeLinear:
			i := math.Floor(c)
			f := c - i
			taps[x] = weighted{[]int{clamped(int(i), n), clamped(int(i)+1, n)}, []float64{1 - f, f}}
		case model.ResizeCubic:
			taps[x] = cubicTap(c, n, r)
		}
	}
	return taps
}

func clamped(i, n int) int { return min(max(i, 0), n-1) }

// sourceOf is the source coordinate of output x. A ratio of whole numbers makes it exact where that decides which sample is nearest.
func sourceOf(x, n, m, num, den int, c model.Coordinates) float64 {
	s := float64(num) / float64(den)
	half := (float64(2*x+1)*float64(den) - float64(num)) / float64(2*num)
	switch c {
	case model.CoordPytorchHalfPixel:
		if m == 1 {
			return 0
		}
		return half
	case model.CoordAlignCorners:
		if n*num == den {
			return 0
		}
		return float64(x) * float64(n-1) * float64(den) / (float64(n)*float64(num) - float64(den))
	case model.CoordAsymmetric:
		return float64(x) * float64(den) / float64(num)
	case model.CoordHalfPixelSymmetric:
		return float64(n)/2*(1-float64(m)/(float64(n)*s)) + half
	}
	return half
}

func nearest(c float64, r model.Rounding) int {
	switch r {
	case model.RoundFloor:
		return int(math.Floor(c))
	case model.RoundCeil:
		return int(math.Ceil(c))
	case model.RoundPreferCeil:
		return int(math.Floor(c + 0.5))
	}
	return int(math.Ceil(c - 0.5))
}

// cubicTap is Keys' cubic convolution with coefficient a.
func cubicTap(c float64, n int, r *model.Resize) weighted {
	a, base := float64(r.CubicA), math.Floor(c)
	t := c - base
	w := []float64{
		((a*(t+1)-5*a)*(t+1)+8*a)*(t+1) - 4*a,
		((a+2)*t-(a+3))*t*t + 1,
		((a+2)*(1-t)-(a+3))*(1-t)*(1-t) + 1,
		((a*(2-t)-5*a)*(2-t)+8*a)*(2-t) - 4*a,
	}
	tap, sum := weighted{weight: w}, 0.0
	for k := range w {
		i := int(base) - 1 + k
		if r.ExcludeOutside && (i < 0 || i >= n) {
			w[k] = 0
		}
		sum += w[k]
		tap.at = append(tap.at, clamped(i, n))
	}
	if r.ExcludeOutside {
		for k := range w {
			w[k] /= sum
		}
	}
	return tap
}

// resample makes a plane by weighting rows and columns of one of width w.
func resample[T sample](dst, src []T, w int, rows, columns []weighted) {
	for y, r := range rows {
		for x, c := range columns {
			sum := 0.0
			for i, sy := range r.at {
				for j, sx := range c.at {
					sum += r.weight[i] * c.weight[j] * float64(src[sy*w+sx])
				}
			}
			dst[y*len(columns)+x] = T(sum)
		}
	}
}
