package planar

import (
	"encoding/binary"
	"math"
	"testing"

	"enhance/fuse"
	"enhance/model"
)

// TestPutHalves: what Put stores is Half of every sample. All exponents and signs are
// tried with the mantissas about which rounding turns.
func TestPutHalves(t *testing.T) {
	var line []float32
	for e := range uint32(512) { // sign and exponent
		for _, m := range []uint32{0, 1, 0xfff, 0x1000, 0x1001, 0x1fff, 0x2000, 0x2fff, 0x3000, 0x3001, 0x400000, 0x7fe000, 0x7fefff, 0x7ff000, 0x7fffff} {
			line = append(line, math.Float32frombits(e<<23|m))
		}
	}
	r := Rows{C: 2, W: len(line), Precision: FP16}
	row := make([]byte, RowBytes(fuse.Tensor{Shape: model.Shape{C: 2, H: 1, W: len(line)}}, FP16))
	r.Put(row, 1, line)
	at := Pitch(r.W) + Pad
	for x, v := range line {
		if got := binary.LittleEndian.Uint16(row[2*(at+x):]); got != Half(v) {
			t.Errorf("%x (%g): %04x, want %04x", math.Float32bits(v), v, got, Half(v))
		}
	}
	for b := 1; b <= Rim; b++ {
		if got := binary.LittleEndian.Uint16(row[2*(at-b):]); got != Half(line[b]) {
			t.Errorf("rim: %04x, want %04x", got, Half(line[b]))
		}
	}
}
