package defects

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"enhance/raw/mosaic"
)

// scattered is a list of n places of a photo, some of them more than once.
func scattered(t testing.TB, n, width, height int) *List {
	rng := rand.New(rand.NewPCG(uint64(n), 6))
	var lines strings.Builder
	for range n {
		fmt.Fprintf(&lines, "%d %d\n", rng.IntN(width), rng.IntN(height))
	}
	list, err := ReadList(strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestMarks: around every sample the bits are those of the places that the list has there, or
// where they are reflected.
func TestMarks(t *testing.T) {
	for _, size := range [][2]int{{minSide, minSide}, {64, 24}, {97, 40}} {
		width, height := size[0], size[1]
		for _, n := range []int{1, width, width * height} {
			list := scattered(t, n, width, height).at("")
			slices.SortFunc(list, comparePlaces)
			listed := map[Place]bool{}
			for _, p := range list {
				listed[p] = true
			}
			var m marks
			m.begin(list, 0, height, width) // of which nothing must be left
			m.begin(list, 3, height-2, width)
			for y := 3; y < height-2; y++ {
				for x := range width {
					if m.has(y, x) != listed[Place{y, x}] {
						t.Fatalf("%v, %d places: row %d column %d: listed %t", size, n, y, x, m.has(y, x))
					}
					want := uint32(0)
					for j := range patchSide {
						if listed[Place{y, mirror(x+j-reach, width)}] {
							want |= 1 << j
						}
					}
					if got := m.around(y, x); got != want {
						t.Fatalf("%v, %d places: around row %d column %d %023b, want %023b", size, n, y, x, got, want)
					}
				}
			}
		}
	}
}

// TestListedPlain: behind other filter arrays a sample gets the mean of the good ones of its
// colour in the smallest square that has some.
func TestListedPlain(t *testing.T) {
	s := expose(60, 50, hills, 2e-4, 2e-7, 1)
	s.meta.CFA = mosaic.XTrans
	list := scattered(t, 4000, 60, 50) // three of four samples
	listed := map[Place]bool{}
	for _, p := range list.at("") {
		listed[p] = true
	}
	out, _ := s.repaired(t, list)
	for y := range 50 {
		for x := range 60 {
			want := s.samples[y*60+x]
			for far := 1; far <= reach && listed[Place{y, x}]; far++ {
				sum, count := 0, 0
				for i, v := range s.samples {
					yy, xx := i/60, i%60
					if max(yy-y, y-yy, xx-x, x-xx) <= far && mosaic.XTrans.At(yy, xx) == mosaic.XTrans.At(y, x) && !listed[Place{yy, xx}] {
						sum, count = sum+int(v), count+1
					}
				}
				if count > 0 {
					want = uint16((sum + count/2) / count)
					break
				}
			}
			if got := out.samples[y*60+x]; got != want {
				t.Fatalf("row %d column %d is %d, want %d", y, x, got, want)
			}
		}
	}
}

// BenchmarkListed measures lists of a hundred and of as many places as there may be, in 24 megapixels.
func BenchmarkListed(b *testing.B) {
	for _, n := range []int{100, maxEntries} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			m, read := large(expose(512, 512, hills, 2e-4, 2e-7, 1))
			list := scattered(b, n, m.Width, m.Height)
			const strip = 512
			dst := make([]uint16, strip*m.Width)
			for b.Loop() {
				r := New(&m, read, list)
				for y := 0; y < m.Height; y += strip {
					if err := r.ReadRows(y, strip, dst); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed())/float64(b.N)/float64(time.Millisecond), "ms/photo")
		})
	}
}
