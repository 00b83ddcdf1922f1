package pipeline

import (
	"math"

	"enhance/internal/colour"
	"enhance/pipeline/look"
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
		s.row(y + k)
		if k%cellSide == cellSide-1 {
			s.rowEnds()
		}
	}
}

// row adds row y, which is in line.
func (s *lightSample) row(y int) {
	cfa, x0 := s.meta.CFA, s.meta.Crop.X0
	even, odd := cfa.At(y, x0), cfa.At(y, x0+1)
	if cfa.Cols() != 2 || even == odd {
		for i := range s.sum {
			for x, v := range s.line[i*cellSide:][:cellSide] {
				s.sum[i].add(cfa.At(y, x0+i*cellSide+x), v)
			}
		}
		return
	}
	for i := range s.sum {
		c := &s.sum[i]
		a, b, most := c.sum[even], c.sum[odd], float32(0)
		line := (*[cellSide]float32)(s.line[i*cellSide:])
		for x := 0; x < cellSide; x += 2 {
			v, w := line[x], line[x+1]
			a, b, most = a+float64(v), b+float64(w), max(most, v, w)
		}
		c.sum[even], c.sum[odd] = a, b
		c.n[even] += cellSide / 2
		c.n[odd] += cellSide / 2
		c.clipped = c.clipped || most >= clippedAt
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
		s.cells = append(s.cells, s.sum[i].cell())
		s.sum[i] = cellSum{}
	}
}

func (c *cellSum) cell() lightCell {
	cell := lightCell{clipped: c.clipped}
	for k := range cell.mean {
		from := k
		if c.n[k] == 0 { // a sensor without filters
			from = int(raw.Green)
		}
		cell.mean[k] = float32(c.sum[from] / float64(max(c.n[from], 1)))
	}
	return cell
}

// brightness is the balanced light of the cells, for the exposure.
func (s *lightSample) brightness(gains [3]float64) colour.Brightness {
	return colour.NewBrightness(s.levels(gains))
}

// levels are the balanced light of each cell.
func (s *lightSample) levels(gains [3]float64) []float64 {
	levels := make([]float64, len(s.cells))
	for i, c := range s.cells {
		y := 0.0
		for k, w := range [3]float64{0.25, 0.5, 0.25} {
			y += w * min(float64(c.mean[k])*gains[k], 1)
		}
		levels[i] = math.Max(y, 0)
	}
	return levels
}

// patches are the colours of the cells that nothing of is clipped.
func (s *lightSample) patches() [][3]float64 {
	var all [][3]float64
	for _, c := range s.cells {
		if !c.clipped {
			all = append(all, [3]float64{float64(c.mean[0]), float64(c.mean[1]), float64(c.mean[2])})
		}
	}
	return all
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
	n := noise.BandRows(r.meta)
	rows := make([]uint16, n*r.meta.Width)
	for _, y := range noise.Bands(r.meta) {
		if err := r.ctx.Err(); err != nil {
			return nil, err
		}
		if err := read(y, n, rows); err != nil {
			return nil, err
		}
		s.band(y, n, rows)
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

// spotSide is the side of a spot, in samples.
const spotSide = 16

// spotArea is the part of the active area that the picture shows around a place of it. The
// picture is upright, has the size in which it is written, and is corrected for the lens.
func (r *run) spotArea(at [2]int) (raw.Rect, error) {
	w, h, uw, uh := r.writtenSize()
	if at[0] >= uw || at[1] >= uh {
		return raw.Rect{}, optionErrorf("wb", "spot:%d,%d lies outside of the picture of %dx%d pixels", at[0], at[1], uw, uh)
	}
	x, y := stored(at[0], at[1], w, h, r.meta.Orientation)
	crop := r.meta.Crop // the picture may have another scale than the mosaic
	x, y = crop.X0+int(int64(x)*int64(crop.Width())/int64(w)), crop.Y0+int(int64(y)*int64(crop.Height())/int64(h))
	within := crop
	if l := r.photo.Lens(); l != nil && len(l.Warps) > 0 && r.job.Lens.Applied(r.job.Tone == look.ToneLinear) {
		within = raw.Rect{X1: r.meta.Width, Y1: r.meta.Height} // a warped picture may show any of it
		sx, sy := l.Source(float64(x), float64(y))
		x, y = nearest(sx, within.X1), nearest(sy, within.Y1)
	}
	return raw.Rect{X0: max(within.X0, x-spotSide/2), Y0: max(within.Y0, y-spotSide/2), X1: min(within.X1, x+spotSide/2), Y1: min(within.Y1, y+spotSide/2)}, nil
}

// nearest is the sample of n at place v: beyond the ends the one there, as a warp shows it.
func nearest(v float64, n int) int {
	if !(v > 0) { // no number too
		return 0
	}
	return int(min(v+0.5, float64(n-1)))
}

// stored is where pixel x, y of an upright picture lies in the stored one of w x h.
func stored(x, y, w, h, orientation int) (int, int) {
	if orientation >= 5 {
		x, y = y, x
	}
	switch orientation {
	case 2, 3, 7, 8:
		x = w - 1 - x
	}
	switch orientation {
	case 3, 4, 6, 7:
		y = h - 1 - y
	}
	return x, y
}

// spot is the light around a place of the upright picture.
func (r *run) spot(at [2]int) (lightCell, error) {
	area, err := r.spotArea(at)
	if err != nil {
		return lightCell{}, err
	}
	m, n := r.meta, area.Height()
	rows, line := make([]uint16, n*m.Width), make([]float32, area.Width())
	if err := r.ahead.rows(area.Y0, n, rows); err != nil {
		return lightCell{}, err
	}
	var sum cellSum
	for k := range n {
		m.Normalise(area.Y0+k, area.X0, rows[k*m.Width+area.X0:][:area.Width()], line)
		for x, v := range line {
			sum.add(m.CFA.At(area.Y0+k, area.X0+x), v)
		}
	}
	return sum.cell(), nil
}

// spotLinear is spot for a demosaiced photo.
func (r *run) spotLinear(at [2]int) (lightCell, error) {
	area, err := r.spotArea(at)
	if err != nil {
		return lightCell{}, err
	}
	n, stride := area.Height(), r.meta.Width
	block := make([]float32, 3*n*stride)
	if err := r.photo.ReadLinear(area.Y0, n, block); err != nil {
		return lightCell{}, r.photoError(err)
	}
	var sum cellSum
	for k := range n {
		for c := range 3 {
			for _, v := range block[(3*k+c)*stride:][area.X0:area.X1] {
				sum.add(raw.Colour(c), v)
			}
		}
	}
	return sum.cell(), nil
}
