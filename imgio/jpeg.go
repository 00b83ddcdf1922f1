package imgio

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"io"
)

// maxJPEGSide is the most that the 16-bit sides of a frame header hold.
const maxJPEGSide = 65535

// maxSegment is the most that one JPEG marker segment carries.
const maxSegment = 65533

type jpegWriter struct {
	progress
	w        io.Writer
	quality  int
	picture  *image.RGBA
	segments []byte
}

// NewJPEG starts a baseline JPEG of the given quality, 1..100, chroma halved both
// ways (4:2:0). The standard library's encoder needs the whole picture: memory is
// 4 bytes for each of its pixels, and nothing is written before Close.
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
	j := &jpegWriter{progress: progress{format: "JPEG", h: h}, w: w, quality: quality}
	var parts []jpegSegment
	if exif != nil {
		parts = append(parts, jpegSegment{0xe1, append([]byte("Exif\x00\x00"), exif.blob...)})
	}
	// A profile that fits is one chunk: number 1 of 1 (ICC.1 annex B.4).
	parts = append(parts, jpegSegment{0xe2, append([]byte("ICC_PROFILE\x00\x01\x01"), SRGBProfile()...)})
	if h.Description != "" {
		parts = append(parts, jpegSegment{0xfe, []byte(h.Description)})
	}
	for _, s := range parts {
		if len(s.data) > maxSegment {
			return nil, fmt.Errorf("JPEG segment %#x of %d bytes: %w: at most %d; shorten the EXIF block or description",
				s.marker, len(s.data), ErrTooLarge, maxSegment)
		}
		n := len(s.data) + 2
		j.segments = append(j.segments, 0xff, s.marker, byte(n>>8), byte(n))
		j.segments = append(j.segments, s.data...)
	}
	j.picture = image.NewRGBA(image.Rect(0, 0, h.Width, h.Height))
	return j, nil
}

type jpegSegment struct {
	marker byte
	data   []byte
}

func (j *jpegWriter) WriteRow(rgb []uint16) error {
	if err := j.next(rgb); err != nil {
		return err
	}
	row := j.picture.Pix[(j.rows-1)*j.picture.Stride:]
	for i := 0; i < len(rgb); i += 3 {
		p := row[i/3*4:][:4]
		p[0], p[1], p[2], p[3] = to8(rgb[i]), to8(rgb[i+1]), to8(rgb[i+2]), 255
	}
	return nil
}

func (j *jpegWriter) Close() error {
	if err := j.finish(); err != nil {
		return err
	}
	w := &segmentInserter{w: j.w, segments: j.segments}
	err := jpeg.Encode(w, j.picture, &jpeg.Options{Quality: j.quality})
	j.picture = nil
	if err != nil {
		return j.fail(err)
	}
	return nil
}

// segmentInserter passes a JPEG stream on, with segments put behind its first
// marker, the start of image.
type segmentInserter struct {
	w        io.Writer
	segments []byte
	seen     int // bytes of the marker passed on, 0..2
}

func (s *segmentInserter) Write(p []byte) (int, error) {
	if s.seen == 2 {
		return s.w.Write(p)
	}
	n := min(2-s.seen, len(p))
	s.seen += n
	parts := [][]byte{p[:n]}
	if s.seen == 2 {
		parts = append(parts, s.segments, p[n:])
	}
	if _, err := s.w.Write(bytes.Join(parts, nil)); err != nil {
		return 0, err
	}
	return len(p), nil
}
