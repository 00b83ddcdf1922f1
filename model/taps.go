package model

import "math"

// Tap is what one output row or column of a resize reads: samples At[k] of the source's line,
// times Weight[k], for k < N.
type Tap struct {
	N      int
	At     [4]int
	Weight [4]float64
}

// Taps gives the taps of a line of n samples resized to m by num/den, as ONNX's Resize defines
// them. Their samples do not decrease from one output to the next.
func (r *Resize) Taps(n, m, num, den int) []Tap {
	taps := make([]Tap, m)
	for x := range taps {
		c := sourceOf(x, n, m, num, den, r.Coordinates)
		switch r.Mode {
		case ResizeNearest:
			taps[x] = Tap{N: 1, At: [4]int{atEdge(nearest(c, r.Rounding), n)}, Weight: [4]float64{1}}
		case ResizeLinear:
			i := math.Floor(c)
			f := c - i
			taps[x] = Tap{N: 2, At: [4]int{atEdge(int(i), n), atEdge(int(i)+1, n)}, Weight: [4]float64{1 - f, f}}
		case ResizeCubic:
			taps[x] = cubicTap(c, n, r)
		}
	}
	return taps
}

func atEdge(i, n int) int { return min(max(i, 0), n-1) }

// sourceOf is the source coordinate of output x. A ratio of whole numbers makes it exact where that decides which sample is nearest.
func sourceOf(x, n, m, num, den int, c Coordinates) float64 {
	s := float64(num) / float64(den)
	half := (float64(2*x+1)*float64(den) - float64(num)) / float64(2*num)
	switch c {
	case CoordPytorchHalfPixel:
		if m == 1 {
			return 0
		}
		return half
	case CoordAlignCorners:
		if n*num == den {
			return 0
		}
		return float64(x) * float64(n-1) * float64(den) / (float64(n)*float64(num) - float64(den))
	case CoordAsymmetric:
		return float64(x) * float64(den) / float64(num)
	case CoordHalfPixelSymmetric:
		return float64(n)/2*(1-float64(m)/(float64(n)*s)) + half
	}
	return half
}

func nearest(c float64, r Rounding) int {
	switch r {
	case RoundFloor:
		return int(math.Floor(c))
	case RoundCeil:
		return int(math.Ceil(c))
	case RoundPreferCeil:
		return int(math.Floor(c + 0.5))
	}
	return int(math.Ceil(c - 0.5))
}

// cubicTap is Keys' cubic convolution with coefficient CubicA (IEEE ASSP 29, 1981).
func cubicTap(c float64, n int, r *Resize) Tap {
	a, base := float64(r.CubicA), math.Floor(c)
	t := c - base
	tap, sum := Tap{N: 4, Weight: [4]float64{
		((a*(t+1)-5*a)*(t+1)+8*a)*(t+1) - 4*a,
		((a+2)*t-(a+3))*t*t + 1,
		((a+2)*(1-t)-(a+3))*(1-t)*(1-t) + 1,
		((a*(2-t)-5*a)*(2-t)+8*a)*(2-t) - 4*a,
	}}, 0.0
	for k := range tap.At {
		i := int(base) - 1 + k
		if r.ExcludeOutside && (i < 0 || i >= n) {
			tap.Weight[k] = 0
		}
		sum += tap.Weight[k]
		tap.At[k] = atEdge(i, n)
	}
	if r.ExcludeOutside {
		for k := range tap.Weight {
			tap.Weight[k] /= sum
		}
	}
	return tap
}
