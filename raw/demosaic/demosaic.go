package demosaic

import (
	"fmt"
	"sync"
	"time"

	"enhance/internal/workers"
	"enhance/raw/mosaic"
)

// Demosaicer holds the filters of a pattern. It may be used by several goroutines.
type Demosaicer struct {
	pattern mosaic.Pattern
	shape   tileShape
	// sets[k][phase] has the filters of class k at a place of the pattern.
	sets    [][]place
	scratch sync.Pool // *tile
}

// place has the filters at one place of the pattern.
type place struct {
	own     mosaic.Colour
	check   filter    // for the sample that is there, from the others
	missing [2]filter // for the two colours that are not, in the order of Colour
}

// filter is a weighted sum of a tile's samples.
type filter struct {
	offsets []int32 // from the pixel's place in the tile
	weights []float32
}

// others are the colours but c.
func others(c mosaic.Colour) [2]mosaic.Colour {
	return [3][2]mosaic.Colour{{mosaic.Green, mosaic.Blue}, {mosaic.Red, mosaic.Blue}, {mosaic.Red, mosaic.Green}}[c]
}

// New derives the filters of a pattern, which takes a fraction of a second. The pattern
// must have red, green and blue.
func New(p mosaic.Pattern) (*Demosaicer, error) {
	if !p.Valid() || p == mosaic.Mono {
		return nil, fmt.Errorf("demosaic: no colours in a pattern that is %v", p)
	}
	e := effortFor(p)
	classes := e.classes()
	phases := p.Rows() * p.Cols()
	taps := make([][3][]tap, len(classes)*phases)
	errs := make([]error, len(taps))
	covariances := make([]*covariance, len(classes))
	for k, c := range classes {
		covariances[k] = c.tabulate()
	}
	workers.Each(workers.Count(len(taps), 2*time.Millisecond), len(taps), func(_, i int) {
		y, x := i%phases/p.Cols(), i%phases%p.Cols()
		for c := range taps[i] {
			var err error
			if taps[i][c], err = e.makeFilter(p, y, x, mosaic.Colour(c), covariances[i/phases]); err != nil {
				errs[i] = err
			}
		}
	})
	far := 0
	for i, colours := range taps {
		if errs[i] != nil {
			return nil, errs[i]
		}
		for _, ts := range colours {
			for _, t := range ts {
				far = max(far, t.dy, -t.dy, t.dx, -t.dx)
			}
		}
	}
	d := &Demosaicer{pattern: p, shape: newTileShape(p.Cols(), far), sets: make([][]place, len(classes))}
	for i, colours := range taps {
		y, x := i%phases/p.Cols(), i%phases%p.Cols()
		own := p.At(y, x)
		at := place{own: own, check: d.shape.filter(x, colours[own])}
		for k, c := range others(own) {
			at.missing[k] = d.shape.filter(x, colours[c])
		}
		d.sets[i/phases] = append(d.sets[i/phases], at)
	}
	d.scratch.New = func() any { return d.shape.newTile(len(classes)) }
	return d, nil
}

// Reach is how many rows above and below those that are made Rows looks at.
func (d *Demosaicer) Reach() int { return max(d.shape.margin(), mosaic.MaxPeriod) }

// Strip is some rows of a mosaic.
type Strip struct {
	Width, Height int       // of the whole mosaic, at least a period of the pattern
	First         int       // row that Samples begins with
	Samples       []float32 // rows of Width
}

// Rows makes rows y0 to y1-1 of a mosaic whose sample at row 0, column 0 has the
// pattern's first filter: each row's red, green and blue one after the other, Width
// samples each. The strip must hold those rows and Reach rows before and after, as far
// as the mosaic has them. A row's result depends on the mosaic alone, not on how
// it is cut into strips.
func (d *Demosaicer) Rows(s *Strip, y0, y1 int, dst []float32) error {
	if s.Width < d.pattern.Cols() || s.Height < d.pattern.Rows() {
		return fmt.Errorf("demosaic: a mosaic of %dx%d samples is smaller than its filter array", s.Width, s.Height)
	}
	have := s.First + len(s.Samples)/s.Width
	if y0 < 0 || y1 > s.Height || s.First > max(0, y0-d.Reach()) || have < min(s.Height, y1+d.Reach()) || len(dst) < 3*(y1-y0)*s.Width {
		return fmt.Errorf("demosaic: rows %d to %d of %d need more than rows %d to %d", y0, y1, s.Height, s.First, have)
	}
	across := (s.Width + d.shape.cols - 1) / d.shape.cols
	down := (y1 - y0 + tileRows - 1) / tileRows
	n := across * down
	workers.Each(workers.Count(n, tileTime), n, func(_, i int) {
		t := d.scratch.Get().(*tile)
		t.y0, t.x0 = y0+i/across*tileRows, i%across*d.shape.cols
		t.rows = min(tileRows, y1-t.y0)
		t.load(d.pattern, s)
		t.measure(d)
		t.weigh()
		t.estimate(d, s, dst[3*(t.y0-y0)*s.Width:])
		d.scratch.Put(t)
	})
	return nil
}

// tileTime is about how long a tile takes.
const tileTime = 2 * time.Millisecond

// MaxReach bounds what Reach gives for any pattern.
const MaxReach = maxReach + window

// MaxBytes bounds what Rows holds beside the strip and the result, for a pattern on so
// many cores.
func MaxBytes(p mosaic.Pattern, cores int) int64 {
	s := newTileShape(p.Cols(), maxReach)
	return int64(cores) * s.bytes(len(effortFor(p).classes()))
}

// kept are the demosaicers that were made last.
var kept struct {
	sync.Mutex
	by map[mosaic.Pattern]*Demosaicer
}

// mostKept bounds how many there are: cards hold the photos of few cameras.
const mostKept = 16

// For is New, whose results it keeps for the next photo.
func For(p mosaic.Pattern) (*Demosaicer, error) {
	kept.Lock()
	defer kept.Unlock()
	if d := kept.by[p]; d != nil {
		return d, nil
	}
	d, err := New(p)
	if err != nil {
		return nil, err
	}
	if kept.by == nil || len(kept.by) >= mostKept {
		kept.by = map[mosaic.Pattern]*Demosaicer{}
	}
	kept.by[p] = d
	return d, nil
}
