package model

import (
	"math"
	"strings"
	"testing"
)

const someNoiseLeft = `{"deviation":[0.01,0.04],"told":[0,0.25,0.5,1],"left":[[1,0.8,0.4,0.1],[0.6,0.2,0.1,0.12]]}`

func TestNoiseLeft(t *testing.T) {
	n, err := ParseNoiseLeft(someNoiseLeft)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ deviation, denoise, told, left float64 }{
		{0.01, 0, 0, 1}, {0.01, 1, 1, 0.1},
		{0.001, 0.5, 0.4375, 0.5}, {0.01, 0.5, 0.4375, 0.5}, {0.01, 0.2, 0.25, 0.8}, {0.01, 0.95, 1, 0.1},
		{0.04, 0.5, 0.0625, 0.5}, {1, 0.5, 0.0625, 0.5}, {0.04, 0.4, 0, 0.6}, {0.04, 0.3, 0, 0.6}, // as much as it can leave
		{0.04, 0.89, 0.475, 0.11}, {0.04, 0.95, 1, 0.12}, {0.04, 1, 1, 0.12}, {0.04, -1, 0, 0.6}, {0.04, 2, 1, 0.12},
		{0.02, 0, 0, 0.8}, {0.02, 0.5, 0.25, 0.5}, // half way between both, in logarithms
	} {
		told := n.ToldFor(c.deviation, c.denoise)
		if left := n.Share(c.deviation, told); math.Abs(told-c.told) > 1e-4 || math.Abs(left-c.left) > 1e-3 {
			t.Errorf("%g of %g: told %g, left %g, want %g and %g", c.denoise, c.deviation, told, left, c.told, c.left)
		}
	}
}

// TestNoiseLeftOfBuiltin: more of the noise is removed the more is asked for, at every level, and
// what is left is what was asked for, where the network can.
func TestNoiseLeftOfBuiltin(t *testing.T) {
	for _, name := range []string{"fast", "best", "max", "any"} {
		m, err := Load(name)
		if err != nil {
			t.Fatal(err)
		}
		n := m.NoiseLeft
		if n == nil {
			t.Errorf("%s: nobody measured what it leaves: train/noise_left.py --write", name)
			continue
		}
		for _, deviation := range []float64{1e-3, 0.005, 0.01, 0.03, 0.1} {
			all, none, last := n.Share(deviation, 1), n.Share(deviation, 0), -1.0
			if !(none > 0.3 && all < 0.35) { // any leaves 0.32 of the weakest noise, 1.3 codes of 255
				t.Errorf("%s, %g: leaves %g, and %g of noise that it is not told of", name, deviation, all, none)
			}
			for d := range 11 {
				told := n.ToldFor(deviation, float64(d)/10)
				want := min(max(1-float64(d)/10, all), none)
				if left := n.Share(deviation, told); told < last || math.Abs(left-want) > 0.01 {
					t.Errorf("%s, %g, denoise %g: told %g after %g, left %g, want %g", name, deviation, float64(d)/10, told, last, left, want)
				}
				last = told
			}
		}
	}
}

func TestNoiseLeftRefused(t *testing.T) {
	for _, edit := range [][2]string{
		{`[0.01,0.04]`, `[0.04,0.01]`}, {`[0.01,0.04]`, `[0,0.04]`}, {`[0.01,0.04]`, `[0.01]`}, {`[0.01,0.04]`, `[]`}, {`[0.01,0.04]`, `[0.01,4]`},
		{`[0,0.25,0.5,1]`, `[0,0.25,0.5,0.9]`}, {`[0,0.25,0.5,1]`, `[0,0.5,0.5,1]`}, {`[0,0.25,0.5,1]`, `[0,1]`}, {`[0,0.25,0.5,1]`, `[]`},
		{`0.12]`, `-0.1]`}, {`0.12]`, `3]`}, {`0.12]`, `0.12,1]`}, {`0.12]`, `1e999]`}, {`0.12]`, `"x"]`}, {`}`, ``}, {`}`, `}}`},
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
