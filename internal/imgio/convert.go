package imgio

import (
	"fmt"
	"image"
	"image/color"
	"strings"
)

// errAlpha is reported for a picture with transparent pixels: what they look
// like depends on a background that nobody has named.
var errAlpha = fmt.Errorf("%w: it has transparent pixels; flatten it first", ErrUnsupported)

// toRGB16 converts what the decoders return.
func toRGB16(im image.Image) (*RGB16, error) {
	b := im.Bounds()
	m := &RGB16{Width: b.Dx(), Height: b.Dy(), Bits: 8}
	if m.Width < 1 || m.Height < 1 {
		return nil, fmt.Errorf("%w: no pixels", ErrCorrupt)
	}
	row, bits, err := rowConverter(im)
	if err != nil {
		return nil, err
	}
	switch im.(type) {
	case *image.Gray, *image.Gray16:
		m.Gray = true
	}
	m.Bits, m.Pix = bits, make([]uint16, 3*m.Width*m.Height)
	for y := range m.Height {
		if !row(m.Row(y), y) {
			return nil, errAlpha
		}
	}
	return m, nil
}

// rowConverter returns a function that converts row y, counted from the top of
// the picture, and reports whether all of it is opaque.
func rowConverter(im image.Image) (row func(dst []uint16, y int) bool, bits int, err error) {
	switch s := im.(type) {
	case *image.RGBA: // opaque, it equals NRGBA; otherwise it is refused
		return func(dst []uint16, y int) bool { return rgba8(dst, s.Pix[y*s.Stride:]) }, 8, nil
	case *image.NRGBA:
		return func(dst []uint16, y int) bool { return rgba8(dst, s.Pix[y*s.Stride:]) }, 8, nil
	case *image.RGBA64:
		return func(dst []uint16, y int) bool { return rgba16(dst, s.Pix[y*s.Stride:]) }, 16, nil
	case *image.NRGBA64:
		return func(dst []uint16, y int) bool { return rgba16(dst, s.Pix[y*s.Stride:]) }, 16, nil
	case *image.Gray:
		return func(dst []uint16, y int) bool {
			for x, v := range s.Pix[y*s.Stride:][:len(dst)/3] {
				g := uint16(v) * 257
				dst[3*x], dst[3*x+1], dst[3*x+2] = g, g, g
			}
			return true
		}, 8, nil
	case *image.Gray16:
		return func(dst []uint16, y int) bool {
			p := s.Pix[y*s.Stride:]
			for x := range len(dst) / 3 {
				g := uint16(p[2*x])<<8 | uint16(p[2*x+1])
				dst[3*x], dst[3*x+1], dst[3*x+2] = g, g, g
			}
			return true
		}, 16, nil
	case *image.YCbCr:
		return func(dst []uint16, y int) bool { ycbcr(dst, s, y); return true }, 8, nil
	case *image.Paletted:
		return func(dst []uint16, y int) bool { return paletted(dst, s, y) }, 8, nil
	}
	kind := strings.TrimPrefix(fmt.Sprintf("%T", im), "*image.")
	return nil, 0, fmt.Errorf("%w: its pixels are %s; convert it to RGB", ErrUnsupported, kind)
}

func rgba8(dst []uint16, p []byte) bool {
	opaque := byte(255)
	for x := range len(dst) / 3 {
		s := p[4*x:][:4]
		dst[3*x], dst[3*x+1], dst[3*x+2] = uint16(s[0])*257, uint16(s[1])*257, uint16(s[2])*257
		opaque &= s[3]
	}
	return opaque == 255
}

func rgba16(dst []uint16, p []byte) bool {
	opaque := byte(255)
	for x := range len(dst) / 3 {
		s := p[8*x:][:8]
		for k := range 3 {
			dst[3*x+k] = uint16(s[2*k])<<8 | uint16(s[2*k+1])
		}
		opaque &= s[6] & s[7]
	}
	return opaque == 255
}

func ycbcr(dst []uint16, s *image.YCbCr, y int) {
	b := s.Bounds()
	for x := range len(dst) / 3 {
		i, j := s.YOffset(b.Min.X+x, b.Min.Y+y), s.COffset(b.Min.X+x, b.Min.Y+y)
		r, g, bl := color.YCbCrToRGB(s.Y[i], s.Cb[j], s.Cr[j])
		dst[3*x], dst[3*x+1], dst[3*x+2] = uint16(r)*257, uint16(g)*257, uint16(bl)*257
	}
}

func paletted(dst []uint16, s *image.Paletted, y int) bool {
	for x, i := range s.Pix[y*s.Stride:][:len(dst)/3] {
		var r, g, b, a uint32 // an index past the palette is black, as PNG decoders have it
		a = 0xffff
		if int(i) < len(s.Palette) {
			r, g, b, a = s.Palette[i].RGBA()
		}
		if a != 0xffff {
			return false
		}
		dst[3*x], dst[3*x+1], dst[3*x+2] = uint16(r), uint16(g), uint16(b)
	}
	return true
}
