package imgio

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"io"

	"enhance/internal/buffers"
	"enhance/internal/icc"
	"enhance/internal/workers"
)

// maxJPEGSide is the most that the 16-bit sides of a frame header hold.
const maxJPEGSide = 65535

// maxSegment is the most that one JPEG marker segment carries.
const maxSegment = 65533

// jpegWriter cuts the picture into bands of whole units of 16×16 pixels. Each is
// encoded as a picture of its own by the standard library, whose tables are the
// same for all, and becomes one restart interval (ISO/IEC 10918-1, F.1.1.5.1 and
// B.2.1): there the predictions of the mean start again, and the bits at a byte.
type jpegWriter struct {
	progress
	w        io.Writer
	quality  int
	perBand  int // rows, a multiple of jpegUnit
	bands    int // begun
	segments []byte
	pix      []byte // the band's rows so far, RGBA
	free     buffers.Slices[byte]
	queue    *workers.Ordered[jpegBand]
}

// jpegBand is an encoded band.
type jpegBand struct {
	number int
	out    *bytes.Buffer // a picture of its own
	pix    []byte        // free again
	err    error
}

const (
	jpegUnit = 16 // pixels
	// jpegBandBytes is about how much a band has of the picture, 3 bytes a pixel.
	jpegBandBytes = 1 << 20
)

// JPEGBandRows is how many rows of a picture of that width are encoded at a time.
func JPEGBandRows(width int) int {
	return max(jpegUnit, jpegBandBytes/(3*width)/jpegUnit*jpegUnit)
}

// NewJPEG starts a baseline JPEG of the given quality, 1..100, chroma halved both
// ways (4:2:0). Bands of JPEGBandRows rows are encoded on all cores and written in
// order; memory is about 6 bytes for each pixel of the 17 bands in flight at most.
//
// Header.Bits must be 8. Sides over 65535 are refused with ErrTooLarge.
func NewJPEG(w io.Writer, h Header, quality int) (RowWriter, error) {
	if err := h.validate("JPEG"); err != nil {
		return nil, err
	}
	if h.Bits != 8 {
		return nil, fmt.Errorf("JPEG of %d bits: %w: JPEG has 8; write PNG or TIFF instead", h.Bits, ErrUnsupported)
	}
	if h.Width > maxJPEGSide || h.Height > maxJPEGSide {
		return nil, fmt.Errorf("JPEG of %dx%d pixels: %w: sides end at %d; write PNG or TIFF instead", h.Width, h.Height, ErrTooLarge, maxJPEGSide)
	}
	if quality < 1 || quality > 100 {
		return nil, fmt.Errorf("JPEG quality %d: %w: must be 1..100", quality, ErrHeader)
	}
	exif, err := cleanExif(h.Exif)
	if err != nil {
		return nil, fmt.Errorf("JPEG: %w", err)
	}
	j := &jpegWriter{progress: progress{format: "JPEG", h: h}, w: w, quality: quality, perBand: JPEGBandRows(h.Width)}
	j.queue = inOrder(j.emit)
	var parts []jpegSegment
	if exif != nil {
		parts = append(parts, jpegSegment{0xe1, append([]byte("Exif\x00\x00"), exif.blob...)})
	}
	if len(h.XMP) > 0 {
		parts = append(parts, jpegSegment{0xe1, append([]byte(jpegXMP), h.XMP...)})
	}
	// A profile that fits is one chunk: number 1 of 1 (ICC.1 annex B.4).
	parts = append(parts, jpegSegment{0xe2, append([]byte("ICC_PROFILE\x00\x01\x01"), icc.Of(h.encoding())...)})
	if h.Description != "" {
		parts = append(parts, jpegSegment{0xfe, []byte(h.Description)})
	}
	for _, s := range parts {
		if len(s.data) > maxSegment {
			return nil, fmt.Errorf("JPEG segment %#x of %d bytes: %w: at most %d; shorten the EXIF block, the XMP packet or the description",
				s.marker, len(s.data), ErrTooLarge, maxSegment)
		}
		n := len(s.data) + 2
		j.segments = append(j.segments, 0xff, s.marker, byte(n>>8), byte(n))
		j.segments = append(j.segments, s.data...)
	}
	return j, nil
}

// jpegXMP precedes a packet (XMP specification part 3, 1.1.3). Packets of more than MaxJPEGXMP
// bytes do not fit their segment.
const (
	jpegXMP    = "http://ns.adobe.com/xap/1.0/\x00"
	MaxJPEGXMP = maxSegment - len(jpegXMP)
)

type jpegSegment struct {
	marker byte
	data   []byte
}

func (j *jpegWriter) WriteRow(rgb []uint16) error {
	if err := j.next(rgb); err != nil {
		return err
	}
	if j.pix == nil {
		j.pix = j.free.Get(4 * j.h.Width * min(j.perBand, j.h.Height))[:0]
	}
	n := len(j.pix)
	j.pix = j.pix[:n+4*j.h.Width]
	row := j.pix[n:]
	for i := 0; i < len(rgb); i += 3 {
		p := row[i/3*4:][:4]
		p[0], p[1], p[2], p[3] = to8(rgb[i]), to8(rgb[i+1]), to8(rgb[i+2]), 255
	}
	if len(j.pix) < cap(j.pix) && j.rows < j.h.Height {
		return nil
	}
	pix, number := j.pix, j.bands
	j.pix = nil
	j.bands++
	return j.fail(j.queue.Do(func() jpegBand { return j.encode(number, pix) }))
}

// jpegBuffers hold bands, of one picture after another.
var jpegBuffers = buffers.Values[bytes.Buffer]{New: func() *bytes.Buffer { return new(bytes.Buffer) }}

// encode runs beside the caller.
func (j *jpegWriter) encode(number int, pix []byte) jpegBand {
	stride := 4 * j.h.Width
	m := &image.RGBA{Pix: pix, Stride: stride, Rect: image.Rect(0, 0, j.h.Width, len(pix)/stride)}
	out := jpegBuffers.Get()
	out.Reset()
	err := jpeg.Encode(out, m, &jpeg.Options{Quality: j.quality})
	return jpegBand{number, out, pix, err}
}

// emit writes a band behind those before it: the first with the headers, the
// others as what follows a restart marker.
func (j *jpegWriter) emit(b jpegBand) error {
	defer jpegBuffers.Put(b.out)
	j.free.Put(b.pix)
	if b.err != nil {
		return b.err
	}
	head, scan, err := splitJPEG(b.out.Bytes())
	if err != nil {
		return err
	}
	parts := [][]byte{{0xff, 0xd0 + byte((b.number-1)%8)}, scan}
	if b.number == 0 {
		if head, err = j.headers(head); err != nil {
			return err
		}
		parts[0] = head
	}
	for _, p := range parts {
		if _, err := j.w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

// headers makes the headers of a band those of the picture: with its height, its
// segments and, if there is more than one band, the length of restart intervals.
func (j *jpegWriter) headers(band []byte) ([]byte, error) {
	out := append([]byte{}, band[:2]...) // start of image
	out = append(out, j.segments...)
	for rest := band[2:]; len(rest) >= 4; {
		marker, n := rest[1], 2+int(rest[2])<<8+int(rest[3])
		if n > len(rest) {
			break
		}
		segment := append([]byte{}, rest[:n]...)
		rest = rest[n:]
		switch marker {
		case 0xc0: // frame: length, precision, height, width
			segment[5], segment[6] = byte(j.h.Height>>8), byte(j.h.Height)
		case 0xda: // scan
			if j.h.Height > j.perBand {
				units := (j.h.Width + jpegUnit - 1) / jpegUnit * (j.perBand / jpegUnit)
				out = append(out, 0xff, 0xdd, 0, 4, byte(units>>8), byte(units))
			}
			return append(out, segment...), nil
		}
		out = append(out, segment...)
	}
	return nil, errJPEGShape
}

var errJPEGShape = errors.New("imgio: the JPEG encoder made headers of another kind than expected: please report this")

// splitJPEG divides a picture into its headers, the scan's among them, and the
// scan's bits without the end of image.
func splitJPEG(b []byte) (head, scan []byte, err error) {
	for at := 2; at+4 <= len(b) && b[at] == 0xff; {
		marker := b[at+1]
		at += 2 + int(b[at+2])<<8 + int(b[at+3])
		if marker == 0xda && at+2 <= len(b) {
			return b[:at], b[at : len(b)-2], nil
		}
	}
	return nil, nil, errJPEGShape
}

func (j *jpegWriter) Close() error {
	if err := j.finish(); err != nil {
		j.queue.Wait() // nothing is written any more
		return err
	}
	if err := j.queue.Wait(); err != nil {
		return j.fail(err)
	}
	_, err := j.w.Write([]byte{0xff, 0xd9}) // end of image
	return j.fail(err)
}
