package exec_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/mma"
	"enhance/conv/wgmma"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
)

// TestUnitsGolden runs PyNET in fp16 on the device's matrix units, with and without
// warpgroups, against the float64 golden output: under plans of several kinds the
// same bytes, and most of the convolutions where they belong.
func TestUnitsGolden(t *testing.T) {
	dev := convtest.Device(t)
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	matrix := convtest.Has(t, mma.Probe, ctx)
	units := []string{"mma"}
	if matrix && convtest.Has(t, wgmma.Probe, ctx) {
		units = append(units, "wgmma")
	}
	if !matrix {
		t.Skipf("SKIPPED, nothing was tested: %s has no matrix units", dev.Info().Name)
	}
	for _, unit := range units {
		for _, c := range []struct {
			spec, file string
			h, w       int
			psnr       float64
		}{
			{"pynet-random:gold", "pynet_gold_96x128.f32", 96, 128, 40},
			{"pynet-random:gold,norm1=false", "pynet_gold_80x112_nonorm1.f32", 80, 112, 48},
		} {
			t.Run(unit+"/"+c.spec, func(t *testing.T) {
				m, err := model.Load(c.spec)
				if err != nil {
					t.Fatal(err)
				}
				opt := exec.Options{Precision: planar.FP16, Units: conv.Units{Matrix: true, Warpgroup: unit == "wgmma"}, Poison: true}
				job, err := exec.Prepare(m, c.h, c.w, dev.Info(), opt)
				if err != nil {
					t.Fatal(err)
				}
				on, convs := 0, 0
				for i := range job.Program.Steps {
					if a := job.Algo(i); a != "" {
						convs++
						if strings.HasPrefix(a, unit) {
							on++
						}
					}
				}
				if on < convs/4 {
					t.Errorf("%d of %d convolutions by %s", on, convs, unit)
				}
				want := readFloats(t, "../../testdata/golden/"+c.file)
				in := &tensor{c: 4, h: c.h, w: c.w, v: model.FormulaTensor("gold", "input", 4*c.h*c.w)}
				first := run(t, m, in, opt).v
				sum := 0.0
				for i, v := range first {
					d := float64(v) - float64(want[i])
					sum += d * d
				}
				psnr := -10 * math.Log10(sum/float64(len(want)))
				t.Logf("%d of %d convolutions by %s, PSNR %.2f dB", on, convs, unit, psnr)
				if !(psnr >= c.psnr) {
					t.Errorf("PSNR %.2f dB, want %g at least", psnr, c.psnr)
				}
				whole, rows, few := opt, opt, opt
				whole.WholePlanes, rows.Rows, few.Budget = true, 16, memplan.Limit(job.Plan.Peak*3/4)
				for _, other := range []exec.Options{whole, rows, few} {
					if _, err := exec.Prepare(m, c.h, c.w, dev.Info(), other); err != nil {
						t.Logf("budget %d, rows %d: %v", other.Budget.Bytes(), other.Rows, err)
						continue
					}
					if got := run(t, m, in, other).v; !slices.Equal(got, first) {
						t.Errorf("whole planes %v, rows %d, budget %d: other results", other.WholePlanes, other.Rows, other.Budget.Bytes())
					}
				}
			})
		}
	}
}
