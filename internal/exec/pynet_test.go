package exec_test

import (
	"math"
	"testing"

	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/model"
)

const shuffleSpec = "pynet-random:gold,width=4,norm=false,norm1=false,end=shuffle"

// TestPyNETGolden runs PyNET with the formula's weights against the float64
// output that came with them.
func TestPyNETGolden(t *testing.T) {
	for _, c := range []struct {
		spec, file string
		h, w       int
		precision  planar.Precision
		maxAbs     float64
		psnr       float64
	}{
		{"pynet-random:gold", "pynet_gold_96x128.f32", 96, 128, planar.FP32, 2e-4, 70},
		{"pynet-random:gold,norm1=false", "pynet_gold_80x112_nonorm1.f32", 80, 112, planar.FP32, 2e-4, 70},
		{shuffleSpec, "pynet_shuffle_48x32.y.f32", 48, 32, planar.FP32, 2e-4, 70},
		{shuffleSpec, "pynet_shuffle_48x32.y.f32", 48, 32, planar.FP16, 1, 35},
		{"pynet-random:gold", "pynet_gold_96x128.f32", 96, 128, planar.FP16, 1, 40},
		{"pynet-random:gold,norm1=false", "pynet_gold_80x112_nonorm1.f32", 80, 112, planar.FP16, 1, 48},
	} {
		m, err := model.Load(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		want := readFloats(t, "../../testdata/golden/"+c.file)
		in := &tensor{c: 4, h: c.h, w: c.w, v: model.FormulaTensor("gold", "input", 4*c.h*c.w)}
		got := run(t, m, in, exec.Options{Precision: c.precision, Poison: true})
		worst, sum := 0.0, 0.0
		for i, v := range got.v {
			d := math.Abs(float64(v) - float64(want[i]))
			sum += d * d
			if !(d <= worst) {
				worst = d
			}
		}
		psnr := -10 * math.Log10(sum/float64(len(want)))
		t.Logf("%s %s: max abs error %.3g, PSNR %.2f dB", c.spec, c.precision, worst, psnr)
		if !(worst <= c.maxAbs) || !(psnr >= c.psnr) {
			t.Errorf("%s %s: max abs error %g (at most %g), PSNR %.2f dB (at least %g)", c.spec, c.precision, worst, c.maxAbs, psnr, c.psnr)
		}
	}
}
