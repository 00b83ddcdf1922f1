package winograd_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/winograd"
)

// forms are the convolutions by a variant in every form it has.
func forms(v winograd.Variant, p planar.Precision) []winograd.Convolution {
	cs := []winograd.Convolution{{Variant: v, Form: winograd.Strips}, {Variant: v, Form: winograd.Tiled}}
	if p == planar.FP16 {
		cs = append(cs, winograd.Convolution{Variant: v, Form: winograd.Tiled, WideV: true})
	}
	if v == winograd.V2x3 || v == winograd.V4x3 {
		cs = append(cs, winograd.Convolution{Variant: v, Form: winograd.Fused})
	}
	return cs
}

// TestContract runs every variant in every form against the contract of package
// conv. Transforms take long to compile: fp16, whose kernels differ in loads and
// stores alone, is tested with two variants unless ENHANCE_LONG is 1.
func TestContract(t *testing.T) {
	d := convtest.Device(t)
	for _, v := range winograd.Variants() {
		tr, err := v.Transform()
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			if p == planar.FP16 && os.Getenv("ENHANCE_LONG") != "1" && !slices.Contains([]winograd.Variant{winograd.V4x3, winograd.V6x5}, v) {
				continue
			}
			for _, a := range forms(v, p) {
				c := convtest.Config{Algo: a, Device: d, Precision: p, Families: families(tr), Accuracy: accuracy(tr, a, p)}
				c.Draw = func(rng *rand.Rand) conv.Shape {
					s := convtest.AnyShape(rng)
					s.K = tr.R
					return s
				}
				t.Run(fmt.Sprintf("%s/%s", a.Name(), p), func(t *testing.T) { convtest.Run(t, c) })
			}
		}
	}
}

// families is the number of kernels compiled for a test: nested transforms take
// seconds each.
func families(t *winograd.Transform) int {
	switch {
	case os.Getenv("ENHANCE_LONG") == "1":
		return 4
	case t.N > 8:
		return 1
	}
	return 2
}

// accuracy follows from the noise gain: rounding errors in transforms and sums
// grow by it, and so does the rounding of V where it is stored in fp16. Unlike
// direct sums, an output may carry the error of larger neighbours in its tile,
// hence the factor of two.
func accuracy(t *winograd.Transform, a winograd.Convolution, p planar.Precision) convtest.Accuracy {
	acc := convtest.Accuracy{Growth: 2 * t.NoiseGain()}
	if p == planar.FP16 && a.Form == winograd.Tiled && !a.WideV {
		acc.Factor = 0x1p-11 * t.NoiseGain()
	}
	return acc
}

// TestErrorClass prints the relative RMS error of variants beside direct
// convolution's and holds it below twice what ExpectedError says, storing the
// result included.
func TestErrorClass(t *testing.T) {
	d := openDevice(t)
	for _, v := range []winograd.Variant{winograd.V4x3, winograd.V4x5, winograd.V6x9} {
		tr, err := v.Transform()
		if err != nil {
			t.Fatal(err)
		}
		s := conv.Shape{K: tr.R, SrcC: []int{16}, OutC: 6, H: 3*tr.M + 1, W: 50, Act: fuse.NoAct}
		for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
			j := newJob(s, p, false, 9)
			want := j.reference()
			got, err := j.run(d, conv.Direct(d.caps()), d.caps())
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s: direct %dx%d: relative RMS error %.2e", p, s.K, s.K, relativeRMS(got, want))
			for _, a := range forms(v, p) {
				got, err := j.run(d, a, d.caps())
				if err != nil {
					t.Fatal(err)
				}
				limit, err := a.ExpectedError(d.caps(), s, p)
				if err != nil {
					t.Fatal(err)
				}
				limit *= 2
				if p == planar.FP16 {
					limit += 2.5e-4 // of storing the result, see docs/winograd-points.md
				}
				e := relativeRMS(got, want)
				t.Logf("%s: %s: relative RMS error %.2e, limit %.2e", p, a.Name(), e, limit)
				if !(e <= limit) {
					t.Errorf("%s, %s: relative RMS error %.3g, want at most %.3g", p, a.Name(), e, limit)
				}
			}
		}
	}
}
