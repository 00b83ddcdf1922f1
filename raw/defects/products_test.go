package defects

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestProducts: the sums of all processors are the same numbers, to the last bit.
func TestProducts(t *testing.T) {
	if !hasAVX {
		t.Skip("SKIPPED, nothing was tested: this processor makes plain sums only")
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1, 2, leastFitted, maxRows} {
		rows, weight, total := make([]fitRow, n), make([]float64, n), 0.0
		for i := range rows {
			for j := range features + 1 {
				rows[i][j] = rng.NormFloat64() * math.Exp(4*rng.NormFloat64())
			}
			weight[i] = rng.Float64()
			total += weight[i]
		}
		plain, poison := slices.Clone(rows), math.NaN()
		got, want := fitRow{poison, poison}, fitRow{}
		center(rows, weight, total, &got)
		plainCenter(plain, weight, total, &want)
		if got != want || !slices.Equal(rows, plain) {
			t.Errorf("%d rows are centred differently: means %v and %v", n, got, want)
		}
		var sums, right [features]fitRow
		for j := range sums {
			sums[j][j], right[j][j] = poison, poison
		}
		sumProducts(rows, weight, &sums)
		plainProducts(rows, weight, &right)
		for j := range sums {
			if !slices.Equal(sums[j][j:], right[j][j:]) {
				t.Errorf("%d rows, feature %d: sums %v and %v", n, j, sums[j][j:], right[j][j:])
			}
		}
	}
}
