package mosaic

import (
	"math"
	"strings"
	"testing"
)

func TestPixelAspect(t *testing.T) {
	for _, c := range []struct {
		ratio float64
		w, h  int
		note  string
	}{
		{1, 100, 50, ""}, {1.004, 100, 50, ""}, {1.5, 150, 50, "stretched"}, {0.5, 100, 100, "stretched"}, {4, 400, 50, "stretched"},
		{0, 100, 50, "not believed"}, {-1, 100, 50, "not believed"}, {9, 100, 50, "not believed"}, {math.NaN(), 100, 50, "not believed"}, {math.Inf(1), 100, 50, "not believed"},
	} {
		m := &Meta{}
		m.SetPixelAspect(c.ratio)
		if w, h := m.SquareSize(100, 50); w != c.w || h != c.h {
			t.Errorf("%g: %dx%d, want %dx%d", c.ratio, w, h, c.w, c.h)
		}
		if got := strings.Join(m.Warnings, " "); !strings.Contains(got, c.note) || (got == "") != (c.note == "") {
			t.Errorf("%g: %q", c.ratio, got)
		}
	}
}
