package main

import (
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"os"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"

	"enhance/internal/imgio"
)

// panel is a part of a picture and what stands above it.
type panel struct {
	label string
	im    *imgio.RGB16
	x, y  int
}

const (
	zoom   = 2
	gap    = 6
	header = 18 // for the label
)

// writePanels writes panels, so many in a row, as a PNG.
func writePanels(path string, panels []panel, across int) error {
	const side = zoom * cropSide
	rows := (len(panels) + across - 1) / across
	sheet := image.NewNRGBA(image.Rect(0, 0, across*(side+gap)-gap, rows*(side+header+gap)-gap))
	draw.Draw(sheet, sheet.Bounds(), image.White, image.Point{}, draw.Src)
	for i, p := range panels {
		if p.x+cropSide > p.im.Width || p.y+cropSide > p.im.Height {
			return fmt.Errorf("%s: a part of %d pixels at %d,%d is not inside %dx%d", p.label, cropSide, p.x, p.y, p.im.Width, p.im.Height)
		}
		x0, y0 := i%across*(side+gap), i/across*(side+header+gap)
		d := font.Drawer{Dst: sheet, Src: image.Black, Face: basicfont.Face7x13, Dot: fixed.P(x0+1, y0+header-5)}
		d.DrawString(p.label)
		for y := range side {
			row := p.im.Row(p.y + y/zoom)
			for x := range side {
				px := row[3*(p.x+x/zoom):]
				sheet.SetNRGBA(x0+x, y0+header+y, color.NRGBA{uint8(px[0] >> 8), uint8(px[1] >> 8), uint8(px[2] >> 8), 255})
			}
		}
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	enc := png.Encoder{CompressionLevel: png.BestCompression}
	if err := enc.Encode(f, sheet); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
