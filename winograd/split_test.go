package winograd

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

func TestScratchBytes(t *testing.T) {
	s := Scratch{N: F4x3().N, C: 32, K: 64, ElemV: 2, ElemM: 4}
	if got := s.VBytes(100); got != 36*100*32*2 {
		t.Errorf("V takes %d bytes", got)
	}
	if got := s.MBytes(100); got != 36*100*64*4 {
		t.Errorf("M takes %d bytes", got)
	}
	if got := s.VBytes(math.MaxInt64 / 2); got != math.MaxInt64 {
		t.Errorf("an overflow gives %d", got)
	}
	if got := s.VBytes(0); got != 0 {
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
	for range 2000 {
		rows, cols := 1+rng.IntN(40), 1+rng.IntN(40)
		s := Scratch{N: F2x3().N, C: 1 + rng.IntN(64), K: 1 + rng.IntN(64), ElemV: 2, ElemM: 4}
		one := s.Bytes(int64(cols))
		limit := rng.Int64N(one * int64(rows) * 2)
		parts, err := s.SplitRows(rows, cols, limit)
		var e *CapError
		if limit < one {
			if !errors.As(err, &e) || e.Smallest != one || e.Cap != limit {
				t.Fatalf("limit %d below one row, %d bytes: error %v", limit, one, err)
			}
			if parts, err = s.SplitRows(rows, cols, e.Smallest); err != nil || len(parts) != rows {
				t.Fatalf("the limit that the error names gives %v, %v", parts, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		coversOnce(t, parts, rows)
		for _, p := range parts {
			if got := s.Bytes(int64(p.Len()) * int64(cols)); got > limit {
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
	for range 2000 {
		tiles := 1 + rng.Int64N(50)
		s := Scratch{N: F4x3().N, C: 1 + rng.IntN(130), K: 1 + rng.IntN(64), ElemV: 2, ElemM: 4}
		quantum := 1 + rng.IntN(40)
		m := s.MBytes(tiles)
		smallest := m + s.part(min(quantum, s.C)).VBytes(tiles)
		limit := rng.Int64N(2 * s.Bytes(tiles))
		parts, err := s.SplitChannels(tiles, quantum, limit)
		var e *CapError
		if limit < smallest {
			if !errors.As(err, &e) || e.Smallest != smallest {
				t.Fatalf("limit %d below %d: error %v", limit, smallest, err)
			}
			if _, err = s.SplitChannels(tiles, quantum, e.Smallest); err != nil {
				t.Fatalf("the limit that the error names: %v", err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		coversOnce(t, parts, s.C)
		for i, p := range parts {
			if got := m + s.part(p.Len()).VBytes(tiles); got > limit {
				t.Fatalf("part %v takes %d bytes of %d", p, got, limit)
			}
			if i < len(parts)-1 && p.Len()%quantum != 0 {
				t.Fatalf("part %v is not a multiple of %d", p, quantum)
			}
		}
		if s.Bytes(tiles) <= limit && len(parts) != 1 {
			t.Fatalf("%d parts though everything fits", len(parts))
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	ok := Scratch{N: 4, C: 1, K: 1, ElemV: 4, ElemM: 4}
	huge := Scratch{N: 4, C: math.MaxInt, K: math.MaxInt, ElemV: 4, ElemM: 4}
	for name, f := range map[string]func() ([]Range, error){
		"no rows":       func() ([]Range, error) { return ok.SplitRows(0, 1, 1000) },
		"no channels":   func() ([]Range, error) { return Scratch{}.SplitRows(1, 1, 1000) },
		"no side":       func() ([]Range, error) { return Scratch{C: 1, K: 1, ElemV: 4, ElemM: 4}.SplitRows(1, 1, 1000) },
		"zero limit":    func() ([]Range, error) { return ok.SplitRows(1, 1, 0) },
		"minus limit":   func() ([]Range, error) { return ok.SplitChannels(1, 1, -5) },
		"no tiles":      func() ([]Range, error) { return ok.SplitChannels(0, 1, 1000) },
		"no quantum":    func() ([]Range, error) { return ok.SplitChannels(1, 0, 1000) },
		"huge channels": func() ([]Range, error) { return huge.SplitChannels(1, 1, math.MaxInt64) },
		"huge rows":     func() ([]Range, error) { return huge.SplitRows(1, 1, math.MaxInt64) },
	} {
		if parts, err := f(); err == nil {
			t.Errorf("%s: no error, parts %v", name, parts)
		}
	}
}
