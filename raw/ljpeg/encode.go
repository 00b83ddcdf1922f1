package ljpeg

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"slices"
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
	var freq [17]int
	for _, d := range diffs {
		freq[category(d)]++
	}
	lengths := codeLengths(freq)
	var counts [16]byte
	var values []byte
	for l := 1; l <= 16; l++ {
		for s, n := range lengths {
			if n == l {
				counts[l-1]++
				values = append(values, byte(s))
			}
		}
	}
	out := appendHeader(nil, h, counts, values)
	w := bitWriter{out: out}
	codes := canonical(counts, values)
	perRow := h.Width * h.Components
	for i, d := range diffs {
		if r := h.RestartInterval / h.Width * perRow; r > 0 && i > 0 && i%r == 0 {
			w.flush()
			w.out = append(w.out, 0xFF, byte(mRST0+(i/r-1)&7))
		}
		s := category(d)
		w.put(codes[s], lengths[s])
		if s > 0 && s < 16 {
			v := int(d)
			if v < 0 {
				v += 1<<s - 1
			}
			w.put(v, s)
		}
	}
	w.flush()
	return append(w.out, 0xFF, mEOI), nil
}

func (h Header) check(n int) error {
	switch {
	case h.Width < 1 || h.Width > 65535 || h.Height < 1 || h.Height > 65535:
		return fmt.Errorf("lossless jpeg: size %dx%d, want 1 to 65535", h.Width, h.Height)
	case h.Components < 1 || h.Components > 4:
		return fmt.Errorf("lossless jpeg: %d components, want 1 to 4", h.Components)
	case n != h.Width*h.Height*h.Components:
		return fmt.Errorf("lossless jpeg: %d samples for %dx%dx%d", n, h.Height, h.Width, h.Components)
	case h.Precision < 2 || h.Precision > 16 || h.PointTransform < 0 || h.PointTransform >= h.Precision:
		return fmt.Errorf("lossless jpeg: precision %d, point transform %d", h.Precision, h.PointTransform)
	case h.Predictor < 1 || h.Predictor > 7:
		return fmt.Errorf("lossless jpeg: predictor %d, want 1 to 7", h.Predictor)
	case h.RestartInterval < 0 || h.RestartInterval > 65535 || h.RestartInterval%h.Width != 0:
		return fmt.Errorf("lossless jpeg: restart interval %d for rows of %d", h.RestartInterval, h.Width)
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

// codeLengths returns a Huffman code length of at most 16 for every category
// that occurs (T.81 annex K.2). One more symbol of frequency 1 takes part and
// is then dropped, so that no code is all ones.
func codeLengths(freq [17]int) [17]int {
	type node struct {
		freq  int
		leafs []int
	}
	nodes := []node{{1, []int{17}}}
	for s, f := range freq {
		if f > 0 {
			nodes = append(nodes, node{f, []int{s}})
		}
	}
	var length [18]int
	for len(nodes) > 1 {
		// Merge the two rarest. 18 symbols give codes of at most 17 bits.
		for k := range 2 {
			least := k
			for i := k + 1; i < len(nodes); i++ {
				if nodes[i].freq < nodes[least].freq {
					least = i
				}
			}
			nodes[k], nodes[least] = nodes[least], nodes[k]
		}
		merged := node{nodes[0].freq + nodes[1].freq, append(nodes[0].leafs, nodes[1].leafs...)}
		for _, s := range merged.leafs {
			length[s]++
		}
		nodes = append(nodes[2:], merged)
	}
	if slices.Max(length[:]) > 16 {
		// Too deep only when frequencies grow like Fibonacci numbers; flatter
		// ones give a shorter code that is hardly longer on average.
		for s, f := range freq {
			freq[s] = (f + 1) / 2
		}
		return codeLengths(freq)
	}
	return [17]int(length[:17])
}

// canonical assigns codes in the order of T.81 annex C.
func canonical(counts [16]byte, values []byte) [17]int {
	var codes [17]int
	code, k := 0, 0
	for _, n := range counts {
		for range n {
			codes[values[k]] = code
			code++
			k++
		}
		code <<= 1
	}
	return codes
}

func appendHeader(out []byte, h Header, counts [16]byte, values []byte) []byte {
	be := binary.BigEndian
	out = append(out, 0xFF, mSOI, 0xFF, mSOF3)
	out = be.AppendUint16(out, uint16(8+3*h.Components))
	out = append(out, byte(h.Precision))
	out = be.AppendUint16(out, uint16(h.Height))
	out = be.AppendUint16(out, uint16(h.Width))
	out = append(out, byte(h.Components))
	for c := range h.Components {
		out = append(out, byte(c), 0x11, 0)
	}
	out = append(out, 0xFF, mDHT)
	out = be.AppendUint16(out, uint16(19+len(values)))
	out = append(out, 0)
	out = append(out, counts[:]...)
	out = append(out, values...)
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
	return append(out, byte(h.Predictor), 0, byte(h.PointTransform))
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

// flush pads the last byte with ones (T.81 F.1.2.3).
func (w *bitWriter) flush() {
	if w.nbit > 0 {
		n := 8 - w.nbit
		w.put(1<<n-1, n)
	}
}
