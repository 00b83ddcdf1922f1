package dng

import (
	"cmp"
	"fmt"
	"io"
	"runtime"

	"enhance/internal/workers"
)

// rowStream yields the rows of a chunk from the top: samples of a pixel lie side by
// side, as stored, integers as whole numbers.
type rowStream interface {
	next(dst []float32) error
}

// streamRows reads chunks that can be read only from their top: deflated ones, DCT
// JPEG, and everything of several samples a pixel. The chunks beside each other
// are read in parallel. Going back begins their chunks again.
type streamRows struct {
	*layout
	r    io.ReaderAt
	open func(s *streamRows, i int) (rowStream, error) // chunk i

	k      int // the open row of chunks
	chunks []*openChunk
	flat   []float32
}

// openChunk is a chunk of the open row of chunks.
type openChunk struct {
	rowStream
	row  int       // that next gives
	line []float32 // a row of the chunk
}

func newStreamRows(r io.ReaderAt, l *layout, open func(*streamRows, int) (rowStream, error)) *streamRows {
	return &streamRows{layout: l, r: r, open: open, k: -1}
}

// readRows implements rowReader for integers of one plane.
func (s *streamRows) readRows(y0, n, x0, x1 int, dst []uint16) error {
	size := n * (x1 - x0)
	if cap(s.flat) < size {
		s.flat = make([]float32, size)
	}
	flat := s.flat[:size]
	if err := s.readFloats(y0, n, x0, x1, flat); err != nil {
		return err
	}
	for i, v := range flat {
		dst[i] = uint16(v)
	}
	return nil
}

// readFloats gives rows y0 to y0+n-1, columns x0 to x1-1: each row's planes one
// after the other.
func (s *streamRows) readFloats(y0, n, x0, x1 int, dst []float32) error {
	size := s.spp * (x1 - x0)
	for y := y0; y < y0+n; {
		k := y / s.ch
		rows := min(y0+n, (k+1)*s.ch) - y
		if err := s.readChunks(k, y-k*s.ch, rows, x0, x1, dst[(y-y0)*size:]); err != nil {
			return err
		}
		y += rows
	}
	return nil
}

// readChunks reads rows from row r of the row k of chunks on.
func (s *streamRows) readChunks(k, r, rows, x0, x1 int, dst []float32) error {
	if s.k != k {
		s.k, s.chunks = k, make([]*openChunk, s.across)
	}
	first := x0 / s.cw
	errs := make([]error, (x1+s.cw-1)/s.cw-first)
	workers.Each(runtime.GOMAXPROCS(0), len(errs), func(_, i int) {
		t := first + i
		if err := s.readChunk(k, t, r, rows, x0, x1, dst); err != nil {
			errs[i] = fmt.Errorf("%s %d: %w", s.unit, k*s.across+t, err)
			s.chunks[t] = nil
		}
	})
	return cmp.Or(errs...)
}

func (s *streamRows) readChunk(k, t, r, rows, x0, x1 int, dst []float32) error {
	c := s.chunks[t]
	if c == nil || c.row > r {
		stream, err := s.open(s, k*s.across+t)
		if err != nil {
			return err
		}
		c = &openChunk{rowStream: stream, line: make([]float32, s.cw*s.spp)}
		s.chunks[t] = c
	}
	left, right := max(x0, t*s.cw), min(x1, (t+1)*s.cw)
	for y := c.row; y < r+rows; y++ {
		if err := c.next(c.line); err != nil {
			return fmt.Errorf("row %d: %w", y, err)
		}
		c.row++
		if y < r {
			continue
		}
		for p := range s.spp {
			out := dst[((y-r)*s.spp+p)*(x1-x0):][left-x0 : right-x0]
			for i, at := 0, (left-t*s.cw)*s.spp+p; i < len(out); i, at = i+1, at+s.spp {
				out[i] = c.line[at]
			}
		}
	}
	return nil
}

// section is the bytes of chunk i.
func (s *streamRows) section(i int) *io.SectionReader {
	c := s.layout.chunks[i]
	return io.NewSectionReader(s.r, c.off, c.size)
}
