package imgio

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"

	"golang.org/x/image/tiff"

	"enhance/internal/regularfile"
)

// RGB16 is a whole picture: interleaved R, G, B, rows from top to bottom.
type RGB16 struct {
	Width, Height int
	Bits          int  // depth of the file's samples, 8 or 16; 8-bit ones are scaled by 257
	Gray          bool // the file has one channel
	Pix           []uint16
}

// Row returns row y, sharing memory with the picture.
func (m *RGB16) Row(y int) []uint16 { return m.Pix[3*m.Width*y:][:3*m.Width] }

// Limits against files that are small and claim to be huge.
const (
	// MaxPixels is the largest picture that is read.
	MaxPixels = 1 << 28
	// maxExpansion bounds samples per byte of file. Deflate reaches 1032 bytes per
	// byte; an empty JPEG stays under 512 samples and LZW under 2731 bytes.
	maxExpansion = 2800
)

// SizeError says that a picture has other sides than it must have.
type SizeError struct{ Width, Height int }

func (e *SizeError) Error() string { return fmt.Sprintf("it has %dx%d pixels", e.Width, e.Height) }

// ReadRGB16 reads a PNG, TIFF or JPEG file, told by its contents, as RGB of 16
// bits. Grey becomes three equal components; opaque alpha is dropped. Embedded
// profiles, gamma and orientation are not applied.
//
// It decodes through the standard library (golang.org/x/image/tiff for TIFF),
// holding the decoded picture beside the result. Before decoding, the header's
// size is held against MaxPixels and the file's length.
//
// Errors name the path and wrap ErrFormat, ErrCorrupt, ErrTooLarge,
// ErrUnsupported (CMYK, transparency, other sample types, devices and pipes) or
// the operating system's error.
func ReadRGB16(path string) (*RGB16, error) {
	return readRGB16(path, DecodeRGB16)
}

// ReadRGB16Sized is ReadRGB16 of a picture that must be w x h; another is refused with a
// *SizeError by its header, before its pixels take memory.
func ReadRGB16Sized(path string, w, h int) (*RGB16, error) {
	return readRGB16(path, func(r io.ReaderAt, size int64) (*RGB16, error) {
		return decodeRGB16(r, size, func(cfg image.Config) error { return hasSides(cfg, w, h) }, true)
	})
}

// CheckSize looks at the header of a picture that must be w x h; the errors are those of
// ReadRGB16Sized.
func CheckSize(path string, w, h int) error {
	_, err := readRGB16(path, func(r io.ReaderAt, size int64) (*RGB16, error) {
		return decodeRGB16(r, size, func(cfg image.Config) error { return hasSides(cfg, w, h) }, false)
	})
	return err
}

func hasSides(cfg image.Config, w, h int) error {
	if cfg.Width != w || cfg.Height != h {
		return &SizeError{cfg.Width, cfg.Height}
	}
	return nil
}

func readRGB16(path string, decode func(io.ReaderAt, int64) (*RGB16, error)) (*RGB16, error) {
	f, size, err := regularfile.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read picture: %w", err)
	}
	defer f.Close()
	m, err := decode(f, size)
	if err != nil {
		return nil, fmt.Errorf("read picture %s: %w", path, err)
	}
	return m, nil
}

// codec is one of the formats read.
type codec struct {
	magic  string
	decode func(io.Reader) (image.Image, error)
	config func(io.Reader) (image.Config, error)
}

var codecs = []codec{
	{"\x89PNG\r\n\x1a\n", png.Decode, png.DecodeConfig},
	{"\xff\xd8", jpeg.Decode, jpeg.DecodeConfig},
	{"II*\x00", tiff.Decode, tiff.DecodeConfig},
	{"MM\x00*", tiff.Decode, tiff.DecodeConfig},
}

// DecodeRGB16 is ReadRGB16 for the first size bytes of r.
func DecodeRGB16(r io.ReaderAt, size int64) (*RGB16, error) {
	return decodeRGB16(r, size, func(image.Config) error { return nil }, true)
}

// decodeRGB16 decodes pixels, if they are wanted, of a picture whose header is accepted.
func decodeRGB16(r io.ReaderAt, size int64, accept func(image.Config) error, pixels bool) (*RGB16, error) {
	head := make([]byte, min(max(size, 0), 8))
	if _, err := r.ReadAt(head, 0); err != nil && err != io.EOF {
		return nil, err
	}
	for _, c := range codecs {
		if !bytes.HasPrefix(head, []byte(c.magic)) {
			continue
		}
		// A section reader can be read at offsets, so that TIFFs are not copied.
		cfg, err := c.config(io.NewSectionReader(r, 0, size))
		if err != nil {
			return nil, decodeError(err)
		}
		if err := checkSize(cfg.Width, cfg.Height, size); err != nil {
			return nil, err
		}
		if err := accept(cfg); err != nil || !pixels {
			return nil, err
		}
		im, err := c.decode(io.NewSectionReader(r, 0, size))
		if err != nil {
			return nil, decodeError(err)
		}
		return toRGB16(im)
	}
	return nil, ErrFormat
}

func checkSize(w, h int, size int64) error {
	if w < 1 || h < 1 {
		return fmt.Errorf("%w: %dx%d pixels", ErrCorrupt, w, h)
	}
	if int64(w) > MaxPixels/int64(h) {
		return fmt.Errorf("%w: %dx%d pixels, at most %d are read", ErrTooLarge, w, h, MaxPixels)
	}
	if pixels := int64(w) * int64(h); pixels/maxExpansion > size {
		return fmt.Errorf("%w: %d bytes cannot hold %dx%d pixels", ErrCorrupt, size, w, h)
	}
	return nil
}

// decodeError sorts the decoders' errors into this package's.
func decodeError(err error) error {
	var (
		pngUnsupported  png.UnsupportedError
		jpegUnsupported jpeg.UnsupportedError
		tiffUnsupported tiff.UnsupportedError
		pathErr         *os.PathError
	)
	switch {
	case errors.As(err, &pathErr):
		return err
	case errors.As(err, &pngUnsupported), errors.As(err, &jpegUnsupported), errors.As(err, &tiffUnsupported):
		return fmt.Errorf("%w: %w", ErrUnsupported, err)
	}
	return fmt.Errorf("%w: %w", ErrCorrupt, err)
}
