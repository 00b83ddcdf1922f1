package model

import (
	"math"
	"strings"
	"testing"
)

const someNoiseLeft = `{"deviation":[0.01,0.04],"left":[0.1,0.06]}`

func TestNoiseLeft(t *testing.T) {
	n, err := ParseNoiseLeft(someNoiseLeft)
	if err != nil {
		t.Fatal(err)
	}
	for deviation, want := range map[float64]float64{0.001: 0.1, 0.01: 0.1, 0.02: 0.08, 0.04: 0.06, 1: 0.06} { // interpolated in logarithms
		if left := n.Share(deviation); math.Abs(left-want) > 1e-6 {
			t.Errorf("%g of noise of %g is left, want %g", left, deviation, want)
		}
	}
}

// TestNoiseLeftOfBuiltin: networks remove noise, at every level.
func TestNoiseLeftOfBuiltin(t *testing.T) {
	for _, name := range []string{"fast", "best", "max", "any"} {
		m, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		if m.NoiseLeft == nil {
			t.Errorf("%s: nobody measured what it leaves: train/noise_left.py --write", name)
			continue
		}
		for _, deviation := range []float64{1e-3, 0.005, 0.01, 0.03, 0.1} {
			if left := m.NoiseLeft.Share(deviation); !(left < 0.35) { // any leaves 0.32 of the weakest noise, 1.3 codes of 255
				t.Errorf("%s leaves %g of noise of %g", name, left, deviation)
			}
		}
	}
}

func TestNoiseLeftRefused(t *testing.T) {
	for _, edit := range [][2]string{
		{`[0.01,0.04]`, `[0.04,0.01]`}, {`[0.01,0.04]`, `[0,0.04]`}, {`[0.01,0.04]`, `[0.01]`}, {`[0.01,0.04]`, `[]`}, {`[0.01,0.04]`, `[0.01,4]`},
		{`0.06]`, `-0.1]`}, {`0.06]`, `3]`}, {`0.06]`, `0.06,1]`}, {`0.06]`, `1e999]`}, {`0.06]`, `"x"]`}, {`0.06]`, `[0.06]]`}, {`}`, ``}, {`}`, `}}`},
		{`}`, strings.Repeat(" ", noiseLeftBytes) + `}`},
	} {
		text := strings.Replace(someNoiseLeft, edit[0], edit[1], 1)
		if text == someNoiseLeft {
			t.Errorf("%q is not there", edit[0])
		}
		if n, err := ParseNoiseLeft(text); err == nil || !strings.Contains(err.Error(), metaNoiseLeft) {
			t.Errorf("%s for %s: %v, %v", edit[1], edit[0], n, err)
		}
	}
}
