package colour

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSortLevels(t *testing.T) {
	for _, n := range []int{0, 1, 2, 1000} {
		levels := make([]float64, n)
		for i := range levels {
			levels[i] = math.Exp(20*rand.Float64()-10) * float64(rand.IntN(3))
		}
		want := slices.Clone(levels)
		slices.Sort(want)
		if sortLevels(levels); !slices.Equal(levels, want) {
			t.Errorf("%d levels are not sorted", n)
		}
	}
}

func BenchmarkBrightness(b *testing.B) {
	levels, kept := make([]float64, 36000), make([]float64, 36000)
	for i := range kept {
		kept[i] = rand.Float64()
	}
	for b.Loop() {
		copy(levels, kept)
		NewBrightness(levels)
	}
}
