package resize

import (
	"math"

	"enhance/internal/colour"
)

// integers are codes of 16 bits.
type integers struct {
	transfer *colour.Transfer
	light    []float32 // of each code
}

// decoded is the light of each code.
func decoded(transfer *colour.Transfer) []float32 {
	t := make([]float32, 65536)
	for i := range t {
		t[i] = float32(transfer.Decode(float64(i) / 65535))
	}
	return t
}

func (c *integers) numbers() int { return 1 }

func (c *integers) decode(planes []float32, rgb []uint16) {
	n, light := len(planes)/3, c.light
	for x := range n {
		px := rgb[3*x:][:3:3]
		planes[x], planes[n+x], planes[2*n+x] = light[px[0]], light[px[1]], light[px[2]]
	}
}

func (c *integers) encode(rgb []uint16, red, green, blue []float32) {
	c.transfer.EncodeLight(rgb, red, green, blue)
}

// floats are codes of 32-bit floats, in two numbers each.
type floats struct{ transfer *colour.Transfer }

func (floats) numbers() int { return 2 }

func (c floats) decode(planes []float32, rgb []uint16) {
	n := len(planes) / 3
	for i := range planes {
		at := 2 * (3*(i%n) + i/n)
		v := math.Float32frombits(uint32(rgb[at])<<16 | uint32(rgb[at+1]))
		if c.transfer != colour.LinearTransfer {
			v = float32(c.transfer.Decode(float64(v)))
		}
		planes[i] = v
	}
}

func (c floats) encode(rgb []uint16, red, green, blue []float32) {
	for k, line := range [3][]float32{red, green, blue} {
		for x, v := range line {
			if c.transfer != colour.LinearTransfer {
				v = float32(c.transfer.Encode(float64(v)))
			}
			bits, at := math.Float32bits(v), 2*(3*x+k)
			rgb[at], rgb[at+1] = uint16(bits>>16), uint16(bits)
		}
	}
}
