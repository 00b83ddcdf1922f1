package sidebyside

import (
	"image"

	"enhance/internal/colour"
	"enhance/internal/resize"
)

// Small makes a picture small, in linear light, of its rows of 16-bit sRGB codes.
type Small struct {
	Picture *image.RGBA // whole when all rows were written
	rows    resize.RowWriter
}

// NewSmall starts a picture of w x h pixels, whose longer side becomes no more than side.
func NewSmall(w, h, side int) (*Small, error) {
	sw, sh := resize.Fit(w, h, side, side)
	s := &Small{Picture: image.NewRGBA(image.Rect(0, 0, sw, sh))}
	s.rows = &rows{picture: s.Picture}
	if sw == w && sh == h {
		return s, nil
	}
	var err error
	s.rows, err = resize.New(s.rows, colour.SRGBTransfer, w, h, sw, sh)
	return s, err
}

// WriteRow takes the next row.
func (s *Small) WriteRow(rgb []uint16) error { return s.rows.WriteRow(rgb) }

func smallBytes(w, h, side int) int64 {
	sw, sh := resize.Fit(w, h, side, side)
	n := 4 * int64(sw) * int64(sh)
	if sw != w || sh != h {
		n += resize.Bytes(w, h, sw, sh)
	}
	return n
}

// rows become a picture's.
type rows struct {
	picture *image.RGBA
	y       int
}

func (r *rows) WriteRow(rgb []uint16) error {
	line := r.picture.Pix[r.y*r.picture.Stride:]
	r.y++
	for x := 0; 3*x < len(rgb); x++ {
		px := line[4*x:][:4:4]
		px[0], px[1], px[2], px[3] = to8(rgb[3*x]), to8(rgb[3*x+1]), to8(rgb[3*x+2]), 255
	}
	return nil
}

func (r *rows) Close() error { return nil }
