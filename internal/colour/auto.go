package colour

import (
	"errors"
	"fmt"
	"math"
)

// Histogram counts the linear samples of one colour: bin i of n holds values in
// i/n..(i+1)/n of full scale, the last bin also everything above it and the
// first everything below. A thousand bins or more are advised: shadows and the
// clipping point are judged by bins.
type Histogram []uint64

// ErrNoStatistics is reported when a histogram holds too little to judge by.
var ErrNoStatistics = errors.New("too few well-exposed samples")

// Constants of the automatic settings, on the linear scale.
const (
	exposureRank   = 0.99 // quantile that is brought to exposureTarget
	exposureTarget = 0.75
	maxExposureEV  = 3
)

func (h Histogram) total() uint64 {
	var n uint64
	for _, c := range h {
		n += c
	}
	return n
}

// Quantile returns the value below which a fraction q (0..1) of the samples lie,
// taking samples as spread evenly over their bin. NaN if the histogram is empty.
func (h Histogram) Quantile(q float64) float64 {
	total := h.total()
	if total == 0 {
		return math.NaN()
	}
	left := math.Min(math.Max(q, 0), 1) * float64(total)
	last := 0
	for i, c := range h {
		if c == 0 {
			continue
		}
		if left <= float64(c) {
			return (float64(i) + left/float64(c)) / float64(len(h))
		}
		left -= float64(c)
		last = i
	}
	return float64(last+1) / float64(len(h))
}

// AutoExposure returns the exposure correction in EV (stops) for a picture whose
// luminance, or balanced green, has histogram h: what brings the 99th percentile
// to 0.75 of linear full scale. It is 0..3: a picture is never darkened, since
// clipped highlights would only turn grey, and never raised by more than three
// stops, since a night scene should stay one.
func AutoExposure(h Histogram) (ev float64, err error) {
	if h.total() == 0 {
		return 0, fmt.Errorf("automatic exposure: the histogram is empty: %w", ErrNoStatistics)
	}
	ev = math.Log2(exposureTarget / h.Quantile(exposureRank))
	return math.Min(math.Max(ev, 0), maxExposureEV), nil
}
