// Package noise measures a sensor's noise on the photo itself.
//
// Start at Estimate, which reads a bounded sample of the photo in bands of rows.
// Compare holds a file's NoiseProfile against the result.
//
// The model: a stored sample of black level b has noise of variance
// gain·(sample − b) + read², with one gain and one read noise for the whole sensor,
// since its filters change the light and not the electronics.
//
// The method follows Ponomarenko's, as analysed by M. Colom and A. Buades, "Analysis and Extension of the
// Ponomarenko et al. Method, Estimating a Noise Curve from a Single Image", Image Processing On Line 3 (2013),
// section 2: blocks of 8×8 samples are transformed (DCT); among blocks of like brightness those with the least
// energy at low and middle frequencies are chosen; the mean energy at their high frequencies is the variance.
// White noise is independent between frequencies, so that the choice does not bias the measurement. Samples
// behind filters of one colour, evenly spaced, make the blocks (lattice.go), so that nothing is interpolated.
// Brightnesses where even the chosen blocks have more energy at middle than at high frequencies show texture
// and are left out.
package noise

import (
	"errors"
	"math"

	"enhance/raw/mosaic"
)

// Line is the variance S·v + O of a sample v, 0 at black and 1 at white.
type Line struct {
	S float64 `json:"s"`
	O float64 `json:"o"`
}

// At is the variance at v.
func (l Line) At(v float64) float64 { return l.S*max(v, 0) + l.O }

// Levels are the lines by colour, before white balance: what the DNG specification
// calls a NoiseProfile.
type Levels [3]Line

// Bound brings levels down to what is believed, and reports whether it changed any.
func (l *Levels) Bound() bool {
	was := *l
	for c := range l {
		l[c] = Line{S: min(l[c].S, MaxS), O: min(l[c].O, MaxO)}
	}
	return *l != was
}

// ErrNoFlatBlocks says that too little of a photo can be measured.
var ErrNoFlatBlocks = errors.New("too few flat parts that are neither black nor saturated")

// Estimation is what was measured.
type Estimation struct {
	Levels Levels
	Blocks int64   // that the levels rest on
	points []point // variance over brightness, in stored units
	spans  [3]float64
}

// MaxS and MaxO bound what is believed: a sensor that saturates at 20 electrons has S =
// 0.05, and one whose read noise is a tenth of its range has O = 0.01.
const MaxS, MaxO = 0.05, 0.01

// spansOf are white − black by colour; black is the mean of the pattern's, with that
// of the deltas.
func spansOf(m *mosaic.Meta) (spans [3]float64) {
	black := mean(m.Black) + mean(m.BlackDeltaH) + mean(m.BlackDeltaV)
	for c, w := range m.White {
		spans[c] = float64(w) - black
	}
	return spans
}

func mean(v []float32) float64 {
	sum := 0.0
	for _, x := range v {
		sum += float64(x)
	}
	return sum / float64(max(len(v), 1))
}

// Compare gives how many times the variance of the given levels is the estimate's,
// over the brightnesses that were measured.
func (e *Estimation) Compare(given *Levels) float64 {
	var theirs, ours float64
	for _, p := range e.points {
		for c, span := range e.spans {
			v := p.x / span
			theirs += float64(p.n * given[c].At(v))
			ours += float64(p.n * e.Levels[c].At(v))
		}
	}
	if ours == 0 {
		if theirs == 0 {
			return 1
		}
		return math.Inf(1)
	}
	return theirs / ours
}
