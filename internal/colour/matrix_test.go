package colour

import (
	"errors"
	"math"
	"testing"
)

func TestInverse(t *testing.T) {
	got, err := Inverse(Matrix{{2, 0, 1}, {1, 1, 0}, {0, 3, 1}})
	if err != nil {
		t.Fatal(err)
	}
	near(t, "by hand", got, Matrix{{0.2, 0.6, -0.2}, {-0.2, 0.4, 0.2}, {0.6, -1.2, 0.4}}, 1e-15)
	for _, m := range []Matrix{canon550D, SRGBToXYZ(), Diagonal([3]float64{1e-8, 2e-8, 3e-8})} {
		inv, err := Inverse(m)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "m times its inverse", Mul(m, inv), Identity(), 1e-13)
	}
	for _, m := range []Matrix{{}, {{1, 2, 3}, {4, 5, 6}, {7, 8, 9}}, Diagonal([3]float64{math.Inf(1), 1, 1})} {
		if _, err := Inverse(m); !errors.Is(err, ErrSingular) {
			t.Errorf("Inverse(%v): %v, want ErrSingular", m, err)
		}
	}
}

// TestPublishedMatrices holds the derivations against figures in print.
func TestPublishedMatrices(t *testing.T) {
	// IEC 61966-2-1, equation 7 (white x 0.3127, y 0.3290), four places.
	near(t, "sRGB to XYZ", SRGBToXYZ(), Matrix{
		{0.4124, 0.3576, 0.1805}, {0.2126, 0.7152, 0.0722}, {0.0193, 0.1192, 0.9505}}, 6e-5)
	// The colorants of the ICC's sRGB2014 profile.
	near(t, "sRGB colorants", SRGBToXYZD50(), Matrix{
		{0.43607, 0.38515, 0.14307}, {0.22249, 0.71687, 0.06061}, {0.01392, 0.09708, 0.71410}}, 2e-4)
	// Lindbloom's Bradford D65 to D50, for the whites of ASTM E308.
	d65, d50 := chromaticityOf([3]float64{0.95047, 1, 1.08883}), chromaticityOf([3]float64{0.96422, 1, 0.82521})
	near(t, "D65 to D50", Adapt(d65, d50), Matrix{
		{1.0478112, 0.0228866, -0.0501270}, {0.0295424, 0.9904844, -0.0170491}, {-0.0092345, 0.0150436, 0.7521316}}, 1e-6)
}

func TestAdapt(t *testing.T) {
	near(t, "to itself", Adapt(D50, D50), Identity(), 1e-15)
	a := Chromaticity{0.44757, 0.40745}
	got, want := Apply(Adapt(a, D65), a.XYZ()), D65.XYZ()
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Fatalf("white adapts to %v, want %v", got, want)
		}
	}
	for _, row := range Adapt(Chromaticity{}, Chromaticity{1, 1e-9}) {
		for _, v := range row {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("absurd whites give %v", row)
			}
		}
	}
}

func TestTemperature(t *testing.T) {
	tests := []struct {
		name string
		c    Chromaticity
		want float64
		tol  float64 // Robertson's interpolation is good to a few kelvin
	}{
		{"A", Chromaticity{0.44757, 0.40745}, 2856, 3},
		{"D50", Chromaticity{0.34567, 0.35850}, 5003, 4},
		{"D55", Chromaticity{0.33242, 0.34743}, 5503, 4},
		{"D65", Chromaticity{0.31271, 0.32902}, 6504, 5},
		{"D75", Chromaticity{0.29902, 0.31485}, 7504, 6},
		{"Planck2000", Chromaticity{0.52669, 0.41331}, 2000, 3},
		{"Planck10000", Chromaticity{0.28063, 0.28829}, 10000, 25},
		{"Infinite", Chromaticity{0.2399, 0.2341}, 100000, 0},
		{"Reddest", Chromaticity{0.7, 0.3}, 1e6 / 600.0, 1e-9},
		{"NotAColour", Chromaticity{10, 0}, 1e6 / 600.0, 1e-9},
	}
	for _, tt := range tests {
		if got := tt.c.Temperature(); !(math.Abs(got-tt.want) <= tt.tol) {
			t.Errorf("%s: %.1f K, want %.0f", tt.name, got, tt.want)
		}
	}
	if got := (Chromaticity{math.NaN(), 0.3}).Temperature(); math.IsNaN(got) {
		t.Error("NaN in, NaN out")
	}
}

func TestLightSources(t *testing.T) {
	for code, want := range map[int]float64{0: 0, 255: 0, -1: 0, 17: 2856, 21: 6500, 23: 5000, 14: 4150} {
		if got := LightSourceTemperature(code); got != want {
			t.Errorf("code %d: %.0f K, want %.0f", code, got, want)
		}
	}
}
