package pipeline

import (
	"fmt"
	"strings"

	"enhance/internal/colour"
	"enhance/pipeline/look"
	"enhance/raw"
	"enhance/raw/dcp"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// CameraProfile is a camera profile of a file of its own, .dcp. Its matrices and its map of
// hue and saturation take the place of the photo's.
type CameraProfile struct {
	Path    string
	profile *mosaic.Profile
}

// ReadCameraProfile reads the named .dcp file.
func ReadCameraProfile(path string) (*CameraProfile, error) {
	p, err := dcp.Read(path)
	if err != nil {
		return nil, &FileError{Path: path, Err: err}
	}
	return &CameraProfile{path, p}, nil
}

// cameraLook is what a camera profile does to a photo's light: nothing, if it is nil.
type cameraLook struct {
	name             string
	hueSat1, hueSat2 *colour.HueSatTable
	look             *colour.HueSatTable
	curve            [][2]float64
	offset           float64 // stops

	toProPhoto colour.Matrix
	hueSat     *colour.HueSatMap
	lookMap    *colour.HueSatMap
	gain       float32 // of the light that the look table is looked up at
}

// profileFacts settles what the photo's colours are calibrated by, and the look.
func (b *balance) profileFacts(m *raw.Meta, j *Job, tone look.Tone, rep *Report) error {
	b.facts = dng.ColourFacts(m)
	p, own := m.Profile, true
	if j.CameraProfile != nil {
		if tone == look.ToneDefault {
			return optionErrorf("dcp", "model %s makes display-ready pictures with colours of its own", rep.Model.Name)
		}
		p, own = j.CameraProfile.profile, false
		if err := profileFits(p, m, rep); err != nil {
			return err
		}
		b.facts.ColorMatrix1, b.facts.ColorMatrix2 = p.ColorMatrix1, p.ColorMatrix2
		b.facts.ForwardMatrix1, b.facts.ForwardMatrix2 = p.ForwardMatrix1, p.ForwardMatrix2
		b.facts.Illuminant1, b.facts.Illuminant2, b.facts.IlluminantXY = p.Illuminant1, p.Illuminant2, p.IlluminantXY
		b.facts.CameraCalibration1, b.facts.CameraCalibration2 = nil, nil
		if p.Signature == m.CalibrationSignature {
			b.facts.CameraCalibration1, b.facts.CameraCalibration2 = m.Calibrations[0], m.Calibrations[1]
		}
		b.look = &cameraLook{hueSat1: tableOf(p.HueSat1), hueSat2: tableOf(p.HueSat2)}
		b.look.name = profileName(p.Name, j.CameraProfile.Path)
	}
	if j.ProfileLook != look.LookProfile {
		return nil
	}
	switch {
	case tone == look.ToneDefault:
		return optionErrorf("look", "model %s makes display-ready pictures with a look of its own", rep.Model.Name)
	case tone == look.ToneLinear:
		return optionErrorf("look", "--tone linear keeps light in proportion, and a profile's look does not: leave one of them out")
	case !p.HasLook() && own:
		return optionErrorf("look", "the photo's file has no profile with a look: leave --look out, or give --dcp FILE")
	case !p.HasLook():
		return optionErrorf("look", "%s has no look, only matrices: leave --look out", j.CameraProfile.Path)
	}
	if own {
		b.look = &cameraLook{hueSat1: tableOf(p.HueSat1), hueSat2: tableOf(p.HueSat2), name: profileName(p.Name, "the file's own")}
	}
	b.look.look, b.look.curve, b.look.offset = tableOf(p.Look), p.ToneCurve, p.ExposureOffset
	rep.Colour.Look = "profile"
	if p.ToneCurve != nil {
		rep.Colour.Tone = "profile"
	}
	return nil
}

func profileName(name, otherwise string) string {
	if name == "" {
		return otherwise
	}
	return name
}

// profileFits refuses a profile of another camera.
func profileFits(p *mosaic.Profile, m *raw.Meta, rep *Report) error {
	if p.Camera == "" {
		return nil
	}
	var names []string
	whole := m.Model
	if !strings.HasPrefix(m.Model, m.Make) {
		whole = m.Make + " " + m.Model
	}
	for _, name := range []string{whole, m.Model, m.UniqueModel} {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		if sameCamera(name, p.Camera) {
			return nil
		}
		names = append(names, name)
	}
	if len(names) == 0 {
		rep.Warn("the photo does not say which camera took it; the profile is for %s", p.Camera)
		return nil
	}
	return optionErrorf("dcp", "the profile is for %s, and the photo was taken by %s", p.Camera, names[0])
}

func tableOf(t *mosaic.HueSatMap) *colour.HueSatTable {
	if t == nil {
		return nil
	}
	return &colour.HueSatTable{Hues: t.Hues, Saturations: t.Saturations, Values: t.Values, SRGBValues: t.SRGBValues, Deltas: t.Deltas}
}

// prepare makes the maps for the photo's light, and the matrices that light goes by then: to
// the picture's space from ProPhoto RGB, no longer from the camera's.
func (l *cameraLook) prepare(b *balance, weight1 float64) error {
	m, _, err := colour.CameraTo(colour.ProPhoto, b.facts, b.gains)
	if err != nil {
		return badMatrices(err)
	}
	l.toProPhoto = m
	switch first, second := l.hueSat1, l.hueSat2; {
	case first != nil:
		l.hueSat = colour.NewHueSatMap(first, second, weight1)
	case second != nil:
		l.hueSat = colour.NewHueSatMap(second, nil, 1)
	}
	if l.look != nil {
		l.lookMap = colour.NewHueSatMap(l.look, nil, 1)
	}
	l.gain = exposureGain(b.ev)
	return nil
}

// changesLight reports whether light is changed in ProPhoto RGB.
func (l *cameraLook) changesLight() bool { return l != nil && (l.hueSat != nil || l.lookMap != nil) }

// row brings a row's light to ProPhoto RGB and changes it.
func (l *cameraLook) row(_ int, _ []float32, light [3][]float32) {
	colour.Transform(light[0], light[1], light[2], &l.toProPhoto)
	if l.hueSat != nil {
		l.hueSat.Row(light[0], light[1], light[2], 1)
	}
	if l.lookMap != nil {
		l.lookMap.Row(light[0], light[1], light[2], l.gain)
	}
}

// bytes is what the tables hold.
func (l *cameraLook) bytes() int64 {
	if l == nil {
		return 0
	}
	return l.hueSat.Bytes() + l.lookMap.Bytes()
}

// describe says in the report what the profile does.
func (l *cameraLook) describe(rep *Report) {
	if l == nil {
		return
	}
	var parts []string
	for _, t := range []struct {
		name  string
		table *colour.HueSatTable
	}{{"map", l.hueSat1}, {"map", l.hueSat2}, {"look table", l.look}} {
		if t.table != nil && (t.name != "map" || len(parts) == 0) {
			parts = append(parts, fmt.Sprintf("%s %dx%dx%d", t.name, t.table.Hues, t.table.Saturations, t.table.Values))
		}
	}
	if l.curve != nil {
		parts = append(parts, fmt.Sprintf("tone curve of %d points", len(l.curve)))
	}
	rep.Colour.CameraProfile = l.name
	if len(parts) > 0 {
		rep.Colour.CameraProfile += " (" + strings.Join(parts, ", ") + ")"
	}
}
