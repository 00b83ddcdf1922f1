package colour

import (
	"math"
	"slices"
)

// Brightness is how bright the parts of a picture are, in balanced light.
type Brightness struct {
	Parts int
	// Key is the geometric mean, in which lamps and the sky count little.
	Key float64
	// High is the level below which 99 of 100 parts lie.
	High float64
}

// NewBrightness sums up the levels of parts, of 0 or more. It sorts them.
func NewBrightness(levels []float64) Brightness {
	b := Brightness{Parts: len(levels)}
	if len(levels) == 0 {
		return b
	}
	slices.Sort(levels)
	const darkest = 1e-4 // below it is noise
	sum := 0.0
	for _, v := range levels {
		sum += math.Log2(math.Max(v, darkest))
	}
	b.Key = math.Exp2(sum / float64(len(levels)))
	b.High = math.Max(levels[len(levels)*99/100], darkest)
	return b
}

// Constants of the automatic exposure.
const (
	targetKey  = 0.14 // what a picture's key is brought towards
	keyShare   = 0.6  // of the way there, in stops: dark scenes stay darker than bright ones
	highLimit  = 1.6  // the high level is not raised above it; the tone curve's shoulder takes this much
	mostStops  = 2.5
	leastStops = -0.3
)

// NaturalExposure returns the exposure in stops for a picture rendered by a Curve: its key
// is brought part of the way towards middle grey, as far as its bright parts allow. A
// dark picture with lamps in it stays as it is, and one without is raised by no more
// than 2.5 stops; a bright one is darkened by a third of a stop at most.
func NaturalExposure(b Brightness) float64 {
	if b.Parts == 0 {
		return 0
	}
	ev := keyShare * math.Log2(targetKey/b.Key)
	if limit := math.Log2(highLimit / b.High); ev > limit {
		ev = math.Max(limit, 0)
	}
	return math.Min(math.Max(ev, leastStops), mostStops)
}
