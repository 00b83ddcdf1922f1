package pipeline

import (
	"enhance/internal/buffers"
	"enhance/internal/exec"
	"enhance/model"
	"enhance/raw"
)

// source feeds the network: an exec.Source over a photo that is decoded ahead.
type source struct {
	ahead  *readAhead
	geo    geometry
	levels *levels
	pack   [4][2]int
	masks  *masks // nil: the planes are not masked
	cols   [2][]int32
	meta   *raw.Meta
	lines  buffers.Slices[float32]
	busy   busyTime
	err    error
}

// packing is what a worker needs to make a row.
type packing struct {
	line  []float32 // a mosaic row of the region, as network samples
	noise []float32 // and its noise; nil if the network does not ask for it
}

func newSource(a *readAhead, g geometry, c *model.Convention, l *levels) *source {
	s := &source{ahead: a, geo: g, levels: l, pack: c.Pack, meta: a.photo.Meta()}
	s.cols = [2][]int32{g.sampleColumns(0), g.sampleColumns(1)}
	if c.Samples == model.SamplesMasked {
		s.masks = newMasks(s.meta.CFA, g.region)
	}
	return s
}

func (s *source) failure() error { return s.err }

func (s *source) times() (decode, pack float64) {
	return s.ahead.busy().Seconds(), s.busy.sum.Seconds()
}

// Rows implements exec.Source.
func (s *source) Rows(y0, y1 int) (exec.Rows, error) {
	first, last := s.geo.sampleRows(y0, y1)
	first, last = first/blockRows, last/blockRows
	blocks, done, err := s.ahead.blocks(first, last)
	if err != nil {
		s.err = err
		return nil, err
	}
	s.busy.begin()
	return &sourceRows{source: s, first: first, blocks: blocks, done: done}, nil
}

// sourceRows are rows that are being made.
type sourceRows struct {
	*source
	first  int        // block of the mosaic
	blocks [][]uint16 // from it on
	done   func()     // gives them back
}

func (s *sourceRows) Row(y int, planes [][]float32) {
	w := s.newPacking()
	for r := range 2 {
		at := s.geo.sampleRow(y, r)
		s.half(w, planes, r, at, s.blocks[at/blockRows-s.first])
	}
	s.lines.Put(w.line)
	s.lines.Put(w.noise)
}

func (s *sourceRows) End() error {
	s.done()
	s.busy.end()
	return nil
}

func (s *source) newPacking() (w packing) {
	w.line = s.lines.Get(s.geo.region.Width())
	if s.levels.noise != nil {
		w.noise = s.lines.Get(len(w.line))
	}
	return w
}

// half fills the planes that row r (0 or 1) of the quads gives, from row at of the
// region, which is in block b.
func (s *source) half(w packing, planes [][]float32, r, at int, b []uint16) {
	s.levels.row(s.geo.region.Y0+at, s.geo.region.X0, s.stored(at, b), w.line, w.noise)
	if s.masks != nil {
		s.maskedHalf(w, planes, r, s.masks.colours(at))
		return
	}
	for k, place := range s.pack {
		if place[0] != r {
			continue
		}
		gather(planes[k], w.line, s.cols[place[1]])
		if w.noise != nil {
			gather(planes[len(s.pack)+k], w.noise, s.cols[place[1]])
		}
	}
}

// stored are the samples of row at of the region, which is in block b.
func (s *source) stored(at int, b []uint16) []uint16 {
	return b[at%blockRows*s.meta.Width+s.geo.region.X0:][:s.geo.region.Width()]
}

// gather picks the samples of a packed row.
func gather(dst, line []float32, cols []int32) {
	for x, from := range cols[:len(dst)] {
		dst[x] = line[from]
	}
}
