package dng

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"io"

	"enhance/raw/ljpeg"
	"enhance/raw/rawerr"
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
	if name == "" {
		return nil, "", &rawerr.UnsupportedError{Feature: fmt.Sprintf("DNG with JPEG of process %d", j.marker-0xC0), Advice: dctAdvice}
	}
	if j.precision != 8 {
		return nil, "", &rawerr.UnsupportedError{Feature: fmt.Sprintf("DNG with lossy JPEG of %d bits (as Blackmagic's CinemaDNG 3:1 and smaller)", j.precision), Advice: dctAdvice}
	}
	if j.components != l.spp {
		return nil, "", &rawerr.UnsupportedError{Feature: fmt.Sprintf("DNG with lossy JPEG of %d components for %d samples a pixel", j.components, l.spp), Advice: dctAdvice}
	}
	l.bits = 8
	return newStreamRows(s.file.ReaderAt(), l, (*streamRows).openDCT), "lossy " + name + " JPEG 8-bit", nil
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

// losslessStream is a chunk of lossless JPEG of several samples a pixel.
type losslessStream struct {
	d    *ljpeg.Decoder
	line []uint16
	at   int // of line: samples before it are used up
}

// openLossless opens chunk i. Only the order of samples counts: the JPEG's rows may
// be longer or shorter than the chunk's.
func (s *streamRows) openLossless(i int) (rowStream, error) {
	c := s.layout.chunks[i]
	d, err := ljpeg.NewDecoder(s.r, c.off, c.size)
	if err != nil {
		return nil, err
	}
	rows := int64(min(s.ch, s.h-i/s.across*s.ch))
	if have, need := int64(d.RowLen())*int64(d.Height), rows*int64(s.cw)*int64(s.spp); have < need {
		return nil, rawerr.Formatf("lossless jpeg", "%d samples for %d rows of %d pixels", have, rows, s.cw)
	}
	line := make([]uint16, d.RowLen())
	return &losslessStream{d: d, line: line, at: len(line)}, nil
}

func (s *losslessStream) next(dst []float32) error {
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
