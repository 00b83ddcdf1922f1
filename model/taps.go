package model

import "math"

// Tap is what one output row or column of a resize reads: samples At[k] of the source's line, which do not
// decrease, times Weight[k].
type Tap struct {
	At     []int
	Weight []float64
	// Outside says that the output lies beyond the source, and is Resize.Outside whatever the source holds.
	Outside bool
}

// Taps gives the taps of a line of n samples resized to m by num/den, as ONNX's Resize defines
// them; columns says which part of a region of interest is meant. Their samples do not decrease from one
// output to the next.
func (r *Resize) Taps(n, m, num, den int, columns bool) []Tap {
	taps := make([]Tap, m)
	for x := range taps {
		c := 0.0
		if r.Coordinates == CoordCrop {
			c = r.cropped(x, n, m, columns)
			taps[x].Outside = c < 0 || c > float64(n-1)
		} else {
			c = sourceOf(x, n, m, num, den, r.Coordinates)
		}
		switch t := &taps[x]; r.Mode {
		case ResizeNearest:
			t.At, t.Weight = []int{atEdge(nearest(c, r.Rounding), n)}, []float64{1}
		default:
			r.interpolate(t, c, n, min(1, float64(num)/float64(den)))
		}
	}
	return taps
}

// cropped is the source coordinate of output x of m in a region of interest.
func (r *Resize) cropped(x, n, m int, columns bool) float64 {
	start, end := float64(r.Crop[0]), float64(r.Crop[1])
	if columns {
		start, end = float64(r.Crop[2]), float64(r.Crop[3])
	}
	if m == 1 {
		return 0.5 * (start + end) * float64(n-1)
	}
	return start*float64(n-1) + float64(x)*(end-start)*float64(n-1)/float64(m-1)
}

// interpolate makes the taps of coordinate c by linear or cubic weights. With Antialias these are stretched by 1/scale if
// a line becomes shorter.
func (r *Resize) interpolate(t *Tap, c float64, n int, scale float64) {
	if !r.Antialias {
		scale = 1
	}
	reach, weigh := 1.0, linearWeight
	if a := float64(r.CubicA); r.Mode == ResizeCubic {
		reach, weigh = 2, func(x float64) float64 { return cubicWeight(x, a) }
	}
	base := math.Floor(c)
	first := int(math.Floor(-reach/scale)) + 1
	sum := 0.0
	for k := first; k <= 1-first; k++ {
		i, w := int(base)+k, weigh(scale*(float64(k)-(c-base)))
		if r.ExcludeOutside && (i < 0 || i >= n) {
			w = 0
		}
		t.At, t.Weight = append(t.At, atEdge(i, n)), append(t.Weight, w)
		sum += w
	}
	if r.ExcludeOutside || r.Antialias {
		for k := range t.Weight {
			t.Weight[k] /= sum
		}
	}
}

func linearWeight(x float64) float64 { return max(0, 1-math.Abs(x)) }

// cubicWeight is Keys' cubic convolution with coefficient a (IEEE ASSP 29, 1981, equation 4).
func cubicWeight(x, a float64) float64 {
	switch x = math.Abs(x); {
	case x <= 1:
		return ((a+2)*x-(a+3))*x*x + 1
	case x < 2:
		return ((a*x-5*a)*x+8*a)*x - 4*a
	}
	return 0
}

func atEdge(i, n int) int { return min(max(i, 0), n-1) }

// sourceOf is the source coordinate of output x. A ratio of whole numbers makes it exact where that decides
// which sample is nearest.
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
