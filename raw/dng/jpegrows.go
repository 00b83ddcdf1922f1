package dng

import (
	"cmp"
	"fmt"
	"io"
	"runtime"
	"sync"

	"enhance/raw/rawerr"
	"enhance/raw/rawjpeg"
)

// cacheBytes bounds the decoded samples kept by jpegRows. Two tile rows of
// 256 rows of a 100-megapixel photo (12,000 wide) are 12 MB.
const cacheBytes = 32 << 20

// slots is how many chunk rows are kept: the one being read and the one above,
// so that strips with a halo across a chunk boundary decode nothing twice.
const slots = 2

// jpegRows reads chunks of lossless JPEG. Chunk rows that are small enough are
// decoded whole, their chunks in parallel; larger ones (a photo in one strip)
// are decoded row by row as asked for.
type jpegRows struct {
	*layout
	r     io.ReaderAt
	early bool // DNG before 1.1: rawjpeg.Decoder.Extra16
	whole bool
	slot  [slots]slot
	clock int
}

// slot holds one chunk row.
type slot struct {
	k       int // -1: empty
	used    int
	samples []uint16    // decoded whole: rowsIn x w samples
	streams []*chunkRow // or one open decoder for each chunk
}

func newJPEGRows(r io.ReaderAt, l *layout, early bool) *jpegRows {
	j := &jpegRows{layout: l, r: r, early: early}
	j.whole = j.fitsCache()
	for i := range j.slot {
		j.slot[i].k = -1
	}
	return j
}

// fitsCache reports whether decoded rows of chunks do.
func (j *jpegRows) fitsCache() bool {
	return int64(j.w)*int64(min(j.ch, j.h))*2*slots <= cacheBytes
}

func (j *jpegRows) readRows(y0, n, x0, x1 int, dst []uint16) error {
	width := x1 - x0
	for y := y0; y < y0+n; {
		k := y / j.ch
		rows := min(y0+n, (k+1)*j.ch) - y
		s, err := j.load(k)
		if err != nil {
			return err
		}
		for r := range rows {
			out := dst[(y-y0+r)*width:][:width]
			if j.whole {
				copy(out, s.samples[(y-k*j.ch+r)*j.w+x0:])
				continue
			}
			if err := j.streamRow(s, y-k*j.ch+r, x0, x1, out); err != nil {
				return err
			}
		}
		y += rows
	}
	return nil
}

// load returns the slot of chunk row k, filling the least recently used one.
func (j *jpegRows) load(k int) (*slot, error) {
	j.clock++
	oldest := &j.slot[0]
	for i := range j.slot {
		s := &j.slot[i]
		if s.k == k {
			s.used = j.clock
			return s, nil
		}
		if s.used < oldest.used {
			oldest = s
		}
	}
	s := oldest
	s.k, s.streams = -1, nil
	var err error
	if j.whole {
		err = j.decodeWhole(s, k)
	} else {
		err = j.openStreams(s, k)
	}
	if err != nil {
		return nil, err
	}
	s.k, s.used = k, j.clock
	return s, nil
}

// decodeWhole decodes the chunks of chunk row k side by side into s.samples.
func (j *jpegRows) decodeWhole(s *slot, k int) error {
	rows := min(j.ch, j.h-k*j.ch)
	if s.samples == nil {
		s.samples = make([]uint16, min(j.ch, j.h)*j.w)
	}
	errs := make([]error, j.across)
	var wg sync.WaitGroup
	limit := make(chan struct{}, runtime.GOMAXPROCS(0))
	for t := range j.across {
		limit <- struct{}{}
		wg.Go(func() {
			defer func() { <-limit }()
			errs[t] = j.decodeChunk(s, k, t, rows)
		})
	}
	wg.Wait()
	return cmp.Or(errs...)
}

func (j *jpegRows) decodeChunk(s *slot, k, t, rows int) error {
	c, err := j.openChunk(k, t)
	if err != nil {
		return err
	}
	c.everyRows = 0 // read once downwards: no checkpoints
	left, right := t*j.cw, min((t+1)*j.cw, j.w)
	for r := range rows {
		if err := c.read(r, 0, s.samples[r*j.w:][left:right]); err != nil {
			return err
		}
	}
	return nil
}

func (j *jpegRows) openStreams(s *slot, k int) error {
	for t := range j.across {
		c, err := j.openChunk(k, t)
		if err != nil {
			return err
		}
		s.streams = append(s.streams, c)
	}
	return nil
}

func (j *jpegRows) streamRow(s *slot, row, x0, x1 int, out []uint16) error {
	for t := x0 / j.cw; t*j.cw < x1; t++ {
		left, right := max(x0, t*j.cw), min(x1, (t+1)*j.cw)
		if err := s.streams[t].read(row, left-t*j.cw, out[left-x0:right-x0]); err != nil {
			return err
		}
	}
	return nil
}

func (j *jpegRows) openChunk(k, t int) (*chunkRow, error) {
	i := k*j.across + t
	name := fmt.Sprintf("%s %d", j.unit, i)
	d, err := rawjpeg.NewDecoder(j.r, j.chunks[i].off, j.chunks[i].size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	d.Extra16 = j.early
	need := min(j.ch, j.h-k*j.ch)
	whole := j.rowsIn(k)
	have := int64(d.RowLen()) * int64(d.Height)
	fits := d.RowLen() == j.cw && d.Height >= need || have == int64(j.cw)*int64(whole)
	if !fits {
		return nil, rawerr.Formatf("dng: "+name, "lossless JPEG of %dx%d samples, %d components, in a chunk of %dx%d samples",
			d.Width, d.Height, d.Components, j.cw, whole)
	}
	return &chunkRow{d: d, name: name, width: j.cw, line: make([]uint16, d.RowLen()), have: -1, everyRows: checkpointRows}, nil
}

// checkpointRows is how far apart positions to return to are kept: they cost
// one row of memory each, and going back costs decoding at most that many rows.
const checkpointRows = 64

// chunkRow reads rows of one chunk in any order. The JPEG's rows may be of
// another length than the chunk's (some writers fold two rows into one): only
// the order of samples counts, as in the DNG specification's appendix on
// lossless JPEG.
type chunkRow struct {
	d         *rawjpeg.Decoder
	name      string
	width     int      // samples of a chunk row
	line      []uint16 // JPEG row number have
	have      int
	broken    bool // an error left the decoder between rows
	everyRows int
	points    []*rawjpeg.Checkpoint // of JPEG rows 0, everyRows, 2*everyRows, ...
}

// read reads len(dst) samples of chunk row r from column x on.
func (c *chunkRow) read(r, x int, dst []uint16) error {
	at := r*c.width + x
	for len(dst) > 0 {
		if err := c.seek(at / len(c.line)); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		n := copy(dst, c.line[at%len(c.line):])
		dst = dst[n:]
		at += n
	}
	return nil
}

// seek decodes JPEG row y into line, starting from the nearest position known.
func (c *chunkRow) seek(y int) error {
	if c.have == y {
		return nil
	}
	if n := len(c.points); n > 0 {
		p := c.points[min(y/c.everyRows, n-1)]
		if c.broken || y < c.d.Row() || p.Row() > c.d.Row() {
			c.d.Restore(p)
			c.broken = false
		}
	}
	if c.broken || y < c.d.Row() {
		return fmt.Errorf("jpeg: row %d cannot be reached again after row %d", y, c.d.Row())
	}
	for c.d.Row() <= y {
		row := c.d.Row()
		if c.everyRows > 0 && row == len(c.points)*c.everyRows {
			c.points = append(c.points, c.d.Checkpoint())
		}
		if err := c.d.ReadRow(c.line); err != nil {
			c.have, c.broken = -1, true
			return err
		}
		c.have = row
	}
	return nil
}
