package pipeline

import (
	"math"
	"sync"
	"time"

	"enhance/internal/buffers"
	"enhance/internal/exec"
	"enhance/model"
	"enhance/raw"
)

// linearSource feeds the network with a photo that is demosaiced already: an exec.Source
// whose planes are masked and have all samples.
type linearSource struct {
	photo  *raw.Photo
	geo    geometry
	levels *linearLevels
	cols   [2][]int32
	mu     sync.Mutex
	blocks map[int]*linearBlock // decoded ones, by number from the region's first row
	pool   buffers.Slices[float32]
	lines  buffers.Slices[float32]
	busy   busyTime
	decode time.Duration
	err    error
}

// linearBlock is a block of decoded rows.
type linearBlock struct {
	rows  []float32
	users int // ranges that are being made of it, and 1 while it is among the decoded ones
}

// linearBlocks is how many blocks of blockRows rows are held at most: those of a chunk of
// the network's input, of the next, and those that the bottom reflects.
const linearBlocks = 8

func newLinearSource(p *raw.Photo, g geometry, l *levels) *linearSource {
	return &linearSource{photo: p, geo: g, levels: newLinearLevels(l), cols: [2][]int32{g.sampleColumns(0), g.sampleColumns(1)}, blocks: map[int]*linearBlock{}}
}

func (s *linearSource) failure() error { return s.err }

func (s *linearSource) times() (decode, pack float64) {
	return s.decode.Seconds(), s.busy.sum.Seconds()
}

// Rows implements exec.Source.
func (s *linearSource) Rows(y0, y1 int) (exec.Rows, error) {
	first, last := s.geo.sampleRows(y0, y1)
	first, last = first/blockRows, last/blockRows
	start := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	for n, b := range s.blocks {
		if n < first-1 || n > last { // what the bottom reflects may be in the block before
			delete(s.blocks, n)
			s.release(b)
		}
	}
	r := &linearRows{linearSource: s, first: first}
	for n := first; n <= last; n++ {
		b, err := s.block(n)
		if err != nil {
			s.err = err
			return nil, err
		}
		b.users++
		r.held = append(r.held, b)
	}
	s.decode += time.Since(start)
	s.busy.begin()
	return r, nil
}

// release takes a user from a block. mu is held.
func (s *linearSource) release(b *linearBlock) {
	if b.users--; b.users == 0 {
		s.pool.Put(b.rows)
	}
}

// block is block n of the region, decoded. mu is held.
func (s *linearSource) block(n int) (*linearBlock, error) {
	if b := s.blocks[n]; b != nil {
		return b, nil
	}
	region, w := s.geo.region, s.photo.Meta().Width
	y := n * blockRows
	rows := min(blockRows, region.Height()-y)
	b := &linearBlock{rows: s.pool.Get(3 * min(blockRows, region.Height()) * w), users: 1}
	if err := s.photo.ReadLinear(region.Y0+y, rows, b.rows); err != nil {
		return nil, err
	}
	s.blocks[n] = b
	return b, nil
}

// linearRows are rows that are being made.
type linearRows struct {
	*linearSource
	first int
	held  []*linearBlock // from it on
}

func (s *linearRows) Row(y int, planes [][]float32) {
	region, stride := s.geo.region, s.photo.Meta().Width
	line := s.lines.Get(region.Width())
	var noise []float32
	if s.levels.noise[0] != nil {
		noise = s.lines.Get(region.Width())
	}
	for r := range 2 {
		at := s.geo.sampleRow(y, r)
		block := s.held[at/blockRows-s.first].rows
		for c := range 3 {
			light := block[(3*(at%blockRows)+c)*stride+region.X0:][:region.Width()]
			s.levels.row(raw.Colour(c), light, line, noise)
			for j, cols := range s.cols {
				k := model.MaskedPlane(c, r, j)
				gather(planes[k], line, cols)
				if noise != nil {
					gather(planes[3*4+k], noise, cols)
				}
			}
		}
	}
	s.lines.Put(line)
	s.lines.Put(noise)
}

func (s *linearRows) End() error {
	s.busy.end()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.held {
		s.release(b)
	}
	return nil
}

// linearBytes is what a linearSource holds.
func linearBytes(g geometry, width int) int64 {
	blocks := min(linearBlocks, int64(math.Ceil(float64(g.region.Height())/blockRows)))
	return blocks*blockRows*3*4*int64(width) + int64(cores())*2*4*int64(g.region.Width())
}
