package opcode

import (
	"math"

	"enhance/raw/mosaic"
)

// Behind filter arrays that are not Bayer's a bad sample is interpolated along a line of
// samples of its colour: of the directions that have a good one on both sides, the one
// with the least product of their difference and their distance. The two sides may be at
// different distances from the sample.

// directions are the steps of the lines: along rows, columns and diagonals, and between
// them.
var directions = [...][2]int{{0, 1}, {1, 0}, {1, 1}, {1, -1}, {1, 2}, {2, 1}, {1, -2}, {2, -1}}

// ArrayOf tells the chain the filter array of its rows, for repairs of bad samples; without
// it the array is Bayer's, in the phase that a list of bad samples gives.
func (c *Chain) ArrayOf(p mosaic.Pattern) {
	if !p.Bayer() {
		c.array = p
	}
}

// neighbour is a good sample on a line, and how far it is, in samples.
type neighbour struct {
	value, far float32
}

// repairIn gives the value of bad sample x of row r, which is row y of the array. Without
// a good neighbour of its colour within reach it stays as it is.
func repairIn(array mosaic.Pattern, rows []float32, bad []bool, width, n, r, x, y int) float32 {
	colour := array.At(y, x)
	find := func(dy, dx int) (neighbour, bool) {
		step := float32(math.Hypot(float64(dy), float64(dx)))
		for k := 1; k*max(dy, -dy, dx, -dx) <= reach; k++ {
			rr, xx := r+k*dy, x+k*dx
			if rr < 0 || rr >= n || xx < 0 || xx >= width {
				break
			}
			if i := rr*width + xx; !bad[i] && array.At(y+k*dy, xx) == colour {
				return neighbour{rows[i], float32(k) * step}, true
			}
		}
		return neighbour{}, false
	}
	var a, b [len(directions)]neighbour
	var both [len(directions)]bool
	near, sum, count := float32(math.Inf(1)), float32(0), float32(0)
	for i, d := range directions {
		var okA, okB bool
		a[i], okA = find(d[0], d[1])
		b[i], okB = find(-d[0], -d[1])
		both[i] = okA && okB
		for _, side := range [2]struct {
			neighbour
			ok bool
		}{{a[i], okA}, {b[i], okB}} {
			switch {
			case !side.ok || side.far > near:
			case side.far < near:
				near, sum, count = side.far, side.value, 1
			default:
				sum, count = sum+side.value, count+1
			}
		}
	}
	if count == 0 {
		return rows[r*width+x]
	}
	value, least := sum/count, float32(math.Inf(1))
	for i := range directions {
		if !both[i] {
			continue
		}
		if d := float32(math.Abs(float64(a[i].value-b[i].value))) * (a[i].far + b[i].far); d < least {
			least = d
			value = (float32(a[i].value*b[i].far) + float32(b[i].value*a[i].far)) / (a[i].far + b[i].far)
		}
	}
	return value
}
