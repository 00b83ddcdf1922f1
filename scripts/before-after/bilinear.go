package main

import (
	"image"
	"math"

	"enhance/internal/colour"
	"enhance/raw"
	"enhance/raw/dng"
)

// bilinear develops the crop of a photo without a network: every missing colour
// of a pixel is the mean of its nearest samples of that colour.
func bilinear(path string, gains [3]float64, ev float64) (*image.NRGBA, error) {
	p, err := raw.Open(path, raw.Options{})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	m := p.Meta()
	matrix, _, err := colour.CameraToSRGB(dng.ColourFacts(m), gains)
	if err != nil {
		return nil, err
	}
	mosaic, err := balanced(p, gains)
	if err != nil {
		return nil, err
	}
	light := math.Exp2(ev + m.BaselineExposure)
	out := image.NewNRGBA(image.Rect(0, 0, m.Crop.Width(), m.Crop.Height()))
	for y := m.Crop.Y0; y < m.Crop.Y1; y++ {
		for x := m.Crop.X0; x < m.Crop.X1; x++ {
			rgb := colour.Apply(matrix, neighbours(mosaic, m, x, y))
			i := out.PixOffset(x-m.Crop.X0, y-m.Crop.Y0)
			for c, v := range rgb {
				out.Pix[i+c] = uint8(math.Round(255 * colour.SRGBEncode(min(max(v*light, 0), 1))))
			}
			out.Pix[i+3] = 255
		}
	}
	return out, nil
}

// balanced reads the active area: linear, times the gain of each sample's colour,
// clipped to 0..1 as the network's input is.
func balanced(p *raw.Photo, gains [3]float64) ([]float32, error) {
	m := p.Meta()
	stored := make([]uint16, m.Width)
	mosaic := make([]float32, m.Width*m.Height)
	for y := range m.Height {
		if err := p.ReadRows(y, 1, stored); err != nil {
			return nil, err
		}
		row := mosaic[y*m.Width:][:m.Width]
		p.Normalise(y, 0, stored, row)
		for x := range row {
			row[x] = min(max(row[x]*float32(gains[m.CFA.At(y, x)]), 0), 1)
		}
	}
	return mosaic, nil
}

// neighbours is bilinear interpolation at one pixel: by colour, the mean of the
// samples of the 3×3 around it, weighted 4 at it, 2 beside it, 1 diagonally.
func neighbours(mosaic []float32, m *raw.Meta, x, y int) [3]float64 {
	var sum, weight [3]float64
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			xx, yy := x+dx, y+dy
			if xx < 0 || yy < 0 || xx >= m.Width || yy >= m.Height {
				continue
			}
			c := m.CFA.At(yy, xx)
			w := float64((2 - dx*dx) * (2 - dy*dy))
			if c == m.CFA.At(y, x) && (dx != 0 || dy != 0) {
				w = 0 // the pixel has this colour
			}
			sum[c] += w * float64(mosaic[yy*m.Width+xx])
			weight[c] += w
		}
	}
	for c := range sum {
		sum[c] /= weight[c]
	}
	return sum
}
