package planar

import (
	"encoding/binary"
	"math"
	"unsafe"

	"enhance/internal/fuse"
	"enhance/model"
)

// Rows converts between planes of float32 on the host and rows as the device
// stores them.
type Rows struct {
	C, W      int
	Precision Precision
	Pad       model.PadMode
}

// Bytes is the size of n rows.
func (r Rows) Bytes(n int) int64 {
	return int64(n) * RowBytes(fuse.Tensor{Shape: model.Shape{C: r.C, H: n, W: r.W}}, r.Precision)
}

// Put writes one row's channel c, given as W samples, rim included, to the row
// at the start of dst.
func (r Rows) Put(dst []byte, c int, line []float32) {
	at := c*Pitch(r.W) + Pad
	line = line[:r.W]
	if r.Precision == FP16 {
		putHalves(dst[2*at:][:2*r.W], line)
	} else {
		putFloats(dst[4*at:][:4*r.W], line)
	}
	for b := 1; b <= Rim; b++ {
		r.set(dst, at-b, r.beside(line, -b))
		r.set(dst, at+r.W-1+b, r.beside(line, r.W-1+b))
	}
}

// AppendSamples appends numbers as the device stores samples.
func AppendSamples(dst []byte, v []float32, p Precision) []byte {
	at := len(dst)
	dst = append(dst, make([]byte, int64(len(v))*p.Bytes())...)
	if p == FP16 {
		putHalves(dst[at:], v)
	} else {
		putFloats(dst[at:], v)
	}
	return dst
}

// beside is the sample at column x outside a line.
func (r Rows) beside(line []float32, x int) float32 {
	if at := fuse.PadIndex(r.Pad, x, r.W); at >= 0 {
		return line[at]
	}
	return 0
}

func putFloats(dst []byte, line []float32) {
	if littleEndian {
		copy(dst, bytesOf(line))
		return
	}
	for x, v := range line {
		binary.LittleEndian.PutUint32(dst[4*x:], math.Float32bits(v))
	}
}

func getFloats(line []float32, src []byte) {
	if littleEndian {
		copy(bytesOf(line), src)
		return
	}
	for x := range line {
		line[x] = math.Float32frombits(binary.LittleEndian.Uint32(src[4*x:]))
	}
}

// littleEndian says that the host stores a float32 as the device does.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf is the memory of v.
func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

func putHalves(dst []byte, line []float32) {
	if n := len(line) / unit * unit; converts && n > 0 {
		halvesOf(&dst[:2*n][0], &line[0], n)
		dst, line = dst[2*n:], line[n:]
	}
	roundHalves(dst, line)
}

func getHalves(line []float32, src []byte) {
	if n := len(line) / unit * unit; converts && n > 0 {
		floatsOf(&line[0], &src[:2*n][0], n)
		src, line = src[2*n:], line[n:]
	}
	wide := floats()
	for x := range line {
		line[x] = wide[binary.LittleEndian.Uint16(src[2*x:])]
	}
}

// roundHalves stores Half of every sample, those that become normal numbers without its
// branches: the exponents' biases differ by 112, and adding just less than half of
// the last place, and its bit, rounds to nearest even.
func roundHalves(dst []byte, line []float32) {
	for x, v := range line {
		b := math.Float32bits(v)
		if e := b >> 23 & 0xff; e-113 < 30 {
			m := b & 0x7fffffff
			binary.LittleEndian.PutUint16(dst[2*x:], uint16(b>>16&0x8000|((m+0xfff+m>>13&1)>>13-112<<10)))
			continue
		}
		binary.LittleEndian.PutUint16(dst[2*x:], Half(v))
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
	line = line[:r.W]
	if r.Precision == FP16 {
		getHalves(line, src[2*at:2*(at+r.W)])
		return
	}
	getFloats(line, src[4*at:4*(at+r.W)])
}
