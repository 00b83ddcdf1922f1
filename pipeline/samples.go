package pipeline

import (
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/model"
)

// samplesServe reports whether a device can make the network's planes out of the photo's stored
// samples: what a plane has for a sample must depend on the sample alone. Otherwise the host
// makes them.
func (in *input) samplesServe(c *model.Convention) bool {
	m := in.meta
	switch {
	case in.classical || m.Linear || c.Samples != model.SamplesQuad:
		return false
	case m.BlackDeltaH != nil || m.BlackDeltaV != nil:
		return false
	case c.NoisePlanes > 0 && in.photo != nil && in.photo.Gains() != nil: // the noise depends on the place
		return false
	}
	return commonPeriod(max(m.BlackRows, 1), m.CFA.Rows()) <= 2 && commonPeriod(max(m.BlackCols, 1), m.CFA.Cols()) <= 2
}

// Tables implements exec.SampleSource, for photos that samplesServe is true of.
func (s *source) Tables() ([][]float32, error) {
	tables := make([][]float32, 0, 2*fuse.QuadPlaces)
	var noise [][]float32
	for _, place := range s.pack {
		l := s.levels
		y, x := s.geo.region.Y0+s.geo.sampleRow(0, place[0]), s.geo.region.X0+int(s.cols[place[1]][0])
		t := l.tables[y%l.rows*l.cols+x%l.cols]
		tables = append(tables, t.light)
		if t.noise != nil {
			noise = append(noise, t.noise)
		}
	}
	return append(tables, noise...), nil
}

// Samples implements exec.SampleRows.
func (s *sourceRows) Samples(y int, lines [2][]uint16) {
	for r, line := range lines {
		at := s.geo.sampleRow(y, r)
		s.spread(line, s.stored(at, s.blocks[at/blockRows-s.first]))
	}
}

// spread lays out a row of the region as the columns of the quads: reflected at the sides.
func (s *source) spread(line, stored []uint16) {
	left := s.geo.left // columns before the row's own
	inner := min(len(line)-left, len(stored))
	copy(line[left:], stored[:inner])
	for _, edge := range [2][2]int{{0, left}, {left + inner, len(line)}} {
		for x := edge[0]; x < edge[1]; x++ {
			line[x] = stored[s.cols[x%2][x/2]]
		}
	}
}

var (
	_ exec.SampleSource = (*source)(nil)
	_ exec.SampleRows   = (*sourceRows)(nil)
)
