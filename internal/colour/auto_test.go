package colour

import (
	"errors"
	"math"
	"testing"
)

const bins = 4096

func TestQuantile(t *testing.T) {
	h := Histogram{0, 2, 0, 2}
	for q, want := range map[float64]float64{0: 0.25, 0.25: 0.375, 0.5: 0.5, 0.75: 0.875, 1: 1, 7: 1, -1: 0.25} {
		if got := h.Quantile(q); got != want {
			t.Errorf("quantile %g: %g, want %g", q, got, want)
		}
	}
	if !math.IsNaN(Histogram{}.Quantile(0.5)) {
		t.Error("the quantile of nothing is a number")
	}
}

func TestAutoExposure(t *testing.T) {
	at := func(v float64) Histogram {
		h := make(Histogram, bins)
		h[int(v*bins)] = 1
		return h
	}
	tests := []struct {
		name string
		h    Histogram
		want float64
	}{
		{"TwoStops", at(0.75 / 4), 2},
		{"Right", at(0.75), 0},
		{"Bright", at(0.999), 0},
		{"Night", at(0.001), maxExposureEV},
		{"Black", at(0), maxExposureEV},
	}
	for _, tt := range tests {
		got, err := AutoExposure(tt.h)
		if err != nil || math.Abs(got-tt.want) > 0.01 {
			t.Errorf("%s: %.3f EV, %v; want %g", tt.name, got, err, tt.want)
		}
	}
	// 1 % of the samples may lie above the target, specular lights for instance.
	h := make(Histogram, bins)
	h[bins/8], h[bins-1] = 9901, 99
	if got, _ := AutoExposure(h); math.Abs(got-math.Log2(6)) > 0.01 {
		t.Errorf("highlights under 1 %% count: %.3f EV", got)
	}
	if _, err := AutoExposure(nil); !errors.Is(err, ErrNoStatistics) {
		t.Errorf("nil: %v, want ErrNoStatistics", err)
	}
}
