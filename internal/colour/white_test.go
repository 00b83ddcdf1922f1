package colour

import (
	"errors"
	"math"
	"testing"
)

// camera550D is a published matrix.
var camera550D = Facts{ColorMatrix1: &typicalSensor, Illuminant1: 21}

func TestTemperatureAndTint(t *testing.T) {
	for _, kelvin := range []float64{1700, 2000, 2856, 4000, 5500, 6504, 10000, 30000} {
		for _, tint := range []float64{-40, 0, 10, 60} {
			k, tt := WithTemperature(kelvin, tint).TemperatureTint()
			if math.Abs(k/kelvin-1) > 0.01 || math.Abs(tt-tint) > 0.5 {
				t.Errorf("%g K, tint %g: comes back as %.1f K, tint %.2f", kelvin, tint, k, tt)
			}
		}
	}
	// Daylight is greener than a black body of its temperature: D65 by 0.0032 in CIE 1960.
	if k, tint := D65.TemperatureTint(); math.Abs(k-6504) > 5 || math.Abs(tint-9.6) > 0.5 {
		t.Errorf("D65: %.0f K, tint %.2f", k, tint)
	}
	if k, tint := (Chromaticity{}).TemperatureTint(); math.IsNaN(k) || math.IsNaN(tint) {
		t.Errorf("no colour: %g K, tint %g", k, tint)
	}
}

// TestGainsFor: the gains for a light are those whose matrix finds that light again.
func TestGainsFor(t *testing.T) {
	for name, white := range Lights {
		gains, err := GainsFor(camera550D, white)
		if err != nil {
			t.Fatal(err)
		}
		_, info, err := CameraToSRGB(camera550D, gains)
		if err != nil || math.Abs(info.White.X-white.X) > 1e-6 || math.Abs(info.White.Y-white.Y) > 1e-6 {
			t.Errorf("%s: gains %.3f are those of %+v, %v", name, gains, info.White, err)
		}
	}
	if _, err := GainsFor(Facts{}, D65); !errors.Is(err, ErrNoMatrix) {
		t.Errorf("without a matrix: %v", err)
	}
	if _, err := GainsFor(Facts{ColorMatrix1: &Matrix{{-1, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, D65); !errors.Is(err, ErrNeutral) {
		t.Errorf("a matrix that gives no light: %v", err)
	}
}

// shades are grey patches of some brightnesses under a light.
func shades(white Chromaticity, n int) (all [][3]float64) {
	neutral := Apply(typicalSensor, white.XYZ())
	for i := range n {
		var p [3]float64
		for c := range p {
			p[c] = neutral[c] * (0.05 + 0.6*float64(i)/float64(n))
		}
		all = append(all, p)
	}
	return all
}

func TestAutoWB(t *testing.T) {
	for name, white := range Lights {
		want, _ := GainsFor(camera550D, white)
		got, err := AutoWB(shades(white, 100), camera550D, [3]float64{})
		if err != nil {
			t.Fatal(err)
		}
		for c := range want {
			if math.Abs(got[c]/want[c]-1) > 0.08 {
				t.Errorf("%s: gains %.3f, want %.3f", name, got, want)
				break
			}
		}
	}
	for name, patches := range map[string][][3]float64{"None": nil, "Black": {{0, 0, 0}}, "Clipped": {{1, 1, 1}}} {
		if _, err := AutoWB(patches, camera550D, [3]float64{}); !errors.Is(err, ErrNoStatistics) {
			t.Errorf("%s: %v, want ErrNoStatistics", name, err)
		}
	}
	if g, err := AutoWB(shades(D65, 10), Facts{}, [3]float64{}); err != nil || !(g[0] > 0 && g[2] > 0) {
		t.Errorf("without a matrix: %v, %v", g, err)
	}
}

// TestAutoWBMixedLight: where half of a picture is under one light and half under another,
// the camera's choice draws the estimate.
func TestAutoWBMixedLight(t *testing.T) {
	mixed := append(shades(Lights["tungsten"], 100), shades(Lights["shade"], 100)...)
	tungsten, _ := GainsFor(camera550D, Lights["tungsten"])
	shade, _ := GainsFor(camera550D, Lights["shade"])
	nearTungsten, err := AutoWB(mixed, camera550D, tungsten)
	if err != nil {
		t.Fatal(err)
	}
	nearShade, _ := AutoWB(mixed, camera550D, shade)
	if !(nearTungsten[2] > 1.15*nearShade[2]) {
		t.Errorf("as-shot tungsten gives %.3f, shade %.3f", nearTungsten, nearShade)
	}
	alone, _ := AutoWB(shades(Lights["shade"], 100), camera550D, tungsten)
	if math.Abs(alone[2]/shade[2]-1) > 0.3 {
		t.Errorf("a camera that was wrong draws a clear case to %.3f from %.3f", alone, shade)
	}
}
