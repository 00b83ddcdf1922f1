package rawjpeg

import (
	"encoding/binary"
	"fmt"
	"math/bits"
)

// Encode compresses samples, Height rows of Width*Components samples, as the
// header h says. A zero Predictor stands for 1. RestartInterval counts MCUs and
// must be a whole number of rows. With a PointTransform the low bits are lost.
// Huffman codes are optimal for the data.
func Encode(h Header, samples []uint16) ([]byte, error) {
	if h.Predictor == 0 {
		h.Predictor = 1
	}
	if err := h.check(len(samples)); err != nil {
		return nil, err
	}
	diffs := differences(h, samples)
	freq := make([]int, 17)
	for _, d := range diffs {
		freq[category(d)]++
	}
	code := newHuffCode(freq)
	w := bitWriter{out: appendHeader(nil, h, code)}
	perRow := h.Width * h.Components
	for i, d := range diffs {
		if r := h.RestartInterval / h.Width * perRow; r > 0 && i > 0 && i%r == 0 {
			w.flush()
			w.out = append(w.out, 0xFF, byte(mRST0+(i/r-1)&7))
		}
		s := category(d)
		w.put(code.codes[s], code.lengths[s])
		if s < 16 {
			w.putDifference(int(d), s)
		}
	}
	w.flush()
	return append(w.out, 0xFF, mEOI), nil
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

// differences are the prediction errors modulo 65536 in (-32768, 32768] folded
// to int32, where 32768 stands for itself (category 16).
func differences(h Header, samples []uint16) []int32 {
	n, c := h.Width*h.Components, h.Components
	out := make([]int32, len(samples))
	rows := h.RestartInterval / h.Width
	first := 0
	at := func(i int) int32 { return int32(samples[i] >> h.PointTransform) }
	for i := range samples {
		y, x := i/n, i%n
		if rows > 0 && y%rows == 0 {
			first = y
		}
		var pred int32
		switch {
		case x < c && y == first:
			pred = 1 << (h.Precision - h.PointTransform - 1)
		case x < c:
			pred = at(i - n)
		case y == first:
			pred = at(i - c)
		default:
			pred = predict(h.Predictor, at(i-c), at(i-n), at(i-n-c))
		}
		d := int32(int16(at(i) - pred))
		if d == -32768 {
			d = 32768
		}
		out[i] = d
	}
	return out
}

// category is SSSS: how many bits the difference needs.
func category(d int32) int {
	if d < 0 {
		d = -d
	}
	return bits.Len32(uint32(d))
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

// bitWriter appends bits, most significant first, stuffing a zero after 0xFF.
type bitWriter struct {
	out  []byte
	acc  uint32
	nbit int
}

func (w *bitWriter) put(v, n int) {
	w.acc = w.acc<<n | uint32(v)
	w.nbit += n
	for w.nbit >= 8 {
		w.nbit -= 8
		b := byte(w.acc >> w.nbit)
		w.out = append(w.out, b)
		if b == 0xFF {
			w.out = append(w.out, 0)
		}
	}
}

// putDifference writes the bits of a difference of category s (T.81 F.1.2.1.1).
func (w *bitWriter) putDifference(v, s int) {
	if v < 0 {
		v += 1<<s - 1
	}
	w.put(v, s)
}

// flush pads the last byte with ones (T.81 F.1.2.3).
func (w *bitWriter) flush() {
	if w.nbit > 0 {
		n := 8 - w.nbit
		w.put(1<<n-1, n)
	}
}
