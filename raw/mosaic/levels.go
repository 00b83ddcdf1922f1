package mosaic

import (
	"fmt"
	"math"
)

// BlackAt returns the black level of the sample at row y, column x.
func (m *Meta) BlackAt(y, x int) float32 {
	b := m.Black[(y%m.BlackRows)*m.BlackCols+x%m.BlackCols]
	if m.BlackDeltaV != nil {
		b += m.BlackDeltaV[y]
	}
	if m.BlackDeltaH != nil {
		b += m.BlackDeltaH[x]
	}
	return b
}

// BlackRow writes the black levels of row y, columns x0 to x0+len(dst)-1.
func (m *Meta) BlackRow(y, x0 int, dst []float32) {
	row := m.Black[(y%m.BlackRows)*m.BlackCols:][:m.BlackCols]
	var dv float32
	if m.BlackDeltaV != nil {
		dv = m.BlackDeltaV[y]
	}
	n := min(len(row), len(dst))
	for i := range n {
		dst[i] = row[(x0+i)%m.BlackCols] + dv
	}
	for n < len(dst) { // whole periods, twice as many each time
		n += copy(dst[n:], dst[:n])
	}
	if m.BlackDeltaH != nil {
		for i, dh := range m.BlackDeltaH[x0 : x0+len(dst)] {
			dst[i] += dh
		}
	}
}

// Normalise maps the stored samples of row y from column x0 on to linear
// values, 0 at the black level and 1 at the white level of each sample:
// dst[i] = (raw[i] - black) / (white - black). Nothing is clipped: noise below
// black stays negative and highlights may exceed 1. len(dst) must be at least
// len(raw).
//
// The DNG specification (chapter 5, "Rescaling") divides by white minus the
// largest black level of the whole image; here every sample is divided by its
// own range, so that saturation is exactly 1 in all colours.
func (m *Meta) Normalise(y, x0 int, raw []uint16, dst []float32) {
	dst = dst[:len(raw)]
	m.BlackRow(y, x0, dst)
	var room [MaxPeriod]float32
	white := room[:m.CFA.Cols()]
	for i := range white {
		white[i] = m.White[m.CFA.At(y, x0+i)]
	}
	if m.BlackDeltaH == nil {
		m.normalisePeriodic(white, raw, dst)
		return
	}
	for i, v := range raw {
		b := dst[i]
		dst[i] = (float32(v) - b) / (white[i%len(white)] - b)
	}
}

// normalisePeriodic is Normalise for rows whose black level, in dst on entry,
// repeats every BlackCols samples, and whose white level every len(white).
func (m *Meta) normalisePeriodic(white []float32, raw []uint16, dst []float32) {
	// Whole periods up to a length that makes the loop below long enough.
	period := len(white) * m.BlackCols
	period *= max(1, tableLen/period)
	period = min(period, len(dst))
	var fixed [2][tableLen]float32
	black, span := fixed[0][:], fixed[1][:]
	if period > tableLen {
		black, span = make([]float32, period), make([]float32, period)
	}
	black, span = black[:period], span[:period]
	for i := range period {
		black[i] = dst[i]
		span[i] = white[i%len(white)] - dst[i]
	}
	for len(raw) > 0 {
		n := min(period, len(raw))
		out := dst[:n]
		for k, v := range raw[:n] {
			out[k] = (float32(v) - black[k]) / span[k]
		}
		raw, dst = raw[n:], dst[n:]
	}
}

// tableLen is how many black levels and spans normalisePeriodic has at hand.
const tableLen = 64

// CheckLevels reports levels that cannot be used: not finite, of the wrong
// count, or a black level somewhere not below white.
func (m *Meta) CheckLevels() error {
	if m.BlackRows < 1 || m.BlackCols < 1 || len(m.Black) != m.BlackRows*m.BlackCols {
		return fmt.Errorf("%d black levels for a %dx%d repeat pattern", len(m.Black), m.BlackRows, m.BlackCols)
	}
	if m.BlackDeltaH != nil && len(m.BlackDeltaH) != m.Width {
		return fmt.Errorf("%d values of BlackLevelDeltaH for %d columns", len(m.BlackDeltaH), m.Width)
	}
	if m.BlackDeltaV != nil && len(m.BlackDeltaV) != m.Height {
		return fmt.Errorf("%d values of BlackLevelDeltaV for %d rows", len(m.BlackDeltaV), m.Height)
	}
	white := min(m.White[0], m.White[1], m.White[2])
	black := largest(m.Black) + largest(m.BlackDeltaH) + largest(m.BlackDeltaV)
	if !finite(white) || !finite(black) {
		return fmt.Errorf("black level %g or white level %g is not a number", black, white)
	}
	if white <= black {
		return fmt.Errorf("white level %g is not above black level %g", white, black)
	}
	return nil
}

// largest is the largest value of v, not finite if any value is not, 0 if v is
// empty.
func largest(v []float32) float32 {
	if len(v) == 0 {
		return 0
	}
	top := v[0]
	for _, x := range v {
		if !finite(x) {
			return x
		}
		top = max(top, x)
	}
	return top
}

func finite(v float32) bool {
	return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0)
}

// SetWhite sets the white level of all colours.
func (m *Meta) SetWhite(v float32) { m.White = [3]float32{v, v, v} }

// SetBlack sets one black level for all samples.
func (m *Meta) SetBlack(v float32) {
	m.BlackRows, m.BlackCols, m.Black = 1, 1, []float32{v}
	m.BlackDeltaH, m.BlackDeltaV = nil, nil
}
