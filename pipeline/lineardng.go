package pipeline

import (
	"fmt"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/internal/metadata"
	"enhance/model"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// A linear DNG file (docs/dng.md) has the camera's light as the network's rows give it:
// demosaiced, denoised, before white balance and everything that follows. What was decided
// about white balance and exposure goes into tags.

// refuseDNG refuses what a linear DNG file cannot hold.
func (j *Job) refuseDNG() error {
	switch {
	case j.Output.Format != DNG:
	case j.Output.Writer != nil:
		return optionErrorf("output", "a DNG file is written in two passes and cannot go to a stream: name a file")
	case j.Output.Resize != (Resize{}):
		return optionErrorf("resize", "a DNG file has all of the photo's pixels: leave it out")
	case j.Tone == look.ToneNatural:
		return optionErrorf("tone", "a DNG file has the camera's light, without a tone: leave it out")
	case j.Sharpen == look.SharpenLow || j.Sharpen == look.SharpenStandard:
		return optionErrorf("sharpen", "a DNG file is not sharpened: leave it out")
	case j.Exposure.Auto:
		return optionErrorf("exposure", "auto is for finished pictures: a DNG file keeps the photo's exposure; give stops to add to its BaselineExposure")
	case j.Output.Profile != outputProfiles[0].name:
		return optionErrorf("output-profile", "a DNG file has the camera's colours: leave it out")
	case j.CameraProfile != nil:
		return optionErrorf("dcp", "a DNG file has the camera's light, and the photo's own profile: leave it out, and give it to the program that develops the file")
	case j.ProfileLook == look.LookProfile:
		return optionErrorf("look", "a DNG file has the camera's light, without a look: leave it out")
	case j.Show.Side > 0:
		return optionErrorf("report", "a DNG file is no finished picture to look at: give --report with a picture of the photo (-o x.jpg)")
	case j.Reference != "":
		return optionErrorf("reference", "a DNG file has the camera's light, which cannot be compared with a picture: leave it out")
	}
	return nil
}

// refuseModel refuses a model that does not give the camera's light.
func (r *run) refuseModel() error {
	s := r.session
	c := &s.model.Convention
	switch {
	case r.classical:
	case c.Output == model.OutputDisplaySRGB:
		return optionErrorf("format", "model %s makes display-ready pictures, and a DNG file has the camera's light: choose another model, such as %s", s.modelName, model.Default)
	case c.ScaleNum != 2*c.ScaleDen:
		return optionErrorf("format", "model %s makes pictures of another size than the sensor's, which a DNG file cannot have: choose another model, such as %s", s.modelName, model.Default)
	}
	return nil
}

// dngArea is the part of the active area that the file gets, as Meta.Crop would say it: what
// operations need that are left to the file's readers, else the crop.
func (r *run) dngArea() *raw.Meta {
	m := *r.meta
	if r.photo.Lens() == nil || r.job.Lens == look.LensAuto {
		return &m
	}
	_, m.Crop = r.photo.Waiting()
	m.Warped = false
	return &m
}

// cameraLight decides what is done to the light of a DNG file: nothing. The network sees it
// balanced.
func cameraLight(m *raw.Meta, count statistics, j *Job, rep *Report) (*balance, error) {
	b := &balance{gains: [3]float64{1, 1, 1}, matrix: colour.Identity(), headroom: 1, linear: true, camera: true, facts: dng.ColourFacts(m)}
	rep.Colour.Tone = "none: the camera's light"
	if m.CFA == mosaic.Mono && !m.Linear {
		rep.Colour.WhiteBalance = "none: the sensor is monochrome"
		if j.WB.Mode == look.WBGains {
			return nil, optionErrorf("wb", "the photo's sensor is monochrome: it has no white balance to set")
		}
	} else if err := b.whiteBalance(m, j.WB, count, rep); err != nil {
		return nil, err
	}
	rep.Colour.Gains = b.gains
	rep.Colour.BaselineEV, rep.Colour.EV = m.BaselineExposure, m.BaselineExposure+j.Exposure.EV
	for i, g := range b.gains {
		b.neutral[i] = 1 / g
		b.gains[i] = min(g, maxHeadroom)
	}
	b.headroom = max(b.gains[0], b.gains[1], b.gains[2])
	return b, nil
}

// decideLight decides what becomes of the light: that of a finished picture or of a DNG file, which
// has a picture for its preview.
func (r *run) decideLight(count statistics, display bool) (err error) {
	if r.job.Output.Format != DNG {
		r.decisions.balance, err = decideBalance(r.meta, count, r.job, display, r.report)
		return err
	}
	if r.decisions.balance, err = cameraLight(r.meta, count, r.job, r.report); err != nil {
		return err
	}
	shown := *r.job
	shown.Output.Format, shown.Look = JPEG, Look{WB: r.job.WB, Sharpen: look.SharpenOff}
	r.decisions.preview, err = decideBalance(r.meta, count, &shown, false, &Report{})
	return err
}

// cameraCodes are samples of a DNG file: light without the white balance.
func (b *balance) cameraCodes(light [3][]float32, codes []uint16) {
	for c, line := range light {
		scale := float32(dng.LinearWhite / b.gains[c])
		for x, v := range line {
			codes[3*x+c] = uint16(min(max(float32(v*scale), 0), dng.LinearWhite) + 0.5)
		}
	}
}

// dngPlanes is how many samples a pixel of the file has.
func dngPlanes(m *raw.Meta) int {
	if m.CFA == mosaic.Mono && !m.Linear {
		return 1
	}
	return 3
}

// dngEncoder opens the encoder of a linear DNG file.
func (r *run) dngEncoder(out *target) (imgio.RowWriter, error) {
	area := r.dngArea().Crop
	crop := raw.Rect{X0: r.meta.Crop.X0 - area.X0, Y0: r.meta.Crop.Y0 - area.Y0, X1: r.meta.Crop.X1 - area.X0, Y1: r.meta.Crop.Y1 - area.Y0}
	spec, err := r.linearSpec(crop)
	if err != nil {
		return nil, err
	}
	d := &dngEncoder{planes: spec.Planes}
	if d.preview, err = r.newPreview(crop); err != nil {
		return nil, err
	}
	spec.PreviewWidth, spec.PreviewHeight = d.preview.w, d.preview.h
	if d.file, err = dng.NewLinearWriter(out, spec); err != nil {
		d.preview.abandon()
		return nil, err
	}
	r.abandonOutput = d.abandon
	return d, nil
}

// dngEncoder is an imgio.RowWriter of camera light.
type dngEncoder struct {
	file    *dng.LinearWriter
	preview *preview
	planes  int
	gray    []uint16
	closed  bool
}

func (d *dngEncoder) WriteRow(rgb []uint16) error {
	if err := d.preview.add(rgb); err != nil {
		return err
	}
	if d.planes == 1 {
		d.gray = d.gray[:0]
		for x := 0; x < len(rgb); x += 3 {
			d.gray = append(d.gray, rgb[x])
		}
		rgb = d.gray
	}
	return d.file.WriteRow(rgb)
}

func (d *dngEncoder) Close() error {
	jpeg, err := d.preview.finish()
	if err != nil {
		return err
	}
	if err = d.file.Close(jpeg); err == nil {
		d.closed = true
	}
	return err
}

// abandon ends what goes on for a file that is not completed.
func (d *dngEncoder) abandon() {
	d.preview.abandon()
	if !d.closed {
		d.file.Abandon()
	}
}

// linearSpec describes the file.
func (r *run) linearSpec(crop raw.Rect) (dng.LinearSpec, error) {
	s := dng.LinearSpec{Width: r.geo.out.Width(), Height: r.geo.out.Height(), Planes: dngPlanes(r.meta),
		Meta: *r.meta, Carried: r.photo.Carried(), Software: software()}
	m, b := &s.Meta, r.decisions.balance
	m.Crop, m.AsShotWhiteXY = crop, nil
	m.BaselineExposure += r.job.Exposure.EV
	m.Orientation = max(m.Orientation, 1)
	if m.AnalogBalance == ([3]float64{}) {
		m.AnalogBalance = [3]float64{1, 1, 1}
	}
	if s.Planes == 1 {
		m.AsShot = nil
	} else if err := describeColour(m, b.neutral); err != nil {
		return s, err
	}
	m.NoiseProfile, s.NoiseReduction = r.noiseInDNG()
	if r.photo.Lens() != nil && !r.decisions.lens {
		s.Opcodes, _ = r.photo.Waiting()
	}
	if r.job.Output.Strip {
		s.Carried = s.Carried.Colours()
		s.Directories, s.Software, m.DateTime = metadata.NoExif(r.byteOrder()), "", ""
		return s, nil
	}
	s.Directories, s.XMP = r.exifDirectories(), r.xmp(false)
	s.Directories.SetVersion()
	return s, nil
}

// describeColour puts the neutral into the file's facts, and, where the photo's file does not say how
// its camera sees colour, that the camera sees it as sRGB does, which is what pictures are
// made by too.
func describeColour(m *raw.Meta, neutral [3]float64) error {
	m.AsShot = &neutral
	if m.ColorMatrix1 == nil {
		m.ColorMatrix1, m.ForwardMatrix1, m.CameraCalibration1, m.Illuminant1 = m.ColorMatrix2, m.ForwardMatrix2, m.CameraCalibration2, m.Illuminant2
		m.ColorMatrix2, m.ForwardMatrix2, m.CameraCalibration2, m.Illuminant2 = nil, nil, nil, 0
	}
	if m.ColorMatrix1 == nil {
		fromXYZ, err := colour.Inverse(colour.SRGBToXYZ())
		if err != nil {
			return fmt.Errorf("sRGB's matrix: %w", err)
		}
		seen := [3][3]float64(colour.Mul(colour.Diagonal(neutral), fromXYZ))
		m.ColorMatrix1, m.AnalogBalance = &seen, [3]float64{1, 1, 1}
		m.ForwardMatrix1, m.CameraCalibration1 = nil, nil
	}
	const d65 = 21
	if m.Illuminant1 == 0 && m.ColorMatrix2 == nil {
		m.Illuminant1 = d65
	}
	return nil
}

// noiseInDNG is the noise that is left in the file's samples on smooth surfaces, as a profile of the
// camera, and the share that was removed; nil for what nobody knows.
func (r *run) noiseInDNG() (*[3][2]float64, *float64) {
	f := r.report.Noise
	if f == nil || f.Source == noiseNone {
		return r.meta.NoiseProfile, nil
	}
	removed := f.Denoise
	if f.Left == nil {
		return nil, &removed
	}
	network := *f.Left - (1 - removed) // what the network itself leaves, see decideLeft
	p := r.keptInDNG(1 - removed)
	for c, l := range f.Levels {
		p[c][0] += network * network * l.S
		p[c][1] += network * network * l.O
	}
	return &p, &removed
}

// keptInDNG is the profile of the share of the noise that is put back. It is that of each pixel's own filter, in all of
// its colours, and so in each colour the mean of the filters' in white-balanced light.
func (r *run) keptInDNG(share float64) (p [3][2]float64) {
	gains := r.decisions.balance.networkGains()
	var s, o float64
	for c, l := range r.report.Noise.Levels {
		part := 1. / 9 // of a demosaiced photo: the mean of three samples
		if !r.meta.Linear {
			part = filterShare(r.meta.CFA, mosaic.Colour(c))
		}
		s += part * gains[c] * l.S
		o += part * gains[c] * gains[c] * l.O
	}
	for c := range p {
		p[c] = [2]float64{share * share * s / gains[c], share * share * o / (gains[c] * gains[c])}
	}
	return p
}

// filterShare is the share of an array's filters that are of a colour.
func filterShare(p mosaic.Pattern, c mosaic.Colour) float64 {
	n := 0
	for i := range p.Rows() * p.Cols() {
		if p.At(i/p.Cols(), i%p.Cols()) == c {
			n++
		}
	}
	return float64(n) / float64(p.Rows()*p.Cols())
}
