package pipeline

import (
	"context"
	"sync"
	"time"

	"enhance/model"
	"enhance/raw"
)

// blockRows is how many mosaic rows are decoded at a time.
const blockRows = 64

// source feeds the network: an exec.Source over a photo. It decodes blocks of
// rows and keeps the last two, which is as far back as the reflection at the
// bottom reaches in one step.
type source struct {
	ctx    context.Context
	photo  *raw.Photo
	geo    geometry
	levels *levels
	pack   [4][2]int
	cols   [2][]int32
	stored []uint16 // a block as decoded
	blocks [2]block // by block number, modulo 2
	busy   time.Duration
	err    error // the first; the engine may report only that it was stopped
}

// block is rows n*blockRows and on of the region, as network samples.
type block struct {
	n    int // -1: none
	rows []float32
}

func newSource(ctx context.Context, p *raw.Photo, g geometry, c *model.Convention, l *levels) *source {
	s := &source{ctx: ctx, photo: p, geo: g, levels: l, pack: c.Pack}
	s.cols = [2][]int32{g.sampleColumns(0), g.sampleColumns(1)}
	for i := range s.blocks {
		s.blocks[i].n = -1
	}
	return s
}

// Row implements exec.Source.
func (s *source) Row(y int, planes [][]float32) error {
	start := time.Now()
	defer func() { s.busy += time.Since(start) }()
	for r := range 2 {
		line, err := s.line(s.geo.sampleRow(y, r))
		if err != nil {
			s.err = err
			return err
		}
		for k, at := range s.pack {
			if at[0] != r {
				continue
			}
			dst := planes[k]
			for x, from := range s.cols[at[1]][:len(dst)] {
				dst[x] = line[from]
			}
		}
	}
	return nil
}

// line is row y of the region.
func (s *source) line(y int) ([]float32, error) {
	n, w := y/blockRows, s.geo.region.Width()
	b := &s.blocks[n&1]
	if b.n != n {
		if err := s.read(b, n); err != nil {
			return nil, err
		}
	}
	return b.rows[y%blockRows*w:][:w], nil
}

// read decodes block n into b.
func (s *source) read(b *block, n int) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	b.n = -1
	r, stride := s.geo.region, s.photo.Meta().Width
	y0 := n * blockRows
	rows := min(blockRows, r.Height()-y0)
	if s.stored == nil {
		s.stored = make([]uint16, min(blockRows, r.Height())*stride)
	}
	if b.rows == nil {
		b.rows = make([]float32, min(blockRows, r.Height())*r.Width())
	}
	if err := s.photo.ReadRows(r.Y0+y0, rows, s.stored); err != nil {
		return err
	}
	inParallel(rows, func(i int) {
		s.levels.row(r.Y0+y0+i, r.X0, s.stored[i*stride+r.X0:][:r.Width()], b.rows[i*r.Width():][:r.Width()])
	})
	b.n = n
	return nil
}

// inParallel calls do(0) to do(n-1) on all cores and returns when all are done.
func inParallel(n int, do func(i int)) {
	workers := min(cores(), n)
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := n * k / workers; i < n*(k+1)/workers; i++ {
				do(i)
			}
		})
	}
	wg.Wait()
}
