package mosaic

import (
	"math"
	"testing"
)

// levelCases have every kind of black level.
func levelCases() map[string]*Meta {
	base := func() *Meta {
		m := &Meta{Width: 11, Height: 7, CFA: GBRG}
		m.SetBlack(64)
		m.White = [3]float32{1000, 2000, 3000}
		return m
	}
	out := map[string]*Meta{"one": base()}
	m := base()
	m.BlackRows, m.BlackCols, m.Black = 2, 3, []float32{1, 2, 3, 4, 5, 6}
	out["2x3"] = m
	m = base()
	m.BlackRows, m.BlackCols, m.Black = 1, 11, []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}
	out["1x11"] = m
	m = base()
	m.CFA = XTrans.Shift(1, 2)
	m.BlackRows, m.BlackCols, m.Black = 1, 4, []float32{1, 2, 3, 4}
	out["X-Trans"] = m
	m = base()
	m.CFA, m.BlackDeltaH = XTrans, []float32{0, 1, 2, 3, -4, 5, 6, 7, 8, 9, 1}
	out["X-Trans deltaH"] = m
	m = base()
	m.BlackDeltaV = []float32{0, 1, 2, 3, -4, 5, 6}
	out["deltaV"] = m
	m = base()
	m.BlackDeltaV = []float32{0, 1, 2, 3, -4, 5, 6}
	m.BlackDeltaH = []float32{0, 1, 2, 3, -4, 5, 6, 7, 8, 9, 1}
	m.BlackRows, m.BlackCols, m.Black = 2, 2, []float32{10, 20, 30, 40}
	out["all"] = m
	return out
}

// TestNormalise holds the row forms against the definition, sample by sample.
func TestNormalise(t *testing.T) {
	for name, m := range levelCases() {
		for y := range m.Height {
			for x0 := range m.Width {
				raw := make([]uint16, m.Width-x0)
				for i := range raw {
					raw[i] = uint16(i * 251)
				}
				black, got := make([]float32, len(raw)), make([]float32, len(raw)+1)
				got[len(raw)] = 42
				m.BlackRow(y, x0, black)
				m.Normalise(y, x0, raw, got)
				for i := range raw {
					b, w := m.BlackAt(y, x0+i), m.White[m.CFA.At(y, x0+i)]
					if black[i] != b {
						t.Fatalf("%s: black of row %d column %d is %g, want %g", name, y, x0+i, black[i], b)
					}
					want := (float32(raw[i]) - b) / (w - b)
					if got[i] != want {
						t.Fatalf("%s: row %d column %d is %g, want %g", name, y, x0+i, got[i], want)
					}
				}
				if got[len(raw)] != 42 {
					t.Fatalf("%s: wrote past the row", name)
				}
			}
		}
		if err := m.CheckLevels(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckLevels(t *testing.T) {
	nan := float32(math.NaN())
	for name, edit := range map[string]func(m *Meta){
		"no black":    func(m *Meta) { m.Black = nil },
		"count":       func(m *Meta) { m.BlackRows = 2 },
		"white 0":     func(m *Meta) { m.SetWhite(0) },
		"inverted":    func(m *Meta) { m.SetBlack(1000) },
		"equal":       func(m *Meta) { m.SetBlack(999); m.BlackDeltaV = []float32{0, 0, 0, 1, 0, 0, 0} },
		"delta H":     func(m *Meta) { m.BlackDeltaH = []float32{1} },
		"delta V":     func(m *Meta) { m.BlackDeltaV = []float32{1} },
		"NaN":         func(m *Meta) { m.SetBlack(nan) },
		"NaN white":   func(m *Meta) { m.White[2] = nan },
		"NaN delta":   func(m *Meta) { m.BlackDeltaV = []float32{0, 0, 0, nan, 0, 0, 0} },
		"infinite":    func(m *Meta) { m.SetWhite(float32(math.Inf(1))) },
		"no repeat":   func(m *Meta) { m.BlackCols = 0 },
		"negative":    func(m *Meta) { m.BlackRows = -1 },
		"black above": func(m *Meta) { m.SetBlack(1e9) },
	} {
		m := levelCases()["one"]
		edit(m)
		if m.CheckLevels() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func BenchmarkNormalise(b *testing.B) {
	for _, name := range []string{"one", "2x3"} {
		b.Run(name, func(b *testing.B) {
			m := levelCases()[name]
			raw, dst := make([]uint16, 6000), make([]float32, 6000)
			for b.Loop() {
				m.Normalise(1, 0, raw, dst)
			}
			b.ReportMetric(6000*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msample/s")
		})
	}
}
