package dng

import (
	"time"

	"enhance/internal/workers"
	"enhance/raw/tiff"
)

// readSize is how much is read at once where rows are small.
const readSize = 1 << 20

// packedRows reads uncompressed chunks: exactly the bytes of the rows asked for.
type packedRows struct {
	*layout
	file *tiff.File
	buf  []byte
}

func (p *packedRows) readRows(y0, n, x0, x1 int, dst []uint16) error {
	rowBytes := p.rowBytes()
	for y := y0; y < y0+n; {
		k := y / p.ch
		rows := min(y0+n, (k+1)*p.ch) - y
		rows = min(rows, int(max(1, readSize/rowBytes)))
		for tx := x0 / p.cw; tx*p.cw < x1; tx++ {
			c := p.chunks[k*p.across+tx]
			size := int64(rows) * rowBytes
			if int64(cap(p.buf)) < size {
				p.buf = make([]byte, size)
			}
			b := p.buf[:size]
			if err := tiff.ReadFull(p.file.ReaderAt(), b, c.off+int64(y-k*p.ch)*rowBytes); err != nil {
				return err
			}
			left, right := max(x0, tx*p.cw), min(x1, (tx+1)*p.cw)
			workers.Each(workers.Count(rows, time.Duration(right-left)), rows, func(_, r int) {
				out := dst[(y-y0+r)*(x1-x0):][left-x0 : right-x0]
				unpack(b[int64(r)*rowBytes:][:rowBytes], left-tx*p.cw, p.bits, p.file.Order(), out)
			})
		}
		y += rows
	}
	return nil
}

// unpack decodes len(dst) samples of a row from column x on. Samples of 16 bits
// are in the file's byte order; others are packed most significant bit first
// whatever the byte order (TIFF 6.0, FillOrder 1).
func unpack(row []byte, x, bits int, order tiff.Order, dst []uint16) {
	if bits == 16 {
		row = row[2*x:]
		for i := range dst {
			dst[i] = order.Uint16(row[2*i:])
		}
		return
	}
	first := x * bits
	row = row[first/8:]
	have := 8 - first%8
	acc := uint32(row[0]) & (1<<have - 1)
	k := 1
	for i := range dst {
		for have < bits {
			acc = acc<<8 | uint32(row[k])
			k++
			have += 8
		}
		have -= bits
		dst[i] = uint16(acc >> have)
		acc &= 1<<have - 1
	}
}
