package rawjpeg

import (
	"encoding/binary"
	"fmt"
	"math"

	"enhance/internal/jpegbits"
)

// EncodeDCT compresses samples, Height rows of Width*Components samples, as extended
// sequential DCT JPEG of h.Precision bits, 8 or 12, for tests and for tools that make DNG
// files. quantiser divides all coefficients. RestartInterval counts MCUs. Huffman codes
// are optimal for the data. Three components are written as red, green and blue unless
// ycbcr says that they are luma and colour differences.
func EncodeDCT(h Header, quantiser int, ycbcr bool, samples []uint16) ([]byte, error) {
	h.Predictor = 1
	whole := h
	whole.RestartInterval = 0
	if err := whole.check(len(samples)); err != nil {
		return nil, err
	}
	if h.Precision != 8 && h.Precision != 12 || quantiser < 1 || quantiser > math.MaxUint16 || h.RestartInterval < 0 || h.RestartInterval > math.MaxUint16 {
		return nil, fmt.Errorf("jpeg: %d bits, quantiser %d, restart interval %d", h.Precision, quantiser, h.RestartInterval)
	}
	e := &dctEncoder{h: h, quantiser: float64(quantiser), samples: samples, dc: make([]int, 17), ac: make([]int, 256)}
	e.each(func(_ int, _ bool, symbol byte, dc bool, _ int) {
		if dc {
			e.dc[symbol]++
		} else {
			e.ac[symbol]++
		}
	})
	dc, ac := newHuffCode(e.dc), newHuffCode(e.ac)
	out := []byte{0xFF, mSOI}
	if h.Components == 3 && !ycbcr {
		out = append(out, 0xFF, mAPPE, 0, 14)
		out = append(out, "Adobe\x00\x64\x00\x00\x00\x00\x00"...)
	}
	out = append(out, 0xFF, mDQT, 0, 131, 0x10)
	for range 64 {
		out = binary.BigEndian.AppendUint16(out, uint16(quantiser))
	}
	out = appendFrame(out, mSOF1, h)
	out = ac.appendTable(dc.appendTable(out, 0), 0x10)
	w := jpegbits.Writer{Out: append(appendScan(out, h), 0, 63, 0)}
	e.each(func(mcu int, first bool, symbol byte, isDC bool, v int) {
		code := ac
		if isDC {
			code = dc
		}
		if n := h.RestartInterval; first && n > 0 && mcu > 0 && mcu%n == 0 {
			w.Flush()
			w.Out = append(w.Out, 0xFF, byte(mRST0+(mcu/n-1)&7))
		}
		w.Put(uint64(code.codes[symbol]), code.lengths[symbol])
		w.Put(jpegbits.Rest(int32(v), int(symbol&15)), int(symbol&15))
	})
	w.Flush()
	return append(w.Out, 0xFF, mEOI), nil
}

// dctEncoder goes through the coefficients of an image.
type dctEncoder struct {
	h         Header
	quantiser float64
	samples   []uint16
	dc, ac    []int // frequencies of symbols
}

// each calls put for every symbol, in the order of the stream: the number of its MCU,
// whether it is that MCU's first, the symbol, whether it is of a DC coefficient, and the
// difference that follows.
func (e *dctEncoder) each(put func(mcu int, first bool, symbol byte, dc bool, v int)) {
	var last [4]int
	across := (e.h.Width + 7) / 8
	for mcu := range across * ((e.h.Height + 7) / 8) {
		if n := e.h.RestartInterval; n > 0 && mcu%n == 0 {
			last = [4]int{}
		}
		for c := range e.h.Components {
			q := e.coefficients(mcu%across, mcu/across, c)
			d := q[0] - last[c]
			last[c] = q[0]
			put(mcu, c == 0, byte(jpegbits.Category(int32(d))), true, d)
			run := 0
			for k := 1; k < 64; k++ {
				v := q[jpegbits.Zigzag[k]]
				if v == 0 {
					run++
					continue
				}
				for ; run > 15; run -= 16 {
					put(mcu, false, 0xF0, false, 0)
				}
				put(mcu, false, byte(run<<4|jpegbits.Category(int32(v))), false, v)
				run = 0
			}
			if run > 0 {
				put(mcu, false, 0, false, 0)
			}
		}
	}
}

// coefficients are the quantised ones of a block. Beyond the image its last column and
// row go on.
func (e *dctEncoder) coefficients(bx, by, c int) (q [64]int) {
	var b [64]float64
	half := float64(uint(1) << (e.h.Precision - 1))
	for i := range b {
		y, x := min(8*by+i/8, e.h.Height-1), min(8*bx+i%8, e.h.Width-1)
		b[i] = float64(e.samples[(y*e.h.Width+x)*e.h.Components+c]) - half
	}
	forwardDCT(&b)
	for i, v := range b {
		q[i] = int(math.Round(v / e.quantiser))
	}
	return q
}
