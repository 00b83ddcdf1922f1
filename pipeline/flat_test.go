package pipeline

import "testing"

// TestSameColour: a picture has one colour if no pixel of any row differs from the first, in any number.
func TestSameColour(t *testing.T) {
	const width, rows = 5, 3
	for _, n := range []int{3, 6} { // numbers of a pixel
		for other := -1; other < width*rows*n; other++ { // which number differs; -1: none
			var s sameColour[uint16]
			if s.everywhere() {
				t.Fatal("without rows")
			}
			for y := range rows {
				row := make([]uint16, width*n)
				for i := range row {
					row[i] = uint16(i % n)
					if y*len(row)+i == other {
						row[i] = 99
					}
				}
				s.row(row, n)
				clear(row) // it belongs to the caller
			}
			if got := s.everywhere(); got != (other < 0) {
				t.Errorf("%d numbers a pixel, number %d differs: one colour everywhere %t", n, other, got)
			}
		}
	}
}

// TestVaries: light that a picture shows in one colour, for it is darker or brighter than it shows, does
// not vary, nor does that of few places.
func TestVaries(t *testing.T) {
	for _, c := range []struct {
		name         string
		dark, bright float32
		ev           float64
		brights      int // cells of 100
		want         bool
	}{
		{"a scene", 0.1, 0.4, 0, 50, true},
		{"an even field", 0.2, 0.3, 0, 50, false},
		{"a dark frame", 0.0001, 0.002, 2.5, 50, false},
		{"a dark scene that is raised", 0.0001, 0.002, 8, 50, true},
		{"a saturated photo", 1, 1.2, 0, 50, false},
		{"a scene that is exposed until it is white", 0.1, 0.4, 10, 50, false},
		{"a scene that is exposed until it is black", 0.1, 0.4, -10, 50, false},
		{"hot pixels", 0.0001, 0.9, 0, 4, false},
	} {
		s := &lightSample{}
		for i := range 100 {
			v := c.dark
			if i < c.brights {
				v = c.bright
			}
			s.cells = append(s.cells, lightCell{mean: [3]float32{v, v, v}})
		}
		if got := s.varies(&balance{gains: [3]float64{1, 1, 1}, ev: c.ev}); got != c.want {
			t.Errorf("%s: varies %t", c.name, got)
		}
	}
	if (&lightSample{}).varies(&balance{}) {
		t.Error("without cells")
	}
}
