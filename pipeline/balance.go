package pipeline

import (
	"errors"
	"time"

	"enhance/internal/colour"
	"enhance/internal/sharpen"
	"enhance/internal/workers"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/mosaic"
)

// balance is the colour treatment of a photo, decided before the network runs so
// that it cannot depend on how the picture is divided.
type balance struct {
	gains  [3]float64      // smallest 1
	ev     float64         // all exposure corrections together
	facts  colour.Facts    // of the camera
	look   *cameraLook     // of a camera profile; nil if there is none
	output colour.Encoding // of the picture
	matrix colour.Matrix   // from balanced light to the picture's space
	// tone is nil if light becomes codes as it is. sharpen is nil if nothing is sharpened.
	tone    *colour.Tone
	curve   colour.Curve
	sharpen *sharpen.Settings
	linear  bool // ToneLinear was asked for
	floats  bool // codes are floats
	camera  bool // the output has the camera's light, and neutral for its white balance
	neutral [3]float64
	amount  float64 // of sharpening that was asked for
	// headroom is the brightest light that is told apart, 1 being what saturates the colour
	// of gain 1. The network sees light divided by it.
	headroom float64
}

// networkGains are what a normalised sample is multiplied by for the network.
func (b *balance) networkGains() (g [3]float64) {
	for c := range g {
		g[c] = b.gains[c] / b.headroom
	}
	return g
}

// statistics of a photo, made when they are asked for.
type statistics struct {
	histograms func() (*[3]colour.Histogram, error)
	light      func() (*lightSample, error)
	spot       func(at [2]int) (lightCell, error) // around a place of the upright picture
}

// decideBalance settles white balance, exposure, the camera matrix and the tone, and
// writes to the report what was decided and why.
func decideBalance(m *raw.Meta, count statistics, j *Job, display bool, rep *Report) (*balance, error) {
	b := &balance{gains: [3]float64{1, 1, 1}, matrix: colour.Identity(), headroom: 1, output: j.Output.Profile.encoding(), floats: j.Output.Bits == 32}
	tone, err := j.tone(display, rep)
	if err != nil {
		return nil, err
	}
	if b.amount, err = j.sharpenAmount(tone); err != nil {
		return nil, err
	}
	b.linear = tone == look.ToneLinear
	facts := &rep.Colour
	facts.Tone = tone.String()
	if err := b.profileFacts(m, j, tone, rep); err != nil {
		return nil, err
	}
	if m.CFA == mosaic.Mono {
		facts.WhiteBalance = "none: the sensor is monochrome"
		if j.WB.Mode == look.WBGains {
			return nil, optionErrorf("wb", "the photo's sensor is monochrome: it has no white balance to set")
		}
	} else if display {
		facts.WhiteBalance = "the model's own"
		if j.WB.Mode != look.WBDefault && j.WB.Mode != look.WBAsShot {
			return nil, optionErrorf("wb", "model %s makes display-ready pictures with a white balance of its own", rep.Model.Name)
		}
	} else if err := b.whiteBalance(m, j.WB, count, rep); err != nil {
		return nil, err
	}
	if err := b.exposure(m, j, display, tone, count, rep); err != nil {
		return nil, err
	}
	facts.Gains, facts.EV = b.gains, b.ev
	if display {
		return b, nil
	}
	matrix, info, err := colour.CameraTo(b.output.Space, b.facts, b.gains)
	if err != nil {
		return nil, badMatrices(err)
	}
	b.matrix = matrix
	facts.Matrix = matrix
	if info.Temperature > 0 {
		facts.Temperature, facts.Tint = info.White.TemperatureTint()
	}
	if info.Note != "" && m.CFA != mosaic.Mono {
		rep.Warn("%s", info.Note)
	}
	if b.look != nil {
		if err := b.look.prepare(b, info.Weight1); err != nil {
			return nil, err
		}
		b.look.describe(rep)
	}
	if tone == look.ToneNatural {
		return b, b.natural()
	}
	return b, nil
}

func badMatrices(err error) error {
	return &raw.FormatError{Where: "colour", Problem: "the camera's matrices cannot be used", Err: err}
}

// maxHeadroom bounds the headroom: under tungsten light blue has gains of 3 and more, and
// what the network sees should not become too dark.
const maxHeadroom = 4

// clipping is the light at which each colour is clipped.
func (b *balance) clipping() (clip [3]float64) {
	for c, g := range b.gains {
		clip[c] = min(g, b.headroom)
	}
	return clip
}

// natural makes room for the light of colours that saturate late, and the tone curve.
func (b *balance) natural() error {
	b.headroom = min(max(b.gains[0], b.gains[1], b.gains[2]), maxHeadroom)
	wide, curve := colour.Rec2020, colour.NewCurve(b.ev, b.headroom)
	if b.look != nil && b.look.curve != nil { // the curve's maker meant it for that space
		wide, curve = colour.ProPhoto, colour.NewProfileCurve(b.look.curve, b.ev, b.headroom)
	}
	toWide := colour.Convert(colour.ProPhoto, wide)
	if !b.look.changesLight() {
		var err error
		if toWide, _, err = colour.CameraTo(wide, b.facts, b.gains); err != nil {
			return badMatrices(err)
		}
	}
	b.curve, b.tone = curve, colour.NewTone(curve, toWide, wide, b.output.Space)
	return nil
}

// exposure decides the stops.
func (b *balance) exposure(m *raw.Meta, j *Job, display bool, tone look.Tone, count statistics, rep *Report) error {
	x := j.Exposure
	// A profile's curve expects the exposure that the file asks for.
	profiled := b.look != nil && b.look.curve != nil
	x.Auto = x.Auto || x == (look.Exposure{}) && tone == look.ToneNatural && !profiled
	b.ev = x.EV
	switch {
	case !x.Auto && !display: // a display-ready network has exposed already
		baseline := m.BaselineExposure
		if b.look != nil {
			baseline += b.look.offset
		}
		b.ev += baseline
		rep.Colour.BaselineEV = baseline
	case x.Auto && display:
		return optionErrorf("exposure", "auto measures the sensor's light, but model %s exposes by itself: give stops", rep.Model.Name)
	case x.Auto:
		ev, err := b.measured(tone, count, rep)
		if err != nil {
			return err
		}
		b.ev += ev
		rep.Colour.AutoExposure = true
	}
	b.ev = min(max(b.ev, -2*look.MaxEV), 2*look.MaxEV)
	return nil
}

// measured is the exposure that the photo's light asks for.
func (b *balance) measured(tone look.Tone, count statistics, rep *Report) (float64, error) {
	if tone == look.ToneNatural {
		light, err := count.light()
		if err != nil {
			return 0, err
		}
		return colour.NaturalExposure(light.brightness(b.gains)), nil
	}
	h, err := count.histograms()
	if err != nil {
		return 0, err
	}
	ev, err := colour.AutoExposure(balanced(h[raw.Green], b.gains[raw.Green]))
	if errors.Is(err, colour.ErrNoStatistics) {
		rep.Warn("the exposure cannot be estimated (%v) and stays as it is; --exposure sets it", err)
		return 0, nil
	}
	return ev, err
}

// histogramBins divide 0..1 finely enough for shadows and the clipping point.
const histogramBins = 4096

// histograms counts the crop's samples, black subtracted, by colour. The crop lies
// within the region that is decoded.
func histograms(a *readAhead) (*[3]colour.Histogram, error) {
	m := a.photo.Meta()
	parts := make([]*[3]colour.Histogram, cores())
	lines := make([][]float32, cores())
	for n := range a.total() {
		bs, done, err := a.blocks(n, n)
		if err != nil {
			return nil, err
		}
		y0 := a.region.Y0 + n*blockRows
		first, end := max(y0, m.Crop.Y0), min(y0+blockRows, m.Crop.Y1)
		workers.Each(workers.Count(max(0, end-first), time.Duration(4*m.Width)), max(0, end-first), func(worker, i int) {
			if parts[worker] == nil {
				parts[worker], lines[worker] = newHistograms(), make([]float32, m.Crop.Width())
			}
			stored := bs[0][(first+i-y0)*m.Width+m.Crop.X0:][:m.Crop.Width()]
			count(parts[worker], m, first+i, stored, lines[worker])
		})
		done()
	}
	sum := newHistograms()
	for _, p := range parts {
		if p == nil {
			continue
		}
		for c := range p {
			for k, v := range p[c] {
				sum[c][k] += v
			}
		}
	}
	return sum, nil
}

func newHistograms() *[3]colour.Histogram {
	var h [3]colour.Histogram
	for c := range h {
		h[c] = make(colour.Histogram, histogramBins)
	}
	return &h
}

// count adds row y of the crop to h.
func count(h *[3]colour.Histogram, m *raw.Meta, y int, stored []uint16, line []float32) {
	m.Normalise(y, m.Crop.X0, stored, line)
	for x, v := range line {
		k := int(min(max(v, 0), 1) * histogramBins)
		h[m.CFA.At(y, m.Crop.X0+x)][min(k, histogramBins-1)]++
	}
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
