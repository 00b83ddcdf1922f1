// Package jpegbits has what all encoders of JPEG (ITU-T T.81) share: the bits of
// entropy-coded data, the categories of differences and the order of coefficients.
package jpegbits

import (
	"encoding/binary"
	"math/bits"
)

// Writer appends bits to Out, most significant first, with a zero after each 0xFF. The
// last bits are in Out after Flush. The zero value is ready.
type Writer struct {
	Out  []byte
	acc  uint64 // its last nbit bits are still to be written
	nbit int    // less than 32 between calls
}

// Put appends the low n bits of v, n being at most 32; v has no others.
func (w *Writer) Put(v uint64, n int) {
	w.acc = w.acc<<n | v
	w.nbit += n
	if w.nbit < 32 {
		return
	}
	w.nbit -= 32
	word := uint32(w.acc >> w.nbit)
	if hasFF(word) {
		for shift := 24; shift >= 0; shift -= 8 {
			w.byte(byte(word >> shift))
		}
		return
	}
	w.Out = binary.BigEndian.AppendUint32(w.Out, word)
}

// hasFF reports whether a byte of v is 0xFF: one of its complement is 0.
func hasFF(v uint32) bool {
	v = ^v
	return (v-0x01010101) & ^v & 0x80808080 != 0
}

func (w *Writer) byte(b byte) {
	w.Out = append(w.Out, b)
	if b == 0xFF {
		w.Out = append(w.Out, 0)
	}
}

// Flush pads the last byte with ones (T.81 F.1.2.3).
func (w *Writer) Flush() {
	for ; w.nbit >= 8; w.nbit -= 8 {
		w.byte(byte(w.acc >> (w.nbit - 8)))
	}
	if w.nbit > 0 {
		pad := 8 - w.nbit
		w.byte(byte(w.acc<<pad | (1<<pad - 1)))
	}
	w.acc, w.nbit = 0, 0
}

// Category is SSSS: how many bits a difference or coefficient needs.
func Category(d int32) int {
	if d < 0 {
		d = -d
	}
	return bits.Len32(uint32(d))
}

// Rest is what follows category s of a difference or coefficient, in s bits (T.81
// F.1.2.1.1).
func Rest(d int32, s int) uint64 {
	return uint64(d+d>>31) & (1<<s - 1) // negative ones are one less
}

// Zigzag is the place in a block of coefficient k (T.81 figure A.6).
var Zigzag = func() (z [64]int) {
	k := 0
	for sum := range 15 {
		for i := max(0, sum-7); i <= min(7, sum); i++ {
			y := i
			if sum%2 == 0 { // even diagonals run upwards
				y = sum - i
			}
			z[k] = 8*y + sum - y
			k++
		}
	}
	return z
}()
