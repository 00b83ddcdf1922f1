package dng

import (
	"bufio"
	"compress/flate"
	"compress/zlib"
	"errors"
	"fmt"
	"io"
	"math"

	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// byteStream yields the rows of an uncompressed or deflated chunk.
type byteStream struct {
	*layout
	r     io.Reader
	order tiff.Order
	row   []byte
	flat  []byte   // a row of floats, its bytes back in their places
	ints  []uint16 // a row of integers
}

// openBytes opens chunk i.
func (s *streamRows) openBytes(i int, order tiff.Order) (rowStream, error) {
	b := &byteStream{layout: s.layout, order: order, row: make([]byte, s.rowBytes())}
	b.r = bufio.NewReaderSize(s.section(i), 1<<16)
	if s.compression != compNone {
		z, err := zlib.NewReader(b.r)
		if err != nil {
			return nil, deflateError(err)
		}
		b.r = z
	}
	if !s.float {
		b.ints = make([]uint16, s.cw*s.spp)
	}
	return b, nil
}

// deflateError tells a damaged stream from a failed read.
func deflateError(err error) error {
	var corrupt flate.CorruptInputError
	if errors.As(err, &corrupt) || errors.Is(err, zlib.ErrHeader) || errors.Is(err, zlib.ErrChecksum) ||
		errors.Is(err, zlib.ErrDictionary) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &rawerr.FormatError{Where: "deflate", Problem: "damaged or cut short", Err: err}
	}
	return err
}

func (b *byteStream) next(dst []float32) error {
	if _, err := io.ReadFull(b.r, b.row); err != nil {
		return deflateError(err)
	}
	if b.float {
		b.floats(dst)
		return nil
	}
	b.undoHorizontal()
	unpack(b.row, 0, b.bits, b.order, b.ints)
	for i, v := range b.ints {
		dst[i] = float32(v)
	}
	return nil
}

// undoHorizontal turns differences of neighbours into samples (TIFF 6.0 section 14;
// DNG's predictors X2 and X4 take neighbours at two and four pixels).
func (b *byteStream) undoHorizontal() {
	if b.predictor.kind != predictHorizontal {
		return
	}
	back := b.spp * b.predictor.apart
	if b.bits == 8 {
		for i := back; i < len(b.row); i++ {
			b.row[i] += b.row[i-back]
		}
		return
	}
	for i := 2 * back; i < len(b.row); i += 2 {
		b.order.PutUint16(b.row[i:], b.order.Uint16(b.row[i:])+b.order.Uint16(b.row[i-2*back:]))
	}
}

// floats decodes a row of floating-point samples.
func (b *byteStream) floats(dst []float32) {
	row, order, size := b.row, b.order, b.bits/8
	if b.predictor.kind == predictFloat {
		row, order = b.undoFloat(), tiff.Order(bigEndian)
	}
	for i := range dst {
		switch v := row[i*size:]; size {
		case 2:
			dst[i] = fromHalf(order.Uint16(v))
		case 3:
			x := uint32(v[0])<<16 | uint32(v[1])<<8 | uint32(v[2])
			if order != tiff.Order(bigEndian) {
				x = uint32(v[2])<<16 | uint32(v[1])<<8 | uint32(v[0])
			}
			dst[i] = from24(x)
		default:
			dst[i] = math.Float32frombits(order.Uint32(v))
		}
	}
}

// undoFloat undoes the floating-point predictor (Adobe Photoshop TIFF Technical
// Note 3): differences of bytes, the first bytes of all samples before the second
// ones. The result is big-endian.
func (b *byteStream) undoFloat() []byte {
	back := b.spp * b.predictor.apart
	for i := back; i < len(b.row); i++ {
		b.row[i] += b.row[i-back]
	}
	if b.flat == nil {
		b.flat = make([]byte, len(b.row))
	}
	size := b.bits / 8
	n := len(b.row) / size
	for i := range n {
		for k := range size {
			b.flat[i*size+k] = b.row[k*n+i]
		}
	}
	return b.flat
}

// fromHalf converts a 16-bit float: 5 bits of exponent, 10 of fraction.
func fromHalf(v uint16) float32 {
	return small(uint32(v>>15), uint32(v>>10&31), 31, 15, uint32(v&1023), 10)
}

// from24 converts a 24-bit float: 7 bits of exponent, 16 of fraction.
func from24(v uint32) float32 { return small(v>>23, v>>16&127, 127, 63, v&0xFFFF, 16) }

// small makes a float32 of the parts of a shorter float; exponents of top are
// infinite or not a number.
func small(sign, exponent, top, bias, fraction uint32, bits int) float32 {
	v := 0.0
	switch {
	case exponent == top && fraction != 0:
		return float32(math.NaN())
	case exponent == top:
		v = math.Inf(1)
	case exponent == 0:
		v = math.Ldexp(float64(fraction), 1-int(bias)-bits)
	default:
		v = math.Ldexp(float64(1<<bits|fraction), int(exponent)-int(bias)-bits)
	}
	if sign != 0 {
		v = -v
	}
	return float32(v)
}

// predictor is how a row's samples are stored as differences.
type predictor struct {
	kind  int
	apart int // pixels
}

const (
	predictNone = iota
	predictHorizontal
	predictFloat
)

// readPredictor reads the tag of that name for deflated samples.
func (s *source) readPredictor(l *layout) error {
	v, err := s.raw.Uint(tagPredictor, 1)
	if err != nil {
		return err
	}
	p, ok := map[uint64]predictor{
		1: {}, 2: {predictHorizontal, 1}, 3: {predictFloat, 1},
		34892: {predictHorizontal, 2}, 34893: {predictHorizontal, 4},
		34894: {predictFloat, 2}, 34895: {predictFloat, 4},
	}[v]
	if !ok {
		return &rawerr.UnsupportedError{Feature: fmt.Sprintf("DNG with predictor %d", v), Advice: "convert it with Adobe DNG Converter"}
	}
	if p.kind == predictFloat && !l.float || p.kind == predictHorizontal && (l.float || l.bits != 8 && l.bits != 16) {
		return rawerr.Formatf("dng", "predictor %d for samples of %d bits (floating point: %v)", v, l.bits, l.float)
	}
	l.predictor = p
	return nil
}
