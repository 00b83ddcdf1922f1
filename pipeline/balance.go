package pipeline

import (
	"context"
	"errors"
	"fmt"

	"enhance/colour"
	"enhance/raw"
)

// balance is the colour treatment of a photo, decided before the network runs so
// that it cannot depend on how the picture is divided.
type balance struct {
	gains  [3]float64 // smallest 1
	ev     float64    // all exposure corrections together
	matrix colour.Matrix
}

// decideBalance settles white balance, exposure and the camera matrix, and writes
// to the report what was decided and why.
func decideBalance(ctx context.Context, p *raw.Photo, j *Job, display bool, rep *Report) (*balance, error) {
	m := p.Meta()
	b := &balance{gains: [3]float64{1, 1, 1}, matrix: colour.Identity()}
	facts := &rep.Colour
	var hist *[3]colour.Histogram
	histogram := func() (*[3]colour.Histogram, error) {
		var err error
		if hist == nil {
			hist, err = histograms(ctx, p)
		}
		return hist, err
	}
	if display {
		facts.WhiteBalance = "the model's own"
		if j.WB.Mode != WBDefault && j.WB.Mode != WBAsShot {
			return nil, optionErrorf("wb", "model %s makes display-ready pictures with a white balance of its own", rep.Model.Name)
		}
	} else if err := b.whiteBalance(m, j, histogram, rep); err != nil {
		return nil, err
	}
	if err := b.exposure(m, j, display, histogram, rep); err != nil {
		return nil, err
	}
	facts.Gains, facts.EV = b.gains, b.ev
	if display {
		return b, nil
	}
	matrix, info, err := colour.CameraToSRGB(cameraFacts(m), b.gains)
	if err != nil {
		return nil, &raw.FormatError{Where: "colour", Problem: "the camera's matrices cannot be used", Err: err}
	}
	b.matrix = matrix
	facts.Matrix, facts.Temperature = matrix, info.Temperature
	if info.Note != "" {
		rep.warn("%s", info.Note)
	}
	return b, nil
}

// whiteBalance decides the gains.
func (b *balance) whiteBalance(m *raw.Meta, j *Job, histogram func() (*[3]colour.Histogram, error), rep *Report) error {
	mode := j.WB.Mode
	if mode == WBDefault {
		mode = WBAsShot
		if m.AsShot == nil {
			mode = WBAuto
			rep.warn("the file records no white balance: estimated from the picture (--wb gives one)")
		}
	}
	rep.Colour.WhiteBalance = mode.String()
	switch mode {
	case WBGains:
		b.gains = j.WB.Gains
	case WBAsShot:
		if m.AsShot == nil {
			return optionErrorf("wb", "the file records no white balance: give auto or R,G,B")
		}
		for i, n := range m.AsShot {
			b.gains[i] = 1 / n
		}
	case WBAuto:
		h, err := histogram()
		if err != nil {
			return err
		}
		g, err := colour.AutoWB(*h)
		switch {
		case errors.Is(err, colour.ErrNoStatistics):
			rep.warn("white balance cannot be estimated (%v): all gains are 1", err)
		case err != nil:
			return err
		default:
			b.gains = g
		}
	}
	least := min(b.gains[0], b.gains[1], b.gains[2])
	for i := range b.gains {
		b.gains[i] /= least
		if !(b.gains[i] >= 1 && b.gains[i] <= 1e6) {
			return &raw.FormatError{Where: "colour", Problem: fmt.Sprintf("white balance gains %v cannot be used: give --wb", b.gains)}
		}
	}
	return nil
}

// exposure decides the stops.
func (b *balance) exposure(m *raw.Meta, j *Job, display bool, histogram func() (*[3]colour.Histogram, error), rep *Report) error {
	if !j.Exposure.Auto {
		b.ev = j.Exposure.EV
		if !display { // a display-ready network has exposed already
			b.ev += m.BaselineExposure
			rep.Colour.BaselineEV = m.BaselineExposure
		}
		b.ev = min(max(b.ev, -2*maxEV), 2*maxEV)
		return nil
	}
	if display {
		return optionErrorf("exposure", "auto measures the sensor's light, but model %s exposes by itself: give stops", rep.Model.Name)
	}
	h, err := histogram()
	if err != nil {
		return err
	}
	rep.Colour.AutoExposure = true
	b.ev, err = colour.AutoExposure(balanced(h[raw.Green], b.gains[raw.Green]))
	if errors.Is(err, colour.ErrNoStatistics) {
		rep.warn("exposure cannot be estimated (%v): left as it is", err)
		b.ev, err = 0, nil
	}
	return err
}

// histogramBins divide 0..1 finely enough for shadows and the clipping point.
const histogramBins = 4096

// histograms counts the crop's samples, black subtracted, by colour.
func histograms(ctx context.Context, p *raw.Photo) (*[3]colour.Histogram, error) {
	m := p.Meta()
	var h [3]colour.Histogram
	for c := range h {
		h[c] = make(colour.Histogram, histogramBins)
	}
	c := m.Crop
	rows := min(blockRows, c.Height())
	stored, line := make([]uint16, rows*m.Width), make([]float32, c.Width())
	for y := c.Y0; y < c.Y1; y += rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n := min(rows, c.Y1-y)
		if err := p.ReadRows(y, n, stored); err != nil {
			return nil, err
		}
		for i := range n {
			p.Normalise(y+i, c.X0, stored[i*m.Width+c.X0:][:c.Width()], line)
			for x, v := range line {
				k := int(min(max(v, 0), 1) * histogramBins)
				h[m.CFA.At(y+i, c.X0+x)][min(k, histogramBins-1)]++
			}
		}
	}
	return &h, nil
}

// balanced is a histogram after its samples are multiplied by gain.
func balanced(h colour.Histogram, gain float64) colour.Histogram {
	out := make(colour.Histogram, len(h))
	for i, n := range h {
		k := int((float64(i) + 0.5) * gain)
		out[min(k, len(h)-1)] += n
	}
	return out
}

// cameraFacts are a file's colour facts as package colour takes them.
func cameraFacts(m *raw.Meta) colour.Facts {
	f := colour.Facts{
		ColorMatrix1: m.ColorMatrix1, ColorMatrix2: m.ColorMatrix2,
		ForwardMatrix1: m.ForwardMatrix1, ForwardMatrix2: m.ForwardMatrix2,
		CameraCalibration1: m.CameraCalibration1, CameraCalibration2: m.CameraCalibration2,
		Illuminant1: m.Illuminant1, Illuminant2: m.Illuminant2,
		AnalogBalance: m.AnalogBalance,
	}
	if m.AsShot != nil {
		f.Neutral = *m.AsShot
	}
	return f
}
