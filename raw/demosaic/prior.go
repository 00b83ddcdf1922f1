package demosaic

import (
	"math"

	"enhance/raw/mosaic"
)

// class is an assumption about the picture around a sample: edges of a direction.
type class struct {
	angle   float64 // of the edges, counter-clockwise from a row
	stretch float64 // by how much more samples are alike along the edges than across
}

// effort is how much is tried for a pattern.
type effort struct {
	directions int // of edges, beside the assumption that there are none
	reach      int // how far from a pixel a filter looks, in rows and columns
	taps       int // samples that a filter uses
}

// effortFor is more where red or blue samples stand side by side: colours are further
// apart then.
func effortFor(p mosaic.Pattern) effort {
	for y := range p.Rows() {
		for x := range p.Cols() {
			c := p.At(y, x)
			if c != mosaic.Green && (p.At(y, x+1) == c || p.At(y+1, x) == c) {
				return effort{directions: 8, reach: 6, taps: 32}
			}
		}
	}
	return effort{directions: 4, reach: 4, taps: 24}
}

// classes are the assumptions that are tried everywhere.
func (e effort) classes() []class {
	all := []class{{0, 1}}
	for i := range e.directions {
		all = append(all, class{float64(i) * math.Pi / float64(e.directions), longEdge})
	}
	return all
}

// The parameters of the prior, chosen on crops of photos that no figure in the
// documents is measured on.
const (
	longEdge     = 8
	lightPower   = 1.2  // of the distance, in the covariance of light
	colourPower  = 1.8  // and of the colours' differences from it
	colourWeight = 0.1  // of the latter
	nugget       = 0.01 // variance of what no neighbour tells
)

// distance of two samples, as the class sees it.
func (c class) distance(dy, dx int) float64 {
	sin, cos := math.Sincos(c.angle)
	along, across := cos*float64(dx)-sin*float64(dy), sin*float64(dx)+cos*float64(dy)
	r := math.Sqrt(c.stretch)
	return math.Hypot(along/r, across*r)
}

// covariance of two samples, by how far one is from the other, up to constants that the
// constraints on the weights make irrelevant: a generalised covariance. The first is
// for samples of two colours, the second for those of one.
type covariance [2][4*maxReach + 1][4*maxReach + 1]float64

func (c class) tabulate() *covariance {
	t := new(covariance)
	for i := range t[0] {
		for j := range t[0][i] {
			d := c.distance(i-2*maxReach, j-2*maxReach)
			t[0][i][j] = -math.Pow(d, lightPower)
			t[1][i][j] = t[0][i][j] - colourWeight*math.Pow(d, colourPower)
		}
	}
	return t
}

// of gives that of samples of colours a and b.
func (t *covariance) of(dy, dx int, a, b mosaic.Colour) float64 {
	same := 0
	if a == b {
		same = 1
	}
	return t[same][dy+2*maxReach][dx+2*maxReach]
}
