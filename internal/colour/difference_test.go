package colour

import (
	"math"
	"testing"
)

// TestDeltaE2000 holds pairs of table 1 of Sharma, Wu and Dalal, in both orders.
func TestDeltaE2000(t *testing.T) {
	for _, tt := range [][7]float64{
		{50, 2.6772, -79.7751, 50, 0, -82.7485, 2.0425}, {50, 3.1571, -77.2803, 50, 0, -82.7485, 2.8615},
		{50, -1.3802, -84.2814, 50, 0, -82.7485, 1.0000}, {50, 0, 0, 50, -1, 2, 2.3669},
		{50, 2.49, -0.001, 50, -2.49, 0.0009, 7.1792}, {50, 2.49, -0.001, 50, -2.49, 0.0011, 7.2195},
		{50, 2.5, 0, 73, 25, -18, 27.1492}, {50, 2.5, 0, 50, 3.2592, 0.335, 1.0000},
		{60.2574, -34.0099, 36.2677, 60.4626, -34.1751, 39.4387, 1.2644},
		{2.0776, 0.0795, -1.1350, 0.9033, -0.0636, -0.5514, 0.9082}, {50, 0, 0, 50, 0, 0, 0},
	} {
		p, q := [3]float64(tt[:3]), [3]float64(tt[3:6])
		if a, b := DeltaE2000(p, q), DeltaE2000(q, p); math.Abs(a-tt[6]) > 1e-4 || math.Abs(b-tt[6]) > 1e-4 {
			t.Errorf("%v: %.4f and %.4f", tt, a, b)
		}
	}
}

// TestLab: white, black and the primaries, whose CIELAB the standard's matrix gives.
func TestLab(t *testing.T) {
	for _, tt := range [][2][3]float64{
		{{1, 1, 1}, {100, 0, 0}}, {{0, 0, 0}, {0, 0, 0}}, {{1, 0, 0}, {53.24, 80.09, 67.20}}, {{0, 0, 1}, {32.30, 79.19, -107.86}},
	} {
		got := Lab(tt[0])
		for c := range got {
			if math.Abs(got[c]-tt[1][c]) > 0.02 {
				t.Errorf("%v: %.3f, want %.3f", tt[0], got, tt[1])
				break
			}
		}
	}
}
