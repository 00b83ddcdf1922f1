package pipeline

import (
	"errors"
	"fmt"

	"enhance/internal/imgio"
	"enhance/internal/quality"
	"enhance/pipeline/facts"
)

// QualityError says that the result is further from the reference than allowed.
type QualityError struct{ CPSNR, Want float64 }

func (e *QualityError) Error() string {
	return fmt.Sprintf("CPSNR to the reference is %.2f dB, below the %.2f dB asked for", e.CPSNR, e.Want)
}

// comparison compares the upright result with a reference, row by row.
type comparison struct {
	path  string
	ref   *imgio.RGB16
	meter *quality.Meter
	y     int
}

// checkReference holds the sides in the reference's header against the result's. Its pixels
// take memory only when the run is known to have it, see openReference.
func checkReference(path string, w, h int) error {
	return referenceError(path, imgio.CheckSize(path, w, h), w, h)
}

// openReference reads the reference.
func openReference(path string, w, h, bits int) (*comparison, error) {
	ref, err := imgio.ReadRGB16Sized(path, w, h)
	if err != nil {
		return nil, referenceError(path, err, w, h)
	}
	cfg := quality.Config{Width: w, Height: h, Domain: quality.Domain8, SSIM: true}
	if bits == 16 && ref.Bits == 16 {
		cfg.Domain = quality.DomainFloat
	}
	m, err := quality.New(cfg)
	if err != nil {
		return nil, err
	}
	return &comparison{path: path, ref: ref, meter: m}, nil
}

func referenceError(path string, err error, w, h int) error {
	err = PictureError(path, err)
	if size := new(imgio.SizeError); errors.As(err, &size) {
		return optionErrorf("reference", "%s has %dx%d pixels, the result has %dx%d", path, size.Width, size.Height, w, h)
	}
	return err
}

func (c *comparison) row(rgb []uint16) error {
	c.y++
	return c.meter.AddRow16(rgb, c.ref.Row(c.y-1))
}

// result gives the figures of the finished comparison.
func (c *comparison) result() (*facts.Reference, error) {
	r, err := c.meter.Result()
	if err != nil {
		return nil, err
	}
	f := &facts.Reference{Path: c.path, Domain: r.Domain.String(), CPSNR: facts.Decibels(r.CPSNR), SSIM: r.SSIMMean, SSIMLuma: r.SSIMLuma}
	for i, v := range r.PSNR {
		f.PSNR[i] = facts.Decibels(v)
	}
	return f, nil
}
