package dng

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"

	"enhance/raw/rawerr"
	"enhance/raw/rawjpeg"
)

// maxDCT is how many samples a byte of baseline JPEG can hold at most: a block of
// 64 takes two codes of one bit, and subsampled colours share a block among four.
const maxDCT = 1024

// jpegKind is the process of a JPEG stream: its start of frame.
type jpegKind struct {
	marker                byte // 0xC3 is lossless
	precision, components int
	width, height         int
}

func (j *jpegKind) lossless() bool { return j.marker == 0xC3 }

// maxHead bounds how far a frame header is looked for.
const maxHead = 1 << 16

// sniffJPEG looks for the start of frame of chunk c. A stream without one is taken
// for lossless: its decoder says what is wrong.
func (s *source) sniffJPEG(c chunk) (jpegKind, error) {
	b, err := s.file.Read(c.off, min(c.size, maxHead))
	if err != nil {
		return jpegKind{}, err
	}
	for at := 2; at+4 <= len(b) && b[at] == 0xFF; {
		m, n := b[at+1], int(b[at+2])<<8|int(b[at+3])
		isFrame := m >= 0xC0 && m <= 0xCF && m != 0xC4 && m != 0xC8 && m != 0xCC
		if isFrame && at+10 <= len(b) {
			return jpegKind{m, int(b[at+4]), int(b[at+9]), int(b[at+7])<<8 | int(b[at+8]), int(b[at+5])<<8 | int(b[at+6])}, nil
		}
		at += 2 + n
	}
	return jpegKind{marker: 0xC3}, nil
}

// dct checks that a DCT JPEG can be read, and opens the rows of such chunks.
func (s *source) dct(l *layout, j jpegKind) (*streamRows, string, error) {
	name := map[byte]string{0xC0: "baseline", 0xC1: "extended sequential", 0xC2: "progressive"}[j.marker]
	refuse := func(format string, a ...any) (*streamRows, string, error) {
		return nil, "", &rawerr.UnsupportedError{Feature: fmt.Sprintf("DNG with "+format, a...), Advice: dctAdvice}
	}
	// One component, or two, may fold the samples of a mosaic into another shape.
	same := j.components == l.spp && j.width == l.cw
	sequential := j.marker != 0xC2
	switch {
	case name == "":
		return refuse("JPEG of process %d", j.marker-0xC0)
	case j.precision != 8 && j.precision != 12:
		return refuse("lossy JPEG of %d bits", j.precision)
	case !sequential && j.precision != 8:
		return refuse("progressive lossy JPEG of %d bits", j.precision)
	case j.components != l.spp && (l.spp > 1 || j.components != 2 || !sequential):
		return refuse("%s lossy JPEG of %d components for %d samples a pixel", name, j.components, l.spp)
	case !same && l.spp > 1:
		return refuse("lossy JPEG of %d pixels in chunks of %d", j.width, l.cw)
	}
	l.bits = j.precision
	open := (*streamRows).openDCT
	if sequential && (j.precision != 8 || !same) {
		open = (*streamRows).openSequential
	}
	return newStreamRows(s.file.ReaderAt(), l, open), fmt.Sprintf("lossy %s JPEG %d-bit", name, j.precision), nil
}

const dctAdvice = "record or convert to a lossless DNG"

// dctStream is a decoded chunk. Its samples are 8-bit: a tile of 512x512 pixels of
// three colours takes 768 KiB.
type dctStream struct {
	img    image.Image
	y      int
	planes int
}

// openDCT decodes chunk i.
func (s *streamRows) openDCT(i int) (rowStream, error) {
	section := s.section(i)
	b, err := io.ReadAll(section) // no larger than the file
	if err != nil {
		return nil, err
	}
	conf, err := jpeg.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		return nil, dctError(err)
	}
	rows := s.rowsIn(i / s.across)
	last := min(rows, s.h-i/s.across*s.ch)
	if conf.Width != s.cw || conf.Height < last || conf.Height > rows {
		return nil, rawerr.Formatf("jpeg", "%dx%d pixels in a chunk of %dx%d", conf.Width, conf.Height, s.cw, rows)
	}
	img, err := jpeg.Decode(bytes.NewReader(b))
	if err != nil {
		return nil, dctError(err)
	}
	return &dctStream{img: img, planes: s.spp}, nil
}

func dctError(err error) error {
	return &rawerr.FormatError{Where: "jpeg", Problem: "damaged or cut short", Err: err}
}

func (d *dctStream) next(dst []float32) error {
	y := d.y
	d.y++
	switch img := d.img.(type) {
	case *image.Gray:
		if d.planes == 1 {
			for x := range dst {
				dst[x] = float32(img.Pix[y*img.Stride+x])
			}
			return nil
		}
	case *image.YCbCr:
		if d.planes == 3 {
			for x := range len(dst) / 3 {
				at, c := img.YOffset(x, y), img.COffset(x, y)
				r, g, b := color.YCbCrToRGB(img.Y[at], img.Cb[c], img.Cr[c])
				dst[3*x], dst[3*x+1], dst[3*x+2] = float32(r), float32(g), float32(b)
			}
			return nil
		}
	case *image.RGBA: // Adobe's marker says that nothing was transformed
		if d.planes == 3 {
			for x := range len(dst) / 3 {
				p := img.Pix[y*img.Stride+4*x:]
				dst[3*x], dst[3*x+1], dst[3*x+2] = float32(p[0]), float32(p[1]), float32(p[2])
			}
			return nil
		}
	}
	return &rawerr.UnsupportedError{Feature: fmt.Sprintf("DNG with lossy JPEG that decodes to %T", d.img), Advice: dctAdvice}
}

// openSequential opens chunk i for the package's own decoder, which goes row by row.
func (s *streamRows) openSequential(i int) (rowStream, error) {
	c := s.layout.chunks[i]
	d, err := rawjpeg.NewDCTDecoder(s.r, c.off, c.size)
	if err != nil {
		return nil, err
	}
	if d.Precision != s.bits || s.spp == 3 && (d.Components != 3 || d.Width != s.cw) {
		return nil, rawerr.Formatf("jpeg", "%d pixels a row, %d components of %d bits in a chunk of %d pixels", d.Width, d.Components, d.Precision, s.cw)
	}
	rows, err := s.ordered(i, d, int64(d.RowLen())*int64(d.Height))
	if err != nil || !d.YCbCr || s.spp != 3 {
		return rows, err
	}
	return &ycbcrStream{rows, float32(uint(1) << d.Precision)}, nil
}

// ycbcrStream makes red, green and blue of luma and colour differences, as JFIF defines
// them, cut off at the samples' range.
type ycbcrStream struct {
	rowStream
	full float32
}

func (s *ycbcrStream) next(dst []float32) error {
	if err := s.rowStream.next(dst); err != nil {
		return err
	}
	for x := 0; x+2 < len(dst); x += 3 {
		y, cb, cr := dst[x], dst[x+1]-s.full/2, dst[x+2]-s.full/2
		for k, v := range [3]float32{
			y + float32(1.402*cr),
			y - float32(0.344136*cb) - float32(0.714136*cr),
			y + float32(1.772*cb),
		} {
			dst[x+k] = float32(int(min(max(v, 0), s.full-1) + 0.5))
		}
	}
	return nil
}

// jpegRowReader is a decoder of one of JPEG's processes.
type jpegRowReader interface {
	ReadRow(dst []uint16) error
	RowLen() int
}

// orderedStream is a chunk of JPEG of which only the order of samples counts: the JPEG's
// rows may be longer or shorter than the chunk's.
type orderedStream struct {
	d    jpegRowReader
	line []uint16
	at   int // of line: samples before it are used up
}

// openLossless opens chunk i.
func (s *streamRows) openLossless(i int) (rowStream, error) {
	c := s.layout.chunks[i]
	d, err := rawjpeg.NewDecoder(s.r, c.off, c.size)
	if err != nil {
		return nil, err
	}
	return s.ordered(i, d, int64(d.RowLen())*int64(d.Height))
}

// ordered checks that the decoder of chunk i has enough samples.
func (s *streamRows) ordered(i int, d jpegRowReader, have int64) (rowStream, error) {
	rows := int64(min(s.ch, s.h-i/s.across*s.ch))
	if need := rows * int64(s.cw) * int64(s.spp); have < need {
		return nil, rawerr.Formatf("jpeg", "%d samples for %d rows of %d pixels", have, rows, s.cw)
	}
	line := make([]uint16, d.RowLen())
	return &orderedStream{d: d, line: line, at: len(line)}, nil
}

func (s *orderedStream) next(dst []float32) error {
	for i := range dst {
		if s.at == len(s.line) {
			if err := s.d.ReadRow(s.line); err != nil {
				return err
			}
			s.at = 0
		}
		dst[i] = float32(s.line[s.at])
		s.at++
	}
	return nil
}
