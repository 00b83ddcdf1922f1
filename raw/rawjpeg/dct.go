package rawjpeg

import (
	"io"

	"enhance/internal/jpegbits"
	"enhance/raw/rawerr"
)

// dctTables is what a DCT stream has besides a lossless one's tables.
type dctTables struct {
	quant     [4]*[64]float64 // by destination identifier, in zigzag order
	quantiser [4]byte         // a component's destination identifier
	ac        [4]*huffTable   // by destination identifier
	acOf      [4]*huffTable   // by component
	quantOf   [4]*[64]float64
	transform int // Adobe's marker: 0 says that colours are stored as they are; -1: no marker
}

// quantisers reads a DQT segment (T.81 B.2.4.1).
func (t *dctTables) quantisers(s []byte) error {
	for len(s) > 0 {
		size, id := int(s[0]>>4)+1, s[0]&15
		if size > 2 || id > 3 || len(s) < 1+64*size {
			return rawerr.Formatf(where, "quantisation table of %d bytes a value, destination %d, in %d bytes", size, id, len(s))
		}
		q := new([64]float64)
		for i := range q {
			v := 0
			for _, b := range s[1+i*size:][:size] {
				v = v<<8 | int(b)
			}
			if v == 0 {
				return rawerr.Formatf(where, "quantisation table with a zero")
			}
			q[i] = float64(v)
		}
		t.quant[id] = q
		s = s[1+64*size:]
	}
	return nil
}

// adobe reads Adobe's marker segment.
func (t *dctTables) adobe(s []byte) {
	if len(s) >= 12 && string(s[:5]) == "Adobe" {
		t.transform = int(s[11])
	}
}

// pick finds the tables of component c.
func (t *dctTables) pick(c int, ac byte) error {
	if ac > 3 || t.ac[ac] == nil {
		return rawerr.Formatf(where, "component %d uses Huffman table %d of AC coefficients, which is not defined", c, ac)
	}
	q := t.quantiser[c]
	if q > 3 || t.quant[q] == nil {
		return rawerr.Formatf(where, "component %d uses quantisation table %d, which is not defined", c, q)
	}
	t.acOf[c], t.quantOf[c] = t.ac[ac], t.quant[q]
	return nil
}

// DCTDecoder decodes a sequential DCT JPEG stream row by row.
type DCTDecoder struct {
	Header
	// YCbCr says that the three components are luma and colour differences (JFIF), and
	// not red, green and blue.
	YCbCr bool

	br      *bitReader
	dct     *dctTables
	dc      [4]*huffTable // by component
	last    [4]int32      // DC coefficients of the last block
	across  int           // MCUs in a row: blocks of each component
	mcu     int           // since the beginning
	row     int           // of the next row
	samples []uint16      // the rows of the MCU row that row is in
	block   [64]float64
}

// NewDCTDecoder reads the header of the stream in the size bytes of r from offset off.
// It refuses a header that claims more samples than the stream has bits for, so what it
// allocates is bounded by size.
func NewDCTDecoder(r io.ReaderAt, off, size int64) (*DCTDecoder, error) {
	p := headerParser{br: newBitReader(r, off, size), dct: &dctTables{transform: -1}}
	if err := p.parse(); err != nil {
		return nil, err
	}
	h := p.h
	d := &DCTDecoder{Header: h, br: p.br, dct: p.dct, dc: p.picked, across: (h.Width + 7) / 8}
	d.YCbCr = h.Components == 3 && p.dct.transform != 0 && [3]byte(p.ids[:3]) != [3]byte{'R', 'G', 'B'}
	// A block has a code of its DC coefficient and one that ends it, of a bit or more.
	blocks := int64(d.across) * int64((h.Height+7)/8) * int64(h.Components)
	if blocks > 4*size {
		return nil, rawerr.Formatf(where, "%dx%d samples of %d components cannot be in %d bytes", h.Width, h.Height, h.Components, size)
	}
	d.samples = make([]uint16, 8*8*d.across*h.Components)
	return d, nil
}

// RowLen is the number of samples in a row: Width * Components.
func (d *DCTDecoder) RowLen() int { return d.Width * d.Components }

// ReadRow decodes the next row into dst, whose length must be at least RowLen; the
// samples of a pixel's components lie side by side. After the last row it returns
// io.EOF. After an error the decoder must not be used further.
func (d *DCTDecoder) ReadRow(dst []uint16) error {
	if d.row == d.Height {
		return io.EOF
	}
	if d.row%8 == 0 {
		if err := d.decodeRows(); err != nil {
			return err
		}
	}
	stride := 8 * d.across * d.Components
	copy(dst[:d.RowLen()], d.samples[d.row%8*stride:])
	d.row++
	return nil
}

// decodeRows decodes the next row of MCUs into samples.
func (d *DCTDecoder) decodeRows() error {
	for x := range d.across {
		if n := d.RestartInterval; n > 0 && d.mcu > 0 && d.mcu%n == 0 {
			if err := d.br.restart((d.mcu/n - 1) & 7); err != nil {
				return d.fail(err)
			}
			d.last = [4]int32{}
		}
		d.mcu++
		for c := range d.Components {
			if !d.decodeBlock(c) {
				return d.fail(rawerr.Formatf(where, "invalid Huffman code"))
			}
			d.store(x, c)
		}
	}
	if d.br.err != nil {
		return d.br.err
	}
	if d.br.nbit < 0 {
		return d.fail(cutShort())
	}
	return nil
}

// fail adds the row to an error, unless reading failed underneath.
func (d *DCTDecoder) fail(err error) error { return atRow(d.br, d.row, d.Height, err) }

// symbol decodes one code of the table, and leaves the bits after it at the top of the
// accumulator: at least 16, unless the data ends. It reports false on bits that are no
// code.
func (b *bitReader) symbol(t *huffTable) (value byte, ok bool) {
	if b.nbit <= 32 {
		b.fill()
	}
	e := t.lut[b.acc>>(64-lutBits)]
	length, value := int(e>>8), byte(e)
	if length == 0 {
		if length, value = t.long(uint32(b.acc >> 48)); length == 0 {
			// Past the end of the data any pattern is the end's fault.
			return 0, b.stop && b.nbit < 16
		}
	}
	b.acc <<= length
	b.nbit -= length
	return value, true
}

// difference takes the n bits, at most 16, of a difference of that category (T.81 F.2.2.1).
func (b *bitReader) difference(n byte) int32 {
	if n == 0 {
		return 0
	}
	v := int32(b.acc >> (64 - n))
	b.acc <<= n
	b.nbit -= int(n)
	if v < 1<<(n-1) {
		v -= 1<<n - 1
	}
	return v
}

// decodeBlock decodes a block of component c and makes samples of its coefficients,
// without the level shift (T.81 F.2).
func (d *DCTDecoder) decodeBlock(c int) bool {
	b, q := d.br, d.dct.quantOf[c]
	d.block = [64]float64{}
	n, ok := b.symbol(d.dc[c])
	if !ok {
		return false
	}
	d.last[c] += b.difference(n)
	d.block[0] = float64(d.last[c]) * q[0]
	ac := d.dct.acOf[c]
	for k := 1; k < 64; k++ {
		rs, ok := b.symbol(ac)
		if !ok {
			return false
		}
		if rs&15 == 0 {
			if rs != 0xF0 { // the end of the block
				break
			}
			k += 15
			continue
		}
		if k += int(rs >> 4); k > 63 {
			return false
		}
		d.block[jpegbits.Zigzag[k]] = float64(b.difference(rs&15)) * q[k]
	}
	inverseDCT(&d.block)
	return true
}

// store puts the block into column x of blocks of component c, rounded and cut to the
// samples' range.
func (d *DCTDecoder) store(x, c int) {
	n := d.Components
	half, top := float64(uint(1)<<(d.Precision-1)), float64(uint(1)<<d.Precision-1)
	stride := 8 * d.across * n
	for i := range 8 {
		out := d.samples[i*stride+8*x*n+c:]
		for j := range 8 {
			v := d.block[8*i+j] + half
			out[j*n] = uint16(min(max(v, 0), top) + 0.5)
		}
	}
}
