package pipeline

import (
	"math"

	"enhance/internal/colour"
)

// Pictures of 32 bits have floats, 1 being white. On their way to the encoder each is two
// numbers: the upper and the lower half of its bits. Light beyond white and below black
// stays as it is.

// refuseFloats refuses what takes codes of 16 bits.
func (j *Job) refuseFloats() error {
	if j.Output.Bits == 32 && j.Reference != "" {
		return optionErrorf("reference", "pictures of 8 and 16 bits are compared, not floats: choose 16 bits, or leave it out")
	}
	return nil
}

// encode makes the codes of light.
func (b *balance) encode(light [3][]float32, codes []uint16) {
	if b.floats {
		same := colour.Identity()
		b.encodeFloats(light, &same, codes)
		return
	}
	b.output.Transfer.EncodeLight(codes, light[0], light[1], light[2])
}

// encodeFloats makes floats of light that is multiplied by a matrix.
func (b *balance) encodeFloats(light [3][]float32, m *colour.Matrix, codes []uint16) {
	linear := b.output.Linear()
	for x, red := range light[0] {
		green, blue := light[1][x], light[2][x]
		for c, row := range m {
			// The conversions forbid fused multiply-add: every machine rounds alike.
			v := float64(float32(float32(row[0])*red) + float32(float32(row[1])*green) + float32(float32(row[2])*blue))
			if !linear {
				v = b.output.Transfer.Encode(v)
			}
			putFloat(codes[2*(3*x+c):][:2], float32(v))
		}
	}
}

// sameFloats takes components for codes.
func sameFloats(light [3][]float32, codes []uint16) {
	for c, line := range light {
		for x, v := range line {
			putFloat(codes[2*(3*x+c):][:2], v)
		}
	}
}

func putFloat(dst []uint16, v float32) {
	bits := math.Float32bits(v)
	dst[0], dst[1] = uint16(bits>>16), uint16(bits)
}
