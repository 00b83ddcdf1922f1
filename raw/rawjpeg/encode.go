package rawjpeg

import (
	"encoding/binary"
	"fmt"
	"slices"

	"enhance/internal/jpegbits"
)

// Encode compresses samples, Height rows of Width*Components samples, as the
// header h says. A zero Predictor stands for 1. RestartInterval counts MCUs and
// must be a whole number of rows. With a PointTransform the low bits are lost.
// Huffman codes are optimal for the data.
func Encode(h Header, samples []uint16) ([]byte, error) {
	return new(Encoder).Encode(nil, h, samples)
}

// Encoder encodes one image after another in the same memory. Its zero value is ready; it
// is not safe for concurrent use.
type Encoder struct {
	diffs []int32
}

// Encode is the function Encode, appending to dst.
func (e *Encoder) Encode(dst []byte, h Header, samples []uint16) ([]byte, error) {
	if h.Predictor == 0 {
		h.Predictor = 1
	}
	if err := h.check(len(samples)); err != nil {
		return nil, err
	}
	e.diffs = slices.Grow(e.diffs[:0], len(samples))[:len(samples)]
	differences(e.diffs, h, samples)
	freq := make([]int, 17)
	for _, d := range e.diffs {
		freq[jpegbits.Category(d)]++
	}
	code := newHuffCode(freq)
	w := jpegbits.Writer{Out: appendHeader(dst, h, code)}
	interval := len(e.diffs)
	if h.RestartInterval > 0 {
		interval = h.RestartInterval * h.Components
	}
	for at, n := 0, 0; at < len(e.diffs); at, n = at+interval, n+1 {
		if n > 0 {
			w.Out = append(w.Out, 0xFF, byte(mRST0+(n-1)&7))
		}
		putDifferences(&w, e.diffs[at:min(at+interval, len(e.diffs))], code)
		w.Flush()
	}
	return append(w.Out, 0xFF, mEOI), nil
}

// putDifferences writes each difference's category and what is left of it.
func putDifferences(w *jpegbits.Writer, diffs []int32, c *huffCode) {
	for _, d := range diffs {
		s := jpegbits.Category(d)
		code, n := uint64(c.codes[s]), c.lengths[s]
		if s < 16 { // 32768 needs no more bits
			code, n = code<<s|jpegbits.Rest(d, s), n+s
		}
		w.Put(code, n)
	}
}

func (h Header) check(n int) error {
	switch {
	case h.Width < 1 || h.Width > 65535 || h.Height < 1 || h.Height > 65535:
		return fmt.Errorf("jpeg: size %dx%d, want 1 to 65535", h.Width, h.Height)
	case h.Components < 1 || h.Components > 4:
		return fmt.Errorf("jpeg: %d components, want 1 to 4", h.Components)
	case n != h.Width*h.Height*h.Components:
		return fmt.Errorf("jpeg: %d samples for %dx%dx%d", n, h.Height, h.Width, h.Components)
	case h.Precision < 2 || h.Precision > 16 || h.PointTransform < 0 || h.PointTransform >= h.Precision:
		return fmt.Errorf("jpeg: precision %d, point transform %d", h.Precision, h.PointTransform)
	case h.Predictor < 1 || h.Predictor > 7:
		return fmt.Errorf("jpeg: predictor %d, want 1 to 7", h.Predictor)
	case h.RestartInterval < 0 || h.RestartInterval > 65535 || h.RestartInterval%h.Width != 0:
		return fmt.Errorf("jpeg: restart interval %d for rows of %d", h.RestartInterval, h.Width)
	}
	return nil
}

// differences writes the prediction errors to dst, modulo 65536 in (-32768, 32768],
// where 32768 stands for itself (category 16).
func differences(dst []int32, h Header, samples []uint16) {
	n, c := h.Width*h.Components, h.Components
	rows := h.RestartInterval / h.Width
	for y := range h.Height {
		row, out := samples[y*n:][:n], dst[y*n:][:n]
		first := y == 0 || rows > 0 && y%rows == 0
		for x := range c { // the first pixel
			pred := int32(1) << (h.Precision - h.PointTransform - 1)
			if !first {
				pred = int32(samples[(y-1)*n+x] >> h.PointTransform)
			}
			out[x] = difference(int32(row[x]>>h.PointTransform), pred)
		}
		if first || h.Predictor == 1 {
			for x := c; x < n; x++ {
				out[x] = difference(int32(row[x]>>h.PointTransform), int32(row[x-c]>>h.PointTransform))
			}
			continue
		}
		above := samples[(y-1)*n:][:n]
		for x := c; x < n; x++ {
			pred := predict(h.Predictor, int32(row[x-c]>>h.PointTransform), int32(above[x]>>h.PointTransform), int32(above[x-c]>>h.PointTransform))
			out[x] = difference(int32(row[x]>>h.PointTransform), pred)
		}
	}
}

func difference(v, pred int32) int32 {
	d := int32(int16(v - pred))
	if d == -32768 {
		return 32768
	}
	return d
}

func appendHeader(out []byte, h Header, code *huffCode) []byte {
	out = append(out, 0xFF, mSOI)
	out = appendFrame(out, mSOF3, h)
	out = code.appendTable(out, 0)
	out = appendScan(out, h)
	return append(out, byte(h.Predictor), 0, byte(h.PointTransform))
}

// appendFrame appends the frame header.
func appendFrame(out []byte, marker byte, h Header) []byte {
	be := binary.BigEndian
	out = append(out, 0xFF, marker)
	out = be.AppendUint16(out, uint16(8+3*h.Components))
	out = append(out, byte(h.Precision))
	out = be.AppendUint16(out, uint16(h.Height))
	out = be.AppendUint16(out, uint16(h.Width))
	out = append(out, byte(h.Components))
	for c := range h.Components {
		out = append(out, byte(c), 0x11, 0)
	}
	return out
}

// appendScan appends the restart interval and the scan header up to its last three bytes.
func appendScan(out []byte, h Header) []byte {
	be := binary.BigEndian
	if h.RestartInterval > 0 {
		out = append(out, 0xFF, mDRI, 0, 4)
		out = be.AppendUint16(out, uint16(h.RestartInterval))
	}
	out = append(out, 0xFF, mSOS)
	out = be.AppendUint16(out, uint16(6+2*h.Components))
	out = append(out, byte(h.Components))
	for c := range h.Components {
		out = append(out, byte(c), 0)
	}
	return out
}
