package rawjpeg

import (
	"fmt"
	"io"

	"enhance/raw/rawerr"
)

// Decoder decodes a lossless JPEG stream row by row.
type Decoder struct {
	Header
	br       *bitReader
	tables   [4]*huffTable // by component
	row      int           // of the next row
	interval int           // rows between restart markers, 0 for none
	first    int           // the row after the last restart marker, predicted from the left only
	prev     []uint16      // the row above, before the point transform is undone
	cur      []uint16

	// Extra16 makes a difference of category 16 be followed by 16 bits that
	// are skipped, as DNG files before version 1.1 have it.
	Extra16 bool
}

// NewDecoder reads the header of the stream in the size bytes of r from offset
// off. It refuses a header that claims more samples than the stream has bits,
// so what it allocates is bounded by size.
func NewDecoder(r io.ReaderAt, off, size int64) (*Decoder, error) {
	p := headerParser{br: newBitReader(r, off, size)}
	if err := p.parse(); err != nil {
		return nil, err
	}
	h := p.h
	if samples := int64(h.Width) * int64(h.Height) * int64(h.Components); samples > 8*size {
		return nil, rawerr.Formatf(where, "%dx%d samples of %d components cannot be in %d bytes", h.Width, h.Height, h.Components, size)
	}
	n := h.Width * h.Components
	d := &Decoder{Header: h, br: p.br, tables: p.picked, interval: h.RestartInterval / h.Width,
		prev: make([]uint16, n), cur: make([]uint16, n)}
	return d, nil
}

// RowLen is the number of samples in a row: Width * Components.
func (d *Decoder) RowLen() int { return len(d.cur) }

// Row is the row that ReadRow will return next.
func (d *Decoder) Row() int { return d.row }

// ReadRow decodes the next row into dst, whose length must be at least RowLen;
// the samples of a pixel's components lie side by side. After the last row it
// returns io.EOF. After an error the Decoder must not be used further, except
// to Restore it.
func (d *Decoder) ReadRow(dst []uint16) error {
	if d.row == d.Height {
		return io.EOF
	}
	if d.interval > 0 && d.row > 0 && d.row%d.interval == 0 {
		if err := d.br.restart((d.row/d.interval - 1) & 7); err != nil {
			return d.fail(err)
		}
		d.first = d.row
	}
	if !d.decodeRow() {
		return d.fail(rawerr.Formatf(where, "invalid Huffman code"))
	}
	if d.br.err != nil {
		return d.br.err
	}
	if d.br.nbit < 0 {
		return d.fail(cutShort())
	}
	if d.PointTransform == 0 {
		copy(dst, d.cur)
	} else {
		for i, v := range d.cur {
			dst[i] = v << d.PointTransform
		}
	}
	d.prev, d.cur = d.cur, d.prev
	d.row++
	return nil
}

// fail adds the row to an error, unless reading failed underneath.
func (d *Decoder) fail(err error) error { return atRow(d.br, d.row, d.Height, err) }

func atRow(br *bitReader, row, height int, err error) error {
	if br.err != nil {
		return br.err
	}
	return fmt.Errorf("row %d of %d: %w", row, height, err)
}

// decodeRow decodes differences and predicts (T.81 H.1.2.1). It reports false
// on bits that are no code; running out of bits is left for br.nbit to tell.
func (d *Decoder) decodeRow() bool {
	c := d.Components
	top := d.row == d.first
	for i := range c {
		pred := int32(1) << (d.Precision - d.PointTransform - 1)
		if !top {
			pred = int32(d.prev[i])
		}
		diff, ok := d.diff(d.tables[i])
		if !ok {
			return false
		}
		d.cur[i] = uint16(pred + diff)
	}
	if top || d.Predictor == 1 {
		return d.decodeLeft()
	}
	for i := c; i < len(d.cur); i++ {
		diff, ok := d.diff(d.tables[i%c])
		if !ok {
			return false
		}
		pred := predict(d.Predictor, int32(d.cur[i-c]), int32(d.prev[i]), int32(d.prev[i-c]))
		d.cur[i] = uint16(pred + diff)
	}
	return true
}

// decodeLeft is the rest of decodeRow for predictor 1.
func (d *Decoder) decodeLeft() bool {
	c := d.Components
	for i := c; i < len(d.cur); i += c {
		for k := range c {
			diff, ok := d.diff(d.tables[k])
			if !ok {
				return false
			}
			d.cur[i+k] = uint16(int32(d.cur[i+k-c]) + diff)
		}
	}
	return true
}

// predict is T.81 table H.1: a is the sample to the left, b above, c above left.
func predict(predictor int, a, b, c int32) int32 {
	switch predictor {
	case 1:
		return a
	case 2:
		return b
	case 3:
		return c
	case 4:
		return a + b - c
	case 5:
		return a + (b-c)>>1
	case 6:
		return b + (a-c)>>1
	}
	return (a + b) >> 1
}

// diff decodes one difference: the code of its category, then that many bits
// (T.81 H.1.2.2 and figure F.12).
func (d *Decoder) diff(t *huffTable) (int32, bool) {
	b := d.br
	if b.nbit <= 32 {
		b.fill()
	}
	e := t.lut[b.acc>>(64-lutBits)]
	length, category := int(e>>8), int(e&0xFF)
	if length == 0 {
		l, s := t.long(uint32(b.acc >> 48))
		if l == 0 {
			// Past the end of the data any pattern is the end's fault.
			return 0, b.stop && b.nbit < 16
		}
		length, category = l, int(s)
	}
	if category == 0 {
		b.acc <<= length
		b.nbit -= length
		return 0, true
	}
	if category == 16 {
		if d.Extra16 {
			length += 16
		}
		b.acc <<= length
		b.nbit -= length
		return 32768, true
	}
	v := int32(b.acc << length >> (64 - category))
	if v < 1<<(category-1) {
		v -= 1<<category - 1
	}
	length += category
	b.acc <<= length
	b.nbit -= length
	return v, true
}

// Checkpoint is a position between two rows of a stream.
type Checkpoint struct {
	row, first int
	off        int64
	acc        uint64
	nbit       int
	prev       []uint16
}

// Row is the row that ReadRow returns next at the checkpoint.
func (c *Checkpoint) Row() int { return c.row }

// Checkpoint saves the position before the next row. It holds a copy of the
// row above: RowLen samples of 2 bytes.
func (d *Decoder) Checkpoint() *Checkpoint {
	b := d.br
	return &Checkpoint{row: d.row, first: d.first, off: b.off - int64(len(b.buf)-b.pos),
		acc: b.acc, nbit: b.nbit, prev: append([]uint16(nil), d.prev...)}
}

// Restore returns to a position that Checkpoint of the same Decoder saved.
func (d *Decoder) Restore(c *Checkpoint) {
	d.row, d.first = c.row, c.first
	copy(d.prev, c.prev)
	b := d.br
	b.off, b.acc, b.nbit = c.off, c.acc, c.nbit
	b.buf, b.pos, b.stop, b.err = b.buf[:0], 0, false, nil
}
