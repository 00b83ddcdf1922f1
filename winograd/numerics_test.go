package winograd

import (
	"math"
	"testing"

	"enhance/internal/planar"
)

// TestErrorClasses pins the size of the error, C = 64. The numbers for points
// 0, ±√½, ±√2 and 0, ±1, ±2 were known before this package; the nested ones show
// what symmetric points for F(3,3) bring (asymmetric ones give 2.9e-3).
func TestErrorClasses(t *testing.T) {
	sets := allSets(t)
	for _, c := range []struct {
		name       string
		fp16, fp32 float64
	}{
		{"F2x3", 5.2e-4, 2.6e-7},
		{"F4x3 root", 1.5e-3, 8e-7},
		{"F4x3 integer", 3.3e-3, 1.8e-6},
		{"F4x3", 1.4e-3, 8e-7},
		{"F3x3", 8e-4, 4.2e-7},
		{"F2x5", 1.6e-3, 8.6e-7},
		{"F4x5", 5.7e-3, 3e-6},
		{"F6x5", 8.8e-4, 4.9e-7},
		{"F6x7", 1.2e-3, 7e-7},
		{"F6x9", 1.3e-3, 7.4e-7},
	} {
		for _, s := range []planar.Precision{planar.FP16, planar.FP32} {
			want := c.fp16
			if s == planar.FP32 {
				want = c.fp32
			}
			got, err := ErrorOf(sets[c.name], s, 64)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(got-want) > 0.3*want {
				t.Errorf("%s %v: error %.2e, want %.2e ± 30 %%", c.name, s, got, want)
			}
		}
	}
	got, err := DirectError(3, planar.FP16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(got-2e-4) > 0.6e-4 {
		t.Errorf("direct fp16: error %.2e, want 2e-4 ± 30 %%", got)
	}
}

func TestErrorIsDeterministic(t *testing.T) {
	a, err := ErrorOf(F2x3(), planar.FP16, 3)
	if err != nil {
		t.Fatal(err)
	}
	b, err := ErrorOf(F2x3(), planar.FP16, 3)
	if err != nil || a != b {
		t.Errorf("two runs give %g and %g (%v)", a, b, err)
	}
}

func TestErrorRefusesChannels(t *testing.T) {
	for _, c := range []int{0, -1, maxErrorC + 1} {
		if _, err := ErrorOf(F2x3(), planar.FP32, c); err == nil {
			t.Errorf("%d channels: no error", c)
		}
		if _, err := DirectError(3, planar.FP32, c); err == nil {
			t.Errorf("direct, %d channels: no error", c)
		}
	}
	if _, err := DirectError(0, planar.FP32, 1); err == nil {
		t.Error("no taps: no error")
	}
}

// TestNoiseGainPredicts: with fp16 storage the roundings of U and V dominate, each
// with the relative error 2.05e-4 of one binary16 number, and the result is
// rounded once more.
func TestNoiseGainPredicts(t *testing.T) {
	const half = 2.05e-4
	for _, name := range []string{"F2x3", "F4x3", "F4x3 integer", "F2x5", "F4x5", "F6x9"} {
		tr := allSets(t)[name]
		got, err := ErrorOf(tr, planar.FP16, 32)
		if err != nil {
			t.Fatal(err)
		}
		// 0 and ±1 rows of G round nothing, so the prediction is a little high.
		want := half * math.Sqrt(2*tr.NoiseGain()*tr.NoiseGain()+1)
		if got > 1.15*want || got < 0.7*want {
			t.Errorf("%s: error %.2e, predicted %.2e", name, got, want)
		}
	}
}

func BenchmarkErrorF4x3(b *testing.B) {
	tr := F4x3()
	var e float64
	for b.Loop() {
		var err error
		if e, err = ErrorOf(tr, planar.FP16, 64); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(e*1e6, "error-ppm")
}
