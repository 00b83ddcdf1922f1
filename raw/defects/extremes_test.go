package defects

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// TestExtremes: the bits of a row are those of the definition, at all widths and for samples
// of both halves of the range, with plateaus.
func TestExtremes(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for width := minSide; width < minSide+70; width++ {
		for _, span := range []int{3, 65536} {
			var rows [3][]uint16
			for i := range rows {
				rows[i] = make([]uint16, width)
				for x := range rows[i] {
					rows[i][x] = uint16(rng.IntN(span)) + uint16(rng.IntN(2)*32766)
				}
			}
			above, below := make([]uint64, width/64+2), make([]uint64, width/64+2)
			extremesOf(above, below, rows[0], rows[1], rows[2])
			for x := range 64 * len(above) {
				var over, under bool
				if x < width {
					v := rows[1][x]
					l, r := within(x-2, x, width), within(x+2, x, width)
					around := []uint16{rows[1][l], rows[1][r]}
					for _, row := range [][]uint16{rows[0], rows[2]} {
						around = append(around, row[l], row[x], row[r])
					}
					over, under = v > slices.Max(around), v < slices.Min(around)
				}
				if got := above[x/64]>>(x%64)&1 == 1; got != over {
					t.Fatalf("width %d, column %d: above is %v, want %v", width, x, got, over)
				}
				if got := below[x/64]>>(x%64)&1 == 1; got != under {
					t.Fatalf("width %d, column %d: below is %v, want %v", width, x, got, under)
				}
			}
		}
	}
}
