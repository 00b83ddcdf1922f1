package pipeline

import (
	"math"
	"slices"
)

// The picture of a network whose weights are damaged may have one colour everywhere: black where all
// weights are zeros, white where they are too large. A network has no value that is wrong in itself, so
// this is no error. It is said if the photo's own light differs from place to place where a picture
// shows it: a frame that was taken in the dark, or is exposed far too much, may have one colour.

// sameColour looks for a pixel that differs from the first in the rows of a picture. It looks no further
// than to that one, which for nearly all pictures is in their first row.
type sameColour[T comparable] struct {
	first   []T // pixel; nil: no row was seen
	differs bool
}

// row takes the next row, in which each pixel has n numbers.
func (s *sameColour[T]) row(row []T, n int) {
	if s.differs {
		return
	}
	if s.first == nil {
		s.first = slices.Clone(row[:n])
	}
	s.differs = !slices.Equal(row[:n], s.first) || !slices.Equal(row[n:], row[:len(row)-n])
}

// everywhere reports whether all rows so far have one colour.
func (s *sameColour[T]) everywhere() bool { return s.first != nil && !s.differs }

// flat reports whether all pixels that were handed to the encoder have one colour.
func (e *encoding) flat() bool { return e.codesSeen.everywhere() || e.bytesSeen.everywhere() }

// noteFlat says if a network's picture has one colour, and the photo does not.
func (r *run) noteFlat(dev *developer) {
	if light := r.decisions.light; !r.classical && light != nil && dev.flat() && light.varies(r.decisions.balance) {
		r.say("the picture has one colour everywhere, and the photo has not: the weights of " + r.session.modelName + " are probably damaged or untrained")
	}
}

// varies reports whether the middle nine tenths of the cells, exposed as b says, differ by a stop
// between black and white.
func (s *lightSample) varies(b *balance) bool {
	const black, white = 0.01, 1
	levels := s.levels(b.gains)
	slices.Sort(levels)
	if len(levels) == 0 {
		return false
	}
	shown := func(i int) float64 { return min(max(levels[i]*math.Exp2(b.ev), black), white) }
	apart := len(levels) / 20
	return shown(len(levels)-1-apart) >= 2*shown(apart)
}
