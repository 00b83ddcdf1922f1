package winograd_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/conv"
	"enhance/fuse"
	"enhance/planar"
	"enhance/winograd"
)

// errorClass is the bound on the relative RMS error of a variant: what ErrorOf
// measures for 64 channels, with room for other channel counts and small samples.
func errorClass(t *testing.T, v winograd.Variant, p planar.Precision) float64 {
	t.Helper()
	tr, err := v.Transform()
	if err != nil {
		t.Fatal(err)
	}
	s := winograd.FP32
	if p == planar.FP16 {
		s = winograd.FP16
	}
	e, err := winograd.ErrorOf(tr, s, 16)
	if err != nil {
		t.Fatal(err)
	}
	return 2 * e
}

// randomShape draws a small convolution, more often than not with planes that are
// no multiple of anything.
func randomShape(rng *rand.Rand, k int) conv.Shape {
	s := conv.Shape{K: k, OutC: 1 + rng.IntN(21), H: 1 + rng.IntN(30), W: 1 + rng.IntN(75), Act: fuse.Act(rng.IntN(3))}
	for range 1 + rng.IntN(3) {
		s.SrcC = append(s.SrcC, 1+rng.IntN(9))
	}
	return s
}

func TestAgainstFloat64(t *testing.T) {
	d := openDevice(t)
	for _, form := range []winograd.Form{winograd.Strips, winograd.Tiled, winograd.Fused} {
		for _, v := range winograd.Variants() {
			for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
				if form == winograd.Fused && v != winograd.V2x3 && v != winograd.V4x3 {
					continue // refused, see TestRefusals
				}
				a := winograd.Convolution{Variant: v, Form: form}
				t.Run(fmt.Sprintf("%s/%s", a.Name(), p), func(t *testing.T) { testVariant(t, d, a, p, 3) })
			}
		}
	}
}

func testVariant(t *testing.T, d *device, a winograd.Convolution, p planar.Precision, shapes int) {
	tr, err := a.Variant.Transform()
	if err != nil {
		t.Fatal(err)
	}
	limit := errorClass(t, a.Variant, p)
	rng := rand.New(rand.NewPCG(uint64(tr.M), uint64(tr.R)))
	for i := range shapes {
		s := randomShape(rng, tr.R)
		if i == 0 { // smaller than a tile
			s.H, s.W = 1+rng.IntN(tr.M), 1+rng.IntN(tr.M)
		}
		j := newJob(s, p, i%2 == 1, uint64(i))
		j.slice = i%2 == 0
		got, err := j.run(d, a, d.caps())
		if err != nil {
			t.Fatalf("%v: %v", s, err)
		}
		e := relativeRMS(got, j.reference())
		t.Logf("%v sources %v act %d: relative RMS error %.2e, class %.2e", s, s.SrcC, s.Act, e, limit)
		if !(e <= limit) {
			t.Errorf("%v: relative RMS error %.3g, want at most %.3g", s, e, limit)
		}
	}
}
