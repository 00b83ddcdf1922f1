package rawjpeg

import (
	"encoding/binary"
	"io"

	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// bufferSize is the read buffer of a decoder. Large enough that a disk or page
// cache read is cheap a byte, small enough to have one for each tile column.
const bufferSize = 32 << 10

// bitReader reads the bytes off to end of r: whole bytes for the header, then
// entropy-coded bits, most significant first, with stuffed zero bytes removed
// (T.81 F.2.2.5).
type bitReader struct {
	r    io.ReaderAt
	off  int64 // of the first byte not in buf
	end  int64
	buf  []byte // unread bytes are buf[pos:]
	pos  int
	acc  uint64 // the next nbit bits, left aligned; zeros below them
	nbit int    // negative once bits were taken that the data does not have
	stop bool   // a marker or the end of the data was met
	err  error  // an I/O error
}

func newBitReader(r io.ReaderAt, off, size int64) *bitReader {
	return &bitReader{r: r, off: off, end: off + size}
}

func cutShort() error {
	return rawerr.Formatf(where, "data ends too early: it is cut short or damaged")
}

// more reads the next piece of the data into the buffer, keeping unread bytes.
// It reports whether there was any.
func (b *bitReader) more() bool {
	n := min(int64(bufferSize), b.end-b.off)
	if n <= 0 || b.err != nil {
		return false
	}
	keep := len(b.buf) - b.pos
	fresh := b.buf[:0]
	if cap(fresh) < keep+int(n) {
		fresh = make([]byte, 0, keep+int(n))
	}
	fresh = append(fresh, b.buf[b.pos:]...)[:keep+int(n)]
	b.err = tiff.ReadFull(b.r, fresh[keep:], b.off)
	if b.err != nil {
		return false
	}
	b.buf, b.pos, b.off = fresh, 0, b.off+n
	return true
}

// bytes returns the next n bytes. They are valid until the next call.
func (b *bitReader) bytes(n int) ([]byte, error) {
	for len(b.buf)-b.pos < n {
		if !b.more() {
			if b.err != nil {
				return nil, b.err
			}
			return nil, cutShort()
		}
	}
	s := b.buf[b.pos:][:n]
	b.pos += n
	return s, nil
}

// fill tops the accumulator up to more than 32 bits, unless the data ends.
func (b *bitReader) fill() {
	if b.pos+4 <= len(b.buf) {
		v := binary.BigEndian.Uint32(b.buf[b.pos:])
		// No byte is 0xFF: no byte of ^v is zero.
		if (^v-0x01010101)&v&0x80808080 == 0 {
			b.acc |= uint64(v) << (32 - b.nbit)
			b.nbit += 32
			b.pos += 4
			return
		}
	}
	b.fillSlow()
}

// fillSlow is fill byte by byte, with stuffing, markers and the end of data.
func (b *bitReader) fillSlow() {
	for b.nbit <= 32 && !b.stop {
		if len(b.buf)-b.pos < 2 && b.more() {
			continue
		}
		if b.pos == len(b.buf) {
			b.stop = true
			return
		}
		v := b.buf[b.pos]
		if v == 0xFF {
			// A lone 0xFF at the very end is the first half of a marker.
			if b.pos+1 == len(b.buf) || b.buf[b.pos+1] != 0 {
				b.stop = true
				return
			}
			b.pos++
		}
		b.pos++
		b.acc |= uint64(v) << (56 - b.nbit)
		b.nbit += 8
	}
}

// restart skips the padding bits before restart marker RSTn and the marker.
func (b *bitReader) restart(n int) error {
	// Every bit before the marker is in the accumulator or padding of less than
	// a byte, unless the data is damaged.
	if b.nbit >= 8 || !b.atMarker() {
		return rawerr.Formatf(where, "no restart marker where one should be")
	}
	b.acc, b.nbit, b.stop = 0, 0, false
	m, err := b.bytes(2)
	for err == nil && m[0] == 0xFF && m[1] == 0xFF {
		b.pos--
		m, err = b.bytes(2)
	}
	if err != nil {
		return err
	}
	if m[0] != 0xFF || m[1] != byte(mRST0+n) {
		return rawerr.Formatf(where, "marker % x where restart marker %d should be", m, n)
	}
	return nil
}

// atMarker reports whether a marker is next after the bits already taken in.
func (b *bitReader) atMarker() bool {
	b.fillSlow()
	return b.stop && b.pos < len(b.buf)
}
