package pipeline

import (
	"sync"
	"sync/atomic"
	"time"

	"enhance/exec"
	"enhance/model"
	"enhance/raw"
)

// source feeds the network: an exec.RowsSource over a photo that is decoded
// ahead. Rows are made on all cores.
type source struct {
	ahead  *ahead
	geo    geometry
	levels *levels
	pack   [4][2]int
	cols   [2][]int32
	meta   *raw.Meta
	work   sync.Pool // *packing
	busy   busyTime
	err    error // the first; the engine may report only that it was stopped
}

// packing is what a worker needs to make a row.
type packing struct {
	line   []float32 // a mosaic row of the region, as network samples
	noise  []float32 // and its noise; nil if the network does not ask for it
	planes [][]float32
}

func newSource(a *ahead, g geometry, c *model.Convention, l *levels) *source {
	s := &source{ahead: a, geo: g, levels: l, pack: c.Pack, meta: a.photo.Meta()}
	s.work.New = func() any { return s.newPacking() }
	s.cols = [2][]int32{g.sampleColumns(0), g.sampleColumns(1)}
	return s
}

// Row implements exec.Source.
func (s *source) Row(y int, planes [][]float32) error {
	row, end, err := s.Rows(y, y+1)
	if err != nil {
		return err
	}
	row(y, func(made [][]float32) {
		for k, line := range made {
			copy(planes[k], line)
		}
	})
	end()
	return nil
}

// Rows implements exec.RowsSource.
func (s *source) Rows(y0, y1 int) (row func(y int, put func(planes [][]float32)), end func(), err error) {
	first, last := s.geo.region.Height(), 0
	for y := y0; y < y1; y++ {
		for r := range 2 {
			at := s.geo.sampleRow(y, r)
			first, last = min(first, at), max(last, at)
		}
	}
	first, last = first/blockRows, last/blockRows
	blocks, done, err := s.ahead.blocks(first, last)
	if err != nil {
		s.err = err
		return nil, nil, err
	}
	s.busy.begin()
	row = func(y int, put func(planes [][]float32)) {
		w := s.work.Get().(*packing)
		for r := range 2 {
			at := s.geo.sampleRow(y, r)
			s.half(w, r, at, blocks[at/blockRows-first])
		}
		put(w.planes)
		s.work.Put(w)
	}
	return row, func() {
		done()
		s.busy.end()
	}, nil
}

func (s *source) newPacking() *packing {
	w := &packing{line: make([]float32, s.geo.region.Width()), planes: make([][]float32, len(s.pack))}
	if s.levels.noise != nil {
		w.noise = make([]float32, len(w.line))
		w.planes = make([][]float32, 2*len(s.pack))
	}
	for k := range w.planes {
		w.planes[k] = make([]float32, s.geo.w)
	}
	return w
}

// half fills the planes that row r (0 or 1) of the quads gives, from row at of the
// region, which is in block b.
func (s *source) half(w *packing, r, at int, b []uint16) {
	region, stride := s.geo.region, s.meta.Width
	stored := b[at%blockRows*stride+region.X0:][:region.Width()]
	s.levels.row(region.Y0+at, region.X0, stored, w.line, w.noise)
	for k, place := range s.pack {
		if place[0] != r {
			continue
		}
		gather(w.planes[k], w.line, s.cols[place[1]])
		if w.noise != nil {
			gather(w.planes[len(s.pack)+k], w.noise, s.cols[place[1]])
		}
	}
}

// gather picks the samples of a packed row.
func gather(dst, line []float32, cols []int32) {
	for x, from := range cols[:len(dst)] {
		dst[x] = line[from]
	}
}

// inParallel calls do for 0 to n-1, which take about so long each, on as many cores
// as that is worth, with the number of the worker, and returns when all are done.
func inParallel(n int, each time.Duration, do func(worker, i int)) {
	workers := exec.Workers(n, each)
	if workers == 1 {
		for i := range n {
			do(0, i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for k := range workers {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				do(k, i)
			}
		})
	}
	wg.Wait()
}
