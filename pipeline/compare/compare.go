// Package compare holds two pictures against each other: figures, colour differences, and
// parts to look at. Begin with [Pictures].
package compare

import (
	"context"
	"errors"
	"fmt"
	"io"

	"enhance/internal/imgio"
	"enhance/internal/quality"
	"enhance/internal/sidebyside"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

// Job is two pictures to compare.
type Job struct {
	Before, After string // PNG, TIFF or JPEG files of one size
	// Side bounds the small pictures, Crops how many parts are kept at full size, each of
	// CropSide pixels; see package sidebyside.
	Side, Crops, CropSide int
	// Difference, if not nil, takes a PNG picture of the colour differences: black is 0, white
	// 10 or more.
	Difference io.Writer
	MinPSNR    float64 // as in [pipeline.Check]
}

// UnequalError says that pictures to compare have different sizes. [pipeline.Classify] takes
// it for a mistake of the caller.
type UnequalError struct {
	Before, After         string
	BeforeSize, AfterSize imgio.SizeError
}

func (e *UnequalError) Error() string {
	return fmt.Sprintf("%s has %dx%d pixels, %s has %dx%d: compare pictures of one size",
		e.Before, e.BeforeSize.Width, e.BeforeSize.Height, e.After, e.AfterSize.Width, e.AfterSize.Height)
}

func (e *UnequalError) Unwrap() error { return &e.AfterSize }

// differenceTop is the colour difference (CIEDE2000) that is white in pictures of differences.
const differenceTop = 10

// Pictures compares two pictures. The report is not nil with a [*pipeline.QualityError]. For errors
// see [pipeline.Classify].
func Pictures(ctx context.Context, j Job) (*facts.Comparison, error) {
	before, err := imgio.ReadRGB16(j.Before)
	if err = pipeline.PictureError(j.Before, err); err != nil {
		return nil, err
	}
	after, err := imgio.ReadRGB16Sized(j.After, before.Width, before.Height)
	err = pipeline.PictureError(j.After, err)
	var size *imgio.SizeError
	switch {
	case errors.As(err, &size):
		return nil, &UnequalError{Before: j.Before, After: j.After, BeforeSize: imgio.SizeError{Width: before.Width, Height: before.Height}, AfterSize: *size}
	case err != nil:
		return nil, err
	}
	r := &facts.Comparison{Before: j.Before, After: j.After, Width: before.Width, Height: before.Height}
	if err := measure(ctx, &j, r, before, after); err != nil {
		return nil, err
	}
	if got := float64(r.CPSNR); j.MinPSNR > 0 && !(got >= j.MinPSNR) {
		return r, &pipeline.QualityError{CPSNR: got, Want: j.MinPSNR}
	}
	return r, nil
}

// measure fills the report.
func measure(ctx context.Context, j *Job, r *facts.Comparison, before, after *imgio.RGB16) (err error) {
	cfg := quality.Config{Width: r.Width, Height: r.Height, Domain: quality.Domain8, SSIM: true}
	if before.Bits == 16 && after.Bits == 16 {
		cfg.Domain = quality.DomainFloat
	}
	figures, err := quality.New(cfg)
	if err != nil {
		return err
	}
	seen, err := sidebyside.New(sidebyside.Config{Width: r.Width, Height: r.Height, Side: max(1, j.Side), Crops: j.Crops, CropSide: j.CropSide, DeltaE: true})
	if err != nil {
		return err
	}
	drawing, err := newDifference(r.Width, r.Height, max(1, j.Side), j.Difference)
	if err != nil {
		return err
	}
	defer func() {
		if ended := drawing.close(); err == nil {
			err = ended
		}
	}()
	for y := range r.Height {
		if err := ctx.Err(); err != nil {
			return err
		}
		a, b := before.Row(y), after.Row(y)
		err := errors.Join(figures.AddRow16(b, a), seen.Add(a, b))
		if err == nil {
			err = drawing.add(seen.DeltaERow())
		}
		if err != nil {
			return err
		}
	}
	f, err := figures.Result()
	if err != nil {
		return err
	}
	r.Domain, r.CPSNR, r.SSIM, r.SSIMLuma = f.Domain.String(), facts.Decibels(f.CPSNR), f.SSIMMean, f.SSIMLuma
	for c, v := range f.PSNR {
		r.PSNR[c] = facts.Decibels(v)
	}
	if r.Seen, err = seen.Result(); err != nil {
		return err
	}
	r.DeltaE, r.Difference = *r.Seen.DeltaE, drawing.small.Picture
	return nil
}

// difference draws colour differences.
type difference struct {
	small *sidebyside.Small
	whole imgio.RowWriter // nil: not asked for
	row   []uint16
}

func newDifference(w, h, side int, to io.Writer) (d *difference, err error) {
	d = &difference{row: make([]uint16, 3*w)}
	if d.small, err = sidebyside.NewSmall(w, h, side); err != nil || to == nil {
		return d, err
	}
	text := fmt.Sprintf("CIEDE2000 differences: black is 0, white %d and more", differenceTop)
	d.whole, err = imgio.NewPNG(to, imgio.Header{Width: w, Height: h, Bits: 8, Description: text})
	return d, err
}

func (d *difference) add(deltaE []float32) error {
	for x, v := range deltaE {
		*(*[3]uint16)(d.row[3*x:]) = heat(float64(v) / differenceTop)
	}
	if d.whole != nil {
		if err := d.whole.WriteRow(d.row); err != nil {
			return err
		}
	}
	return d.small.WriteRow(d.row)
}

func (d *difference) close() error {
	if d.whole == nil {
		return nil
	}
	return d.whole.Close()
}

// heatColours are evenly spaced from 0 to 1, of rising lightness: black, violet, red, orange,
// yellow, white.
var heatColours = [...][3]float64{{0, 0, 4}, {66, 10, 104}, {147, 38, 103}, {221, 81, 58}, {252, 165, 10}, {252, 255, 164}, {255, 255, 255}}

func heat(v float64) (code [3]uint16) {
	at := min(max(v, 0), 1) * float64(len(heatColours)-1)
	i := min(int(at), len(heatColours)-2)
	rest := at - float64(i)
	for c := range code {
		low, high := heatColours[i][c], heatColours[i+1][c]
		code[c] = uint16(257*(low+rest*(high-low)) + 0.5)
	}
	return code
}
