package raw

import (
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"

	"enhance/raw/rawerr"
)

// Bounds on a PNG before it is decoded, which takes memory for the whole image:
// deflate cannot compress better than 1032:1, and no sensor has more pixels.
const (
	maxDeflate   = 1032
	maxPNGPixels = 400e6
)

const pngMagic = "\x89PNG\r\n\x1a\n"

// openPNG decodes a 16-bit gray PNG whole.
func (p *Photo) openPNG(r io.ReaderAt, size int64) error {
	src := &errKeeper{r: r}
	conf, err := png.DecodeConfig(io.NewSectionReader(src, 0, size))
	if err != nil {
		return src.pngError(err)
	}
	if conf.ColorModel != color.Gray16Model {
		return notGray16()
	}
	pixels := float64(conf.Width) * float64(conf.Height)
	if pixels > maxPNGPixels {
		return &UnsupportedError{Feature: fmt.Sprintf("PNG of %dx%d samples", conf.Width, conf.Height), Advice: "the limit is 400 megapixels"}
	}
	if 2*pixels > maxDeflate*float64(size) {
		return rawerr.Formatf("png", "%dx%d samples cannot be in %d bytes", conf.Width, conf.Height, size)
	}
	img, err := png.Decode(io.NewSectionReader(src, 0, size))
	if err != nil {
		return src.pngError(err)
	}
	gray, ok := img.(*image.Gray16)
	if !ok { // gray with a transparent colour is decoded as RGBA
		return notGray16()
	}
	p.rows = pngRows{gray}
	p.meta = plainMeta(conf.Width, conf.Height)
	p.meta.Format = "PNG mosaic, 16-bit"
	return nil
}

func notGray16() error {
	return &UnsupportedError{Feature: "PNG that is not 16-bit gray", Advice: "a PNG mosaic must be 16-bit grayscale without transparency; a developed picture is not a RAW photo"}
}

type pngRows struct{ img *image.Gray16 }

// ReadRows implements rowSource.
func (p pngRows) ReadRows(y0, n int, dst []uint16) error {
	w := p.img.Rect.Dx()
	for y := range n {
		row := p.img.Pix[(y0+y)*p.img.Stride:][:2*w]
		for x := range w {
			dst[y*w+x] = uint16(row[2*x])<<8 | uint16(row[2*x+1])
		}
	}
	return nil
}

// errKeeper remembers a failed read, which image/png may report as damage.
type errKeeper struct {
	r   io.ReaderAt
	err error
}

func (e *errKeeper) ReadAt(b []byte, off int64) (int, error) {
	n, err := e.r.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		e.err = err
	}
	return n, err
}

func (e *errKeeper) pngError(err error) error {
	if e.err != nil {
		return fmt.Errorf("png: %w", e.err)
	}
	var u png.UnsupportedError
	if errors.As(err, &u) {
		return &UnsupportedError{Feature: "PNG with " + string(u)}
	}
	return &FormatError{Where: "png", Problem: "damaged or cut short", Err: err}
}
