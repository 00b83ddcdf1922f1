package planar

import (
	"encoding/binary"
	"math"

	"enhance/fuse"
	"enhance/model"
)

// Rows converts between planes of float32 on the host and rows as the device
// stores them.
type Rows struct {
	C, W      int
	Precision Precision
}

// Bytes is the size of n rows.
func (r Rows) Bytes(n int) int64 {
	return int64(n) * RowBytes(fuse.Tensor{Shape: model.Shape{C: r.C, H: n, W: r.W}}, r.Precision)
}

// Put writes one row's channel c, given as W samples, rim included, to the row
// at the start of dst.
func (r Rows) Put(dst []byte, c int, line []float32) {
	pitch := Pitch(r.W)
	at := c*pitch + Pad
	for x, v := range line[:r.W] {
		r.set(dst, at+x, v)
	}
	for b := 1; b <= Rim; b++ {
		r.set(dst, at-b, line[fuse.Reflect(-b, r.W)])
		r.set(dst, at+r.W-1+b, line[fuse.Reflect(r.W-1+b, r.W)])
	}
}

func (r Rows) set(dst []byte, i int, v float32) {
	if r.Precision == FP16 {
		binary.LittleEndian.PutUint16(dst[2*i:], Half(v))
		return
	}
	binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(v))
}

// Get reads channel c of the row at the start of src into line.
func (r Rows) Get(src []byte, c int, line []float32) {
	at := c*Pitch(r.W) + Pad
	if r.Precision == FP16 {
		wide := floats()
		src = src[2*at : 2*(at+r.W)]
		for x := range line[:r.W] {
			line[x] = wide[binary.LittleEndian.Uint16(src[2*x:])]
		}
		return
	}
	src = src[4*at : 4*(at+r.W)]
	for x := range line[:r.W] {
		line[x] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*x:]))
	}
}
