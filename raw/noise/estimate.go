package noise

import (
	"context"
	"math"
	"sync"

	"enhance/raw/mosaic"
)

// Bounds of the sample, whatever the photo's size.
const (
	maxColumns = 256   // blocks across a band
	maxBlocks  = 24576 // of all bands and filter places
	saturated  = 0.97  // of the range: blocks that reach this are left out

	maxTogether = 4 << 20 // samples in memory, unless a band has more
	parts       = 4       // of a band, measured side by side
)

// A RowReader reads rows y to y+n-1 of the active area, Meta.Width samples each.
type RowReader func(y, n int, dst []uint16) error

// Gains give the factors that gain maps have put on samples of row y from column x0 on.
type Gains func(y, x0 int, dst []float32)

// Estimate measures the noise of a photo on bands of BandRows rows, spread evenly over its
// crop. It reads no other rows, each once, downwards. If gains is not nil, the levels are
// of the samples before. The result does not depend on the number of cores.
func Estimate(ctx context.Context, m *mosaic.Meta, read RowReader, gains Gains) (*Estimation, error) {
	s := newSample(m)
	s.gains = gains
	tall := s.lattice.bandRows()
	band := tall * m.Width
	together := max(1, min(maxTogether/band, len(s.bands))) // bands in memory
	rows := make([]uint16, together*band)
	var measuring sync.WaitGroup
	defer measuring.Wait()
	for k, y := range s.bands {
		if k%together == 0 {
			measuring.Wait() // their rows are read over
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		stored := rows[k%together*band:][:band]
		if err := read(y, tall, stored); err != nil {
			return nil, err
		}
		for part := range parts { // while the next is read
			measuring.Go(func() { s.measure(k, part*s.across/parts, (part+1)*s.across/parts, stored) })
		}
	}
	measuring.Wait()
	return s.estimate()
}

// sample is the blocks of a photo that are measured.
type sample struct {
	meta    *mosaic.Meta
	gains   Gains
	lattice lattice
	bands   []int // their first rows
	across  int   // blocks in a band, of each place of the lattice
	found   []spectrum
}

func newSample(m *mosaic.Meta) *sample {
	l := latticeOf(m)
	s := &sample{meta: m, lattice: l, across: min(m.Crop.Width()/l.bandCols(), maxColumns), bands: l.bands(m)}
	s.found = make([]spectrum, len(s.bands)*len(l.places)*s.across)
	return s
}

// measure measures blocks from to end-1 of each place in a band.
func (s *sample) measure(band, from, end int, stored []uint16) {
	m, l, y0 := s.meta, &s.lattice, s.bands[band]
	cols := l.bandCols()
	full := m.Crop.Width() / cols
	found := s.found[band*len(l.places)*s.across:]
	var q block
	black := make([]float32, l.bandRows()*cols)
	same := m.BlackDeltaH == nil && cols%m.BlackCols == 0 // all blocks have the same levels
	for k := from; k < end; k++ {
		x0 := m.Crop.X0 + cols*int((int64(k)*2+1)*int64(full)/int64(2*s.across))
		for i := range l.bandRows() {
			if same && k > from {
				break
			}
			m.BlackRow(y0+i, x0, black[i*cols:][:cols])
		}
		for at, place := range l.places {
			r, c := place[0], place[1]
			white := m.White[m.CFA.At(y0+r, x0+c)]
			ok, least := true, float32(math.MaxFloat32)
			for i := range q {
				line := stored[(r+l.rows*i)*m.Width+x0+c:][:l.cols*(side-1)+1]
				b := black[(r+l.rows*i)*cols+c:][:len(line)]
				for j := range q[i] {
					v := line[l.cols*j]
					d := float32(v) - b[l.cols*j]
					ok = ok && v > 0 && d < saturated*(white-b[l.cols*j])
					q[i][j] = float64(d)
					least = min(least, d)
				}
			}
			f := &found[at*s.across+k]
			if f.mean = math.NaN(); ok {
				*f = q.measure()
				f.least = float64(least)
				if s.gains != nil {
					f.before(s.gains, y0+r+l.bandRows()/2, x0+c+cols/2)
				}
			}
		}
	}
}

// before takes the factor in the middle of a block away, at row y, column x: gain maps
// vary little over its rows and columns.
func (f *spectrum) before(gains Gains, y, x int) {
	var at [1]float32
	gains(y, x, at[:])
	g := float64(at[0])
	if !(g > 0) {
		f.mean = math.NaN()
		return
	}
	f.mean /= g
	f.least /= g
	f.mid /= float64(g * g)
	f.high /= float64(g * g)
}
