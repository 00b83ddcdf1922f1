package winograd

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestReflect(t *testing.T) {
	for _, c := range []struct{ i, n, want int }{
		{0, 5, 0}, {4, 5, 4}, {-1, 5, 1}, {-4, 5, 4}, {5, 5, 3}, {8, 5, 0}, {9, 5, 1}, {-5, 5, 3},
		{-1, 2, 1}, {2, 2, 0}, {3, 2, 1}, {-7, 1, 0}, {7, 1, 0},
	} {
		if got := Reflect(c.i, c.n); got != c.want {
			t.Errorf("Reflect(%d, %d) = %d, want %d", c.i, c.n, got, c.want)
		}
	}
}

func TestGrid(t *testing.T) {
	for _, c := range []struct {
		tr               *Transform
		h, w, rows, cols int
	}{
		{F4x3(), 8, 8, 2, 2}, {F4x3(), 9, 7, 3, 2}, {F4x3(), 1, 1, 1, 1}, {F4x3(), 0, 5, 0, 0}, {F4x3(), 5, -1, 0, 0},
		{F6x9(), 1440, 1984, 240, 331}, {F2x3(), 3, 4, 2, 2},
	} {
		rows, cols := c.tr.Tiling().Grid(c.h, c.w)
		if rows != c.rows || cols != c.cols {
			t.Errorf("%v over %dx%d: %dx%d tiles, want %dx%d", c.tr, c.h, c.w, rows, cols, c.rows, c.cols)
		}
		if got := c.tr.Tiling().Tiles(c.h, c.w); got != int64(c.rows)*int64(c.cols) {
			t.Errorf("%v over %dx%d: %d tiles", c.tr, c.h, c.w, got)
		}
	}
}

func TestFirstRow(t *testing.T) {
	for _, c := range []struct {
		tr      *Transform
		i, want int
	}{{F4x3(), 0, -1}, {F4x3(), 2, 7}, {F4x5(), 0, -2}, {F6x9(), 1, 2}} {
		g := c.tr.Tiling()
		if y, x := g.FirstRow(c.i), g.FirstCol(c.i); y != c.want || x != c.want {
			t.Errorf("%v: tile %d begins at row %d, column %d, want %d", c.tr, c.i, y, x, c.want)
		}
	}
}

var tilings = []Tiling{F2x3().Tiling(), F4x3().Tiling(), F4x5().Tiling(), F6x7().Tiling(), F6x9().Tiling()}

// TestStripGeometry checks, for every strip of small images, that its tile rows
// cover it and no more, and that InputRows is exactly the rows that they read.
func TestStripGeometry(t *testing.T) {
	for _, g := range tilings {
		for h := 1; h <= 23; h++ {
			for y0 := 0; y0 < h; y0++ {
				for y1 := y0 + 1; y1 <= h; y1++ {
					checkStrip(t, g, h, y0, y1)
				}
			}
			if r := g.TileRows(h, h+5, h); r.Len() != 0 {
				t.Fatalf("%+v: rows beyond the image have tile rows %v", g, r)
			}
		}
	}
}

func checkStrip(t *testing.T, g Tiling, h, y0, y1 int) {
	t.Helper()
	r := g.TileRows(y0, y1, h)
	out := g.OutputRows(r, h)
	if out.From > y0 || out.To < y1 || out.From <= y0-g.M || out.To >= y1+g.M {
		t.Fatalf("%+v, rows %d..%d of %d: tile rows %v make %v", g, y0, y1, h, r, out)
	}
	if out.From%g.M != 0 || out.To%g.M != 0 && out.To != h {
		t.Fatalf("%+v: output rows %v are not on the grid", g, out)
	}
	lo, hi := h, 0
	for i := r.From; i < r.To; i++ {
		for j := range g.T() {
			if row, ok := g.SourceRow(g.FirstRow(i)+j, h); ok {
				lo, hi = min(lo, row), max(hi, row+1)
			}
		}
	}
	want := Range{lo, hi}
	if lo >= hi {
		want = Range{}
	}
	if got := g.InputRows(r, h); got != want {
		t.Fatalf("%+v, tile rows %v of %d: input rows %v, want %v", g, r, h, got, want)
	}
}

// TestTilesReadWhatOutputsNeed compares the rows given to a tile with the
// definition of the padded convolution, and asks that a zero is only ever given
// where no output inside the image depends on it.
func TestTilesReadWhatOutputsNeed(t *testing.T) {
	for _, g := range tilings {
		for h := 1; h <= 19; h++ {
			for y := range h {
				for a := range g.R {
					i := y / g.M
					padded := g.FirstRow(i) + y%g.M + a // what tile i holds for output y and tap a
					if want := y + a - g.PadY; padded != want {
						t.Fatalf("%+v: output %d tap %d reads row %d, want %d", g, y, a, padded, want)
					}
					row, ok := g.SourceRow(padded, h)
					if !ok || row != Reflect(padded, h) {
						t.Fatalf("%+v, %d rows: row %d, which output %d needs, gives %d, %v", g, h, padded, y, row, ok)
					}
				}
			}
			if _, ok := g.SourceRow(h-1-g.PadY+g.R, h); ok {
				t.Fatalf("%+v, %d rows: a row that no output needs is read", g, h)
			}
		}
	}
}

func TestScratchBytes(t *testing.T) {
	g := F4x3().Tiling()
	if got := g.VBytes(100, 32, 2); got != 36*100*32*2 {
		t.Errorf("V takes %d bytes", got)
	}
	if got := g.MBytes(100, 64, 4); got != 36*100*64*4 {
		t.Errorf("M takes %d bytes", got)
	}
	if got := g.UBytes(32, 64, 2); got != 36*32*64*2 {
		t.Errorf("U takes %d bytes", got)
	}
	if got := g.VBytes(math.MaxInt64/2, 1<<20, 4); got != math.MaxInt64 {
		t.Errorf("an overflow gives %d", got)
	}
	if got := g.VBytes(0, 1<<20, 4); got != 0 {
		t.Errorf("no tiles take %d bytes", got)
	}
}

// coversOnce checks that parts are consecutive, not empty, and cover 0..n.
func coversOnce(t *testing.T, parts []Range, n int) {
	t.Helper()
	at := 0
	for _, p := range parts {
		if p.From != at || p.Len() < 1 {
			t.Fatalf("parts %v do not continue at %d", parts, at)
		}
		at = p.To
	}
	if at != n {
		t.Fatalf("parts %v end at %d, want %d", parts, at, n)
	}
}

func TestSplitRows(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	g := F2x3().Tiling()
	for range 2000 {
		rows, cols := 1+rng.IntN(40), 1+rng.IntN(40)
		s := Scratch{C: 1 + rng.IntN(64), K: 1 + rng.IntN(64), ElemV: 2, ElemM: 4}
		one := s.Bytes(g, int64(cols))
		limit := rng.Int64N(one * int64(rows) * 2)
		parts, err := g.SplitRows(rows, cols, s, limit)
		var e *CapError
		if limit < one {
			if !errors.As(err, &e) || e.Smallest != one || e.Cap != limit {
				t.Fatalf("limit %d below one row, %d bytes: error %v", limit, one, err)
			}
			if parts, err = g.SplitRows(rows, cols, s, e.Smallest); err != nil || len(parts) != rows {
				t.Fatalf("the limit that the error names gives %v, %v", parts, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		coversOnce(t, parts, rows)
		for _, p := range parts {
			if got := s.Bytes(g, int64(p.Len())*int64(cols)); got > limit {
				t.Fatalf("part %v takes %d bytes of %d", p, got, limit)
			}
			if p.Len() < parts[0].Len()-1 {
				t.Fatalf("parts %v are uneven", parts)
			}
		}
		most := limit / one
		if fewest := (int64(rows) + most - 1) / most; int64(len(parts)) != fewest {
			t.Fatalf("%d parts where %d are enough", len(parts), fewest)
		}
	}
}

func TestSplitChannels(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 20))
	g := F4x3().Tiling()
	for range 2000 {
		tiles := 1 + rng.Int64N(50)
		s := Scratch{C: 1 + rng.IntN(130), K: 1 + rng.IntN(64), ElemV: 2, ElemM: 4}
		quantum := 1 + rng.IntN(40)
		m := g.MBytes(tiles, s.K, s.ElemM)
		smallest := m + g.VBytes(tiles, min(quantum, s.C), s.ElemV)
		limit := rng.Int64N(2 * s.Bytes(g, tiles))
		parts, err := g.SplitChannels(tiles, s, quantum, limit)
		var e *CapError
		if limit < smallest {
			if !errors.As(err, &e) || e.Smallest != smallest {
				t.Fatalf("limit %d below %d: error %v", limit, smallest, err)
			}
			if _, err = g.SplitChannels(tiles, s, quantum, e.Smallest); err != nil {
				t.Fatalf("the limit that the error names: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		coversOnce(t, parts, s.C)
		for i, p := range parts {
			if got := m + g.VBytes(tiles, p.Len(), s.ElemV); got > limit {
				t.Fatalf("part %v takes %d bytes of %d", p, got, limit)
			}
			if i < len(parts)-1 && p.Len()%quantum != 0 {
				t.Fatalf("part %v is not a multiple of %d", p, quantum)
			}
		}
		if s.Bytes(g, tiles) <= limit && len(parts) != 1 {
			t.Fatalf("%d parts though everything fits", len(parts))
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	g := F2x3().Tiling()
	ok := Scratch{C: 1, K: 1, ElemV: 4, ElemM: 4}
	huge := Scratch{C: math.MaxInt, K: math.MaxInt, ElemV: 4, ElemM: 4}
	for name, f := range map[string]func() ([]Range, error){
		"no rows":       func() ([]Range, error) { return g.SplitRows(0, 1, ok, 1000) },
		"no channels":   func() ([]Range, error) { return g.SplitRows(1, 1, Scratch{}, 1000) },
		"zero tiling":   func() ([]Range, error) { return Tiling{}.SplitRows(1, 1, ok, 1000) },
		"zero limit":    func() ([]Range, error) { return g.SplitRows(1, 1, ok, 0) },
		"minus limit":   func() ([]Range, error) { return g.SplitChannels(1, ok, 1, -5) },
		"no tiles":      func() ([]Range, error) { return g.SplitChannels(0, ok, 1, 1000) },
		"no quantum":    func() ([]Range, error) { return g.SplitChannels(1, ok, 0, 1000) },
		"huge channels": func() ([]Range, error) { return g.SplitChannels(1, huge, 1, math.MaxInt64) },
		"huge rows":     func() ([]Range, error) { return g.SplitRows(1, 1, huge, math.MaxInt64) },
	} {
		if parts, err := f(); err == nil {
			t.Errorf("%s: no error, parts %v", name, parts)
		}
	}
}
