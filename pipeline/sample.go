package pipeline

import (
	"math"

	"enhance/internal/colour"
	"enhance/raw"
	"enhance/raw/noise"
)

// lightSample is what a bounded part of a photo shows of its light: the means of cells of
// its crop, in the bands of rows that the noise estimate reads too.
type lightSample struct {
	meta  *raw.Meta
	cells []lightCell
	sum   []cellSum // of the row of cells that is being read
	line  []float32
}

// lightCell is a square of the mosaic.
type lightCell struct {
	mean    [3]float32 // by colour, 0 at black, 1 at white, not balanced
	clipped bool       // a sample of it is
}

// cellSum gathers a cell.
type cellSum struct {
	sum     [3]float64
	n       [3]int32
	clipped bool
}

const (
	cellSide  = 8    // samples; bands are as high as whole cells
	clippedAt = 0.98 // of the white level: samples from here on may be clipped
)

func newLightSample(m *raw.Meta) *lightSample {
	return &lightSample{meta: m, sum: make([]cellSum, m.Crop.Width()/cellSide), line: make([]float32, m.Crop.Width())}
}

// band adds n rows from row y on, Meta.Width samples each. n is a multiple of cellSide.
func (s *lightSample) band(y, n int, stored []uint16) {
	m := s.meta
	for k := range n {
		row := stored[k*m.Width+m.Crop.X0:][:m.Crop.Width()]
		m.Normalise(y+k, m.Crop.X0, row, s.line)
		for i := range s.sum {
			c := &s.sum[i]
			for x, v := range s.line[i*cellSide:][:cellSide] {
				c.add(m.CFA.At(y+k, m.Crop.X0+i*cellSide+x), v)
			}
		}
		if k%cellSide == cellSide-1 {
			s.rowEnds()
		}
	}
}

// linear adds a row of a demosaiced photo's crop.
func (s *lightSample) linear(y int, planes [][]float32) {
	for i := range s.sum {
		for c := range planes {
			for _, v := range planes[c][i*cellSide:][:cellSide] {
				s.sum[i].add(raw.Colour(c), v)
			}
		}
	}
	if y%cellSide == cellSide-1 {
		s.rowEnds()
	}
}

func (c *cellSum) add(col raw.Colour, v float32) {
	c.sum[col] += float64(v)
	c.n[col]++
	c.clipped = c.clipped || v >= clippedAt
}

// rowEnds makes cells of what was gathered.
func (s *lightSample) rowEnds() {
	for i := range s.sum {
		c := &s.sum[i]
		cell := lightCell{clipped: c.clipped}
		for k := range cell.mean {
			from := k
			if c.n[k] == 0 { // a sensor without filters
				from = int(raw.Green)
			}
			cell.mean[k] = float32(c.sum[from] / float64(max(c.n[from], 1)))
		}
		s.cells = append(s.cells, cell)
		*c = cellSum{}
	}
}

// brightness are the balanced light levels of the cells, for the exposure.
func (s *lightSample) brightness(gains [3]float64) colour.Brightness {
	levels := make([]float64, len(s.cells))
	for i, c := range s.cells {
		y := 0.0
		for k, w := range [3]float64{0.25, 0.5, 0.25} {
			y += w * min(float64(c.mean[k])*gains[k], 1)
		}
		levels[i] = math.Max(y, 0)
	}
	return colour.NewBrightness(levels)
}

// sampleLight reads the sample, once: in the bands that the noise estimate reads, when it
// reads them.
func (r *run) sampleLight() (*lightSample, error) {
	if r.decisions.light != nil {
		return r.decisions.light, nil
	}
	s := newLightSample(r.meta)
	read := noise.RowReader(r.photo.ReadRows)
	if r.ahead != nil {
		read = r.ahead.rows
	}
	rows := make([]uint16, noise.BandRows*r.meta.Width)
	for _, y := range noise.Bands(r.meta) {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if err := read(y, noise.BandRows, rows); err != nil {
			return nil, err
		}
		s.band(y, noise.BandRows, rows)
	}
	r.decisions.light = s
	return s, nil
}

// sampled adds the bands that the noise estimate reads to the light sample.
func (r *run) sampled(read noise.RowReader) noise.RowReader {
	r.decisions.light = newLightSample(r.meta)
	return func(y, n int, stored []uint16) error {
		err := read(y, n, stored)
		if err == nil {
			r.decisions.light.band(y, n, stored)
		}
		return err
	}
}

// sampleLinear is sampleLight for a demosaiced photo, which is read from its first row.
func (r *run) sampleLinear() (*lightSample, error) {
	s := newLightSample(r.meta)
	stride, crop := r.meta.Width, r.meta.Crop
	block := make([]float32, 3*cellSide*stride)
	planes := make([][]float32, 3)
	for _, y := range noise.Bands(r.meta) {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if err := r.photo.ReadLinear(y, cellSide, block); err != nil {
			return nil, r.photoError(err)
		}
		for k := range cellSide {
			for c := range planes {
				planes[c] = block[(3*k+c)*stride:][crop.X0:crop.X1]
			}
			s.linear(k, planes)
		}
	}
	return s, nil
}
