package pipeline

import (
	"context"
	"testing"

	"enhance/pipeline/facts"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// TestTablesGiveThePlanes: for every phase, in odd sizes and from odd corners, the tables make
// of the samples exactly the planes that Row makes.
func TestTablesGiveThePlanes(t *testing.T) {
	conv := normalised
	conv.NoisePlanes = 4
	told := &facts.Noise{Levels: noiseLevels(2e-3, 4e-5, 1e-3, 1e-5, 3e-3, 9e-5), Denoise: 0.5}
	for phase := range 4 {
		for _, c := range []struct {
			w, h int
			crop mosaic.Rect
		}{{2, 2, mosaic.Rect{}}, {3, 5, mosaic.Rect{}}, {37, 23, mosaic.Rect{}}, {121, 40, mosaic.Rect{X0: 43, Y0: 3, X1: 60, Y1: 38}}, {40, 301, mosaic.Rect{X0: 1, Y0: 35, X1: 40, Y1: 300}}} {
			photo := opened(t, mosaic.RGGB.Shift(phase/2, phase%2), c.w, c.h, c.crop)
			m := photo.Meta()
			m.BlackRows, m.BlackCols, m.Black = 2, 2, []float32{4000, 4100, 4200, 4300}
			if !(&input{photo: photo, meta: m}).samplesServe(&conv) {
				t.Fatal("samples do not serve")
			}
			g := layout(m, &conv)
			a := newReadAhead(context.Background(), photo, g.region, 0, nil, nil)
			defer a.close()
			s := newSource(a, g, &conv, newLevels(m, &conv, [3]float64{2, 1, 1.5}, told, nil))
			tables, err := s.Tables()
			if err != nil || len(tables) != 8 {
				t.Fatalf("%d tables: %v", len(tables), err)
			}
			checkTables(t, s, tables)
		}
	}
}

func checkTables(t *testing.T, s *source, tables [][]float32) {
	t.Helper()
	for y0 := 0; y0 < s.geo.h; y0 += 7 {
		rows, err := s.Rows(y0, min(y0+7, s.geo.h))
		if err != nil {
			t.Fatal(err)
		}
		for y := y0; y < min(y0+7, s.geo.h); y++ {
			lines := [2][]uint16{make([]uint16, 2*s.geo.w), make([]uint16, 2*s.geo.w)}
			planes := make([][]float32, len(tables))
			for k := range planes {
				planes[k] = poisoned(s.geo.w)
			}
			rows.Row(y, planes)
			rows.(*sourceRows).Samples(y, lines)
			for k, plane := range planes {
				at := s.pack[k%4]
				for x, want := range plane {
					if got := tables[k][lines[at[0]][2*x+at[1]]]; got != want {
						t.Fatalf("%+v: plane %d, row %d, column %d is %g by the table, %g by the source", s.geo, k, y, x, got, want)
					}
				}
			}
		}
		if err := rows.End(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestSamplesServe: where a plane depends on more than the sample, the host makes it.
func TestSamplesServe(t *testing.T) {
	conv := normalised
	for name, c := range map[string]struct {
		change func(m *raw.Meta)
		want   bool
	}{
		"Bayer":                     {func(*raw.Meta) {}, true},
		"black levels of a quad":    {func(m *raw.Meta) { m.BlackRows, m.BlackCols, m.Black = 2, 2, make([]float32, 4) }, true},
		"black levels of more":      {func(m *raw.Meta) { m.BlackRows, m.BlackCols, m.Black = 1, 4, make([]float32, 4) }, false},
		"black levels of every row": {func(m *raw.Meta) { m.BlackDeltaV = make([]float32, m.Height) }, false},
		"colours of every pixel":    {func(m *raw.Meta) { m.Linear = true }, false},
	} {
		m := *opened(t, mosaic.RGGB, 8, 8, mosaic.Rect{}).Meta()
		c.change(&m)
		if got := (&input{meta: &m}).samplesServe(&conv); got != c.want {
			t.Errorf("%s: samples serve: %v", name, got)
		}
	}
	if (&input{meta: &raw.Meta{CFA: mosaic.RGGB}}).samplesServe(&maskedConvention) {
		t.Error("samples serve for masked planes")
	}
}
