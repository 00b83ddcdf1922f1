package htmlreport

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"html/template"
	"image"
	"image/jpeg"
	"image/png"

	"enhance/internal/sidebyside"
)

// Pictures are what a page shows of two pictures.
type Pictures struct {
	Width, Height int // of the pictures themselves
	Thumbnail     *Picture
	Before, After *Picture // Before is nil if there is none
	Crops         []Crop
	Histogram     *Histogram
	Difference    *Picture // where the pictures differ, or nil
}

// Picture is a picture in the page.
type Picture struct {
	Width, Height int
	URI           template.URL
}

// Crop is a part of both pictures at full size.
type Crop struct {
	X, Y, Width, Height int
	Before, After       *Picture
	Map                 cropMap
}

// cropMap is a drawing of where a crop lies.
type cropMap struct{ W, H, X, Y, Side string }

const (
	// ThumbnailSide bounds the sides of pictures in the index.
	ThumbnailSide = 256
	// thumbnailQuality and pictureQuality are those of the JPEG pictures.
	thumbnailQuality, pictureQuality = 80, 90
)

// Encode makes what a page holds of a result. With details left out it is the thumbnail alone.
func Encode(r *sidebyside.Result, details bool) (*Pictures, error) {
	p := &Pictures{Width: r.Width, Height: r.Height}
	var err error
	if p.Thumbnail, err = thumbnail(r.After); err != nil || !details {
		return p, err
	}
	if p.After, err = asJPEG(r.After, pictureQuality); err != nil {
		return nil, err
	}
	if r.Before != nil {
		if p.Before, err = asJPEG(r.Before, pictureQuality); err != nil {
			return nil, err
		}
	}
	for _, c := range r.Crops {
		one := Crop{X: c.X, Y: c.Y, Width: c.After.Rect.Dx(), Height: c.After.Rect.Dy()}
		if one.Before, err = AsPNG(c.Before); err != nil {
			return nil, err
		}
		if one.After, err = AsPNG(c.After); err != nil {
			return nil, err
		}
		one.Map = newCropMap(one, r.Width, r.Height)
		p.Crops = append(p.Crops, one)
	}
	p.Histogram = newHistogram(r)
	return p, nil
}

// newCropMap draws a picture of w x h in a square of 40.
func newCropMap(c Crop, w, h int) cropMap {
	scale := 40 / float64(max(w, h))
	side := max(5, scale*float64(c.Width))
	middle := func(first, n int) string { return number(scale*(float64(first)+float64(n)/2) - side/2) }
	return cropMap{W: number(scale * float64(w)), H: number(scale * float64(h)), Side: number(side),
		X: middle(c.X, c.Width), Y: middle(c.Y, c.Height)}
}

// Bytes of page is about how much a page holds of a photo with details, and of others.
const (
	DetailBytes    = 3 << 20
	ThumbnailBytes = 24 << 10
)

func asJPEG(m *image.RGBA, quality int) (*Picture, error) {
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, &jpeg.Options{Quality: quality}); err != nil {
		return nil, fmt.Errorf("picture of the report: %w", err)
	}
	return embedded(m, "image/jpeg", b.Bytes()), nil
}

// AsPNG embeds a picture without loss.
func AsPNG(m image.Image) (*Picture, error) {
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return nil, fmt.Errorf("picture of the report: %w", err)
	}
	return embedded(m, "image/png", b.Bytes()), nil
}

func embedded(m image.Image, kind string, data []byte) *Picture {
	size := m.Bounds().Size()
	return &Picture{size.X, size.Y, template.URL("data:" + kind + ";base64," + base64.StdEncoding.EncodeToString(data))}
}

// thumbnail makes a picture that is small already smaller.
func thumbnail(m *image.RGBA) (*Picture, error) {
	w, h := m.Rect.Dx(), m.Rect.Dy()
	small, err := sidebyside.NewSmall(w, h, ThumbnailSide)
	if err != nil {
		return nil, err
	}
	line := make([]uint16, 3*w)
	for y := range h {
		for x := range w {
			px := m.Pix[y*m.Stride+4*x:][:3]
			for k, v := range px {
				line[3*x+k] = 257 * uint16(v)
			}
		}
		if err := small.WriteRow(line); err != nil {
			return nil, err
		}
	}
	return asJPEG(small.Picture, thumbnailQuality)
}
