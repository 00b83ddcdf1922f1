package imgio

import (
	"image/color"
	"slices"

	"enhance/internal/buffers"
	"enhance/internal/jpegbits"
)

// jpegEncoder codes one band.
type jpegEncoder struct {
	*jpegWriter
	bits   jpegbits.Writer
	last   [3]int32 // coefficients of the means before
	width  int      // of a row of planes: whole units
	planes [3][]uint8
}

// jpegEncoders serve bands, of one picture after another.
var jpegEncoders = buffers.Values[jpegEncoder]{New: func() *jpegEncoder { return new(jpegEncoder) }}

// begin makes an encoder ready for a band.
func (e *jpegEncoder) begin(j *jpegWriter) {
	unit := 8 * j.across
	e.jpegWriter, e.last, e.bits = j, [3]int32{}, jpegbits.Writer{Out: e.bits.Out[:0]}
	e.width = (j.h.Width + unit - 1) / unit * unit
	for c := range e.planes {
		n := 8 * j.down * e.width
		e.planes[c] = slices.Grow(e.planes[c][:0], n)[:n]
	}
}

// units codes a row of units, of the first of the rows that are left of a band. The last
// pixel and the last row fill the last units.
func (e *jpegEncoder) units(rows []byte) {
	w, n := e.h.Width, len(rows)/(3*e.h.Width)
	for y := range 8 * e.down {
		e.convert(y, rows[3*w*min(y, n-1):][:3*w])
	}
	for c := 1; c < 3 && e.across > 1; c++ {
		e.shrink(e.planes[c])
	}
	var b [64]int32
	for x := 0; x < e.width; x += 8 * e.across {
		for y := range e.down {
			for k := range e.across {
				load(&b, e.planes[0], 8*y*e.width+x+8*k, e.width)
				e.last[0] = e.luma.block(&e.bits, &b, e.last[0])
			}
		}
		for c := 1; c < 3; c++ {
			load(&b, e.planes[c], x/e.across, e.width)
			e.last[c] = e.chroma.block(&e.bits, &b, e.last[c])
		}
	}
}

// convert makes row y of the planes (JFIF 1.02).
func (e *jpegEncoder) convert(y int, rgb []byte) {
	luma, cb, cr := e.planes[0][y*e.width:][:e.width], e.planes[1][y*e.width:][:e.width], e.planes[2][y*e.width:][:e.width]
	x := 0
	for ; len(rgb) > 0; x, rgb = x+1, rgb[3:] {
		luma[x], cb[x], cr[x] = color.RGBToYCbCr(rgb[0], rgb[1], rgb[2])
	}
	for ; x < e.width; x++ {
		luma[x], cb[x], cr[x] = luma[x-1], cb[x-1], cr[x-1]
	}
}

// shrink makes the means of the pixels that a sample stands for, at the beginning of the
// plane's rows.
func (e *jpegEncoder) shrink(plane []uint8) {
	half := e.width / 2
	for y := range 8 {
		dst := plane[y*e.width:][:half]
		top := plane[y*e.down*e.width:][:e.width]
		if e.down == 1 {
			for x := range dst {
				dst[x] = uint8((uint(top[2*x]) + uint(top[2*x+1]) + 1) / 2)
			}
			continue
		}
		below := plane[(2*y+1)*e.width:][:e.width]
		for x := range dst {
			dst[x] = uint8((uint(top[2*x]) + uint(top[2*x+1]) + uint(below[2*x]) + uint(below[2*x+1]) + 2) / 4)
		}
	}
}

// load takes the block at a place of a plane.
func load(b *[64]int32, plane []uint8, at, stride int) {
	for y := range 8 {
		row := plane[at+y*stride:][:8]
		for x, v := range row {
			b[8*y+x] = int32(v) - 128
		}
	}
}
