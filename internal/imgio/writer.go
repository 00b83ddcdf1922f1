package imgio

import (
	"errors"
	"fmt"

	"enhance/internal/colour"
)

// Errors that callers may tell apart with errors.Is.
var (
	ErrHeader      = errors.New("impossible picture header")
	ErrRows        = errors.New("wrong rows")
	ErrTooLarge    = errors.New("picture too large")
	ErrUnsupported = errors.New("unsupported picture")
	ErrCorrupt     = errors.New("damaged picture")
	ErrFormat      = errors.New("not a PNG, TIFF or JPEG file")
	ErrExif        = errors.New("malformed EXIF block")
)

// RowWriter takes a picture from top to bottom.
type RowWriter interface {
	// WriteRow takes the next row: Width pixels of R, G, B, 65535 being full
	// scale. With 32 bits each is two numbers: the upper and the lower half of a
	// float32's bits. The slice is not kept. After an error every call returns it.
	WriteRow(rgb []uint16) error
	// Close completes the file; it does not close the underlying writer. It
	// reports ErrRows if fewer rows came than the header declared. Until it returns,
	// also after an error, the underlying writer may be written to, from another
	// goroutine.
	Close() error
}

// ByteWriter is a RowWriter of a picture of 8 bits that takes rows as they are stored, too. All
// rows of a picture come by the same method.
type ByteWriter interface {
	RowWriter
	// WriteBytes takes the next row in place of WriteRow: Width pixels of R, G, B, 255 being
	// full scale. The slice is not kept.
	WriteBytes(rgb []byte) error
}

// TakeBytes is w if it is a ByteWriter, else one that gives w samples of 16 bits, which
// writers of 8 bits round back to what they were.
func TakeBytes(w RowWriter) ByteWriter {
	if b, ok := w.(ByteWriter); ok {
		return b
	}
	return &widener{RowWriter: w}
}

type widener struct {
	RowWriter
	row []uint16
}

func (w *widener) WriteBytes(rgb []byte) error {
	w.row = w.row[:0]
	for _, v := range rgb {
		w.row = append(w.row, 257*uint16(v))
	}
	return w.WriteRow(w.row)
}

// Header describes the picture to be written.
type Header struct {
	Width, Height int // pixels, at least 1
	// Bits is the depth of the stored samples, 8 or 16, or 32 for floats, 1 being full
	// scale, which TIFF has. For 8 the 16-bit samples are rounded to the nearest of 256
	// levels, v·255/65535, without dither.
	Bits int
	// Exif is an EXIF block: a TIFF structure from its byte order mark on, without
	// the "Exif\0\0" of JPEG. Empty for none. Its orientation is written as 1
	// (upright) and its thumbnail is cut off, for the picture is another now.
	Exif []byte
	// Encoding is what the samples mean; the zero value is sRGB.
	Encoding colour.Encoding
	// XMP is an XMP packet; empty for none.
	XMP []byte
	// Description is the picture's caption; empty for none. PNG stores it as
	// iTXt, TIFF as ImageDescription, JPEG as a comment.
	Description string
}

// maxSide keeps every size computed from a header within 64 bits, and is the
// most that PNG allows.
const maxSide = 1<<31 - 1

func (h Header) validate(format string) error {
	if h.Width < 1 || h.Height < 1 || h.Width > maxSide || h.Height > maxSide {
		return fmt.Errorf("%s of %dx%d pixels: %w: sides must be 1..%d", format, h.Width, h.Height, ErrHeader, maxSide)
	}
	floats := h.Bits == 32 && (format == formatTIFF || format == anyFormat)
	if h.Bits != 8 && h.Bits != 16 && !floats {
		return fmt.Errorf("%s of %d bits: %w: bits must be 8 or 16, or 32 in TIFF", format, h.Bits, ErrHeader)
	}
	return nil
}

// Names of formats that have 32 bits.
const (
	formatTIFF = "TIFF"
	anyFormat  = "picture"
)

// encoding is what the samples mean.
func (h Header) encoding() colour.Encoding {
	if h.Encoding == (colour.Encoding{}) {
		return colour.SRGBEncoding
	}
	return h.Encoding
}

// rowBytes is the size of a packed row.
func (h Header) rowBytes() int64 { return int64(h.Width) * 3 * int64(h.Bits/8) }

// pixel is how many numbers a pixel of a row has.
func (h Header) pixel() int { return 3 * max(1, h.Bits/16) }

// progress holds a writer to its contract: the declared rows, then Close, and
// nothing after a failure.
type progress struct {
	format string
	h      Header
	rows   int // taken so far
	err    error
}

// next checks one more row, of so many samples.
func (p *progress) next(samples int) error {
	switch {
	case p.err != nil:
	case p.rows == p.h.Height:
		p.err = fmt.Errorf("%s: %w: more than the %d declared", p.format, ErrRows, p.h.Height)
	case samples != p.h.pixel()*p.h.Width:
		p.err = fmt.Errorf("%s: %w: row %d has %d samples, not %d·%d", p.format, ErrRows, p.rows, samples, p.h.pixel(), p.h.Width)
	default:
		p.rows++
	}
	return p.err
}

// nextBytes checks one more row of WriteBytes.
func (p *progress) nextBytes(n int) error {
	if p.err == nil && p.h.Bits != 8 {
		p.err = fmt.Errorf("%s: %w: bytes for a picture of %d bits", p.format, ErrRows, p.h.Bits)
	}
	return p.next(n)
}

// finish checks that a Close is due, and makes any later call fail.
func (p *progress) finish() error {
	if p.err != nil {
		return p.err
	}
	if p.rows < p.h.Height {
		p.err = fmt.Errorf("%s: %w: closed after %d of %d", p.format, ErrRows, p.rows, p.h.Height)
		return p.err
	}
	p.err = fmt.Errorf("%s: %w: already closed", p.format, ErrRows)
	return nil
}

// fail remembers the writer's first error, with the format's name.
func (p *progress) fail(err error) error {
	if err != nil {
		p.err = fmt.Errorf("write %s: %w", p.format, err)
		return p.err
	}
	return nil
}

// to8 rounds a 16-bit sample to 8 bits: the nearest k with 257·k ≈ v, which is never halfway.
func to8(v uint16) byte { return byte((uint32(v) + 128) / 257) }

// reduce rounds samples to 8 bits.
func reduce(dst []byte, src []uint16) {
	dst = dst[:len(src)]
	i := 0
	if hasUnits && len(src) >= reduceUnit {
		i = len(src) / reduceUnit * reduceUnit
		reduceUnits(&dst[0], &src[0], i)
	}
	for ; i < len(src); i++ {
		dst[i] = to8(src[i])
	}
}

// packRow stores a row with 8-bit samples or big-endian ones of more.
func packRow(dst []byte, rgb []uint16, bits int) {
	if bits == 8 {
		reduce(dst[:len(rgb)], rgb)
		return
	}
	dst = dst[:2*len(rgb)]
	for i, v := range rgb {
		dst[2*i], dst[2*i+1] = byte(v>>8), byte(v)
	}
}
