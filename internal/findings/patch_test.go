package findings

import (
	"testing"

	"enhance/model"
)

// TestMaskedPatch: the patch for masked planes has one sample at each place.
func TestMaskedPatch(t *testing.T) {
	const h, w = 16, 24
	v := patchSamples(model.SamplesMasked, 24, h, w)
	for place := range 4 {
		for i := range h * w {
			there := 0
			for c := range 3 {
				k := model.MaskedPlane(c, place/2, place%2)
				light, noise := v[k*h*w+i], v[(12+k)*h*w+i]
				if noise != model.NoNoise {
					there++
				} else if light != 0 {
					t.Fatalf("plane %d has %g at %d, where its noise says that there is no sample", k, light, i)
				}
			}
			if there != 1 {
				t.Fatalf("%d samples at place %d of quad %d", there, place, i)
			}
		}
	}
}
