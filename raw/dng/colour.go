package dng

import (
	"errors"
	"fmt"
	"math"

	"enhance/internal/colour"
	"enhance/raw/dcp"
	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
	"enhance/raw/tiff"
)

// owner is the directory that has the tag: colour facts belong into the first
// one, but some writers put them beside the mosaic.
func (s *source) owner(tag uint16) *tiff.IFD {
	if !s.first.Has(tag) && s.raw.Has(tag) {
		return s.raw
	}
	return s.first
}

// numbers reads exactly n finite values of a tag, nil if there is no such tag or
// its values are 0/0, which some writers put for "unknown".
func (s *source) numbers(tag uint16, n int) ([]float64, error) {
	d := s.owner(tag)
	if !d.Has(tag) {
		return nil, nil
	}
	v, err := d.Floats(tag, 1<<12)
	if err != nil {
		return nil, err
	}
	if n == 9 && len(v) > 9 && len(v)%3 == 0 && len(v) <= 48 {
		return nil, &rawerr.UnsupportedError{Feature: fmt.Sprintf("sensor of %d colours (%s has %d values)", len(v)/3, tagName(tag), len(v)),
			Advice: "only red, green and blue sensors are read, and no ReductionMatrix"}
	}
	if len(v) != n {
		return nil, rawerr.Formatf("dng", "%s has %d values, want %d", tagName(tag), len(v), n)
	}
	for _, x := range v {
		if math.IsNaN(x) {
			return nil, nil
		}
		if math.IsInf(x, 0) {
			return nil, rawerr.Formatf("dng", "%s has a value that is not a number: %v", tagName(tag), v)
		}
	}
	return v, nil
}

// planes returns the plane number of each Colour: colour vectors in the file
// are in plane order, which CFAPlaneColor may permute.
func (s *source) planes() ([3]int, error) {
	p := [3]int{0, 1, 2}
	if s.linear || !s.raw.Has(tagCFAPlaneColor) {
		return p, nil
	}
	v, err := s.raw.Uints(tagCFAPlaneColor, 16)
	if err != nil {
		return p, err
	}
	seen := 0
	for i, c := range v {
		if c > 2 || len(v) != 3 {
			return p, &rawerr.UnsupportedError{Feature: fmt.Sprintf("CFA colour planes %v", v), Advice: "only red, green and blue sensors are read"}
		}
		p[c] = i
		seen |= 1 << c
	}
	if seen != 7 {
		return p, rawerr.Formatf("dng", "CFAPlaneColor %v repeats a colour", v)
	}
	return p, nil
}

// colour reads white balance, matrices and exposure into Colour order.
func (s *source) colour(im *Image, _ *layout) error {
	m := &im.Meta
	m.AnalogBalance = [3]float64{1, 1, 1}
	if !s.isDNG() {
		return nil
	}
	if s.mono {
		return s.brightness(m)
	}
	planes, err := s.planes()
	if err != nil {
		return err
	}
	if v, err := s.vector(tagAnalogBalance, planes); err != nil {
		return err
	} else if v != nil {
		m.AnalogBalance = *v
	}
	if err := s.calibrations(m, planes); err != nil {
		return err
	}
	if err := s.profile(m); err != nil {
		return err
	}
	if err := s.brightness(m); err != nil {
		return err
	}
	if m.NoiseProfile, err = s.noiseProfile(planes); err != nil {
		return err
	}
	return s.asShot(im, planes)
}

// calibrations reads the matrices, and the light that each is for.
func (s *source) calibrations(m *mosaic.Meta, planes [3]int) (err error) {
	xyz := [3]int{0, 1, 2} // these sides of a matrix stay in their order
	for _, c := range []struct {
		tag        uint16
		rows, cols [3]int
		dst        **[3][3]float64
	}{
		{tagColorMatrix1, planes, xyz, &m.ColorMatrix1},
		{tagColorMatrix2, planes, xyz, &m.ColorMatrix2},
		{tagCameraCalibration1, planes, planes, &m.CameraCalibration1},
		{tagCameraCalibration2, planes, planes, &m.CameraCalibration2},
		{tagForwardMatrix1, xyz, planes, &m.ForwardMatrix1},
		{tagForwardMatrix2, xyz, planes, &m.ForwardMatrix2},
	} {
		if *c.dst, err = s.matrix(c.tag, c.rows, c.cols); err != nil {
			return err
		}
	}
	if s.owner(tagColorMatrix3).Has(tagColorMatrix3) {
		s.warn("the third calibration (ColorMatrix3) is not used: colours are interpolated between the first two")
	}
	if m.IlluminantXY, err = dcp.IlluminantXY(s.first); err != nil {
		return err
	}
	for i, dst := range []*int{&m.Illuminant1, &m.Illuminant2} {
		tag := uint16(tagIlluminant1 + i)
		v, err := s.owner(tag).Uint(tag, 0)
		if err != nil {
			return err
		}
		*dst = int(min(v, math.MaxUint16))
	}
	return nil
}

// profile reads the file's camera profile beyond its matrices, and leaves out calibrations
// that go with another one. A damaged profile is left out with a warning, for the photo is
// whole without it.
func (s *source) profile(m *mosaic.Meta) error {
	var err error
	if m.UniqueModel, err = s.first.Text(tagUniqueCameraModel); err != nil {
		return err
	}
	m.Calibrations = [2]*[3][3]float64{m.CameraCalibration1, m.CameraCalibration2}
	if m.CalibrationSignature, err = s.owner(tagCalibrationSignature).Text(tagCalibrationSignature); err != nil {
		return err
	}
	p, err := dcp.Tables(s.first)
	var damaged *rawerr.FormatError
	switch {
	case errors.As(err, &damaged):
		s.warn("the file's camera profile is damaged and left out: %v", err)
		p = &mosaic.Profile{}
		if p.Signature, err = s.first.Text(tagProfileSignature); err != nil {
			return err
		}
	case err != nil:
		return err
	}
	if p.Signature != m.CalibrationSignature && (m.CameraCalibration1 != nil || m.CameraCalibration2 != nil) {
		m.CameraCalibration1, m.CameraCalibration2 = nil, nil
		s.warn("CameraCalibration is not used: it is signed %q, and the profile %q", m.CalibrationSignature, p.Signature)
	}
	if p.HasLook() || p.ExposureOffset != 0 {
		m.Profile = p
	}
	return nil
}

// brightness reads what a sensor without colours has of them too.
func (s *source) brightness(m *mosaic.Meta) error {
	v, err := s.numbers(tagBaselineExposure, 1)
	if v != nil {
		m.BaselineExposure = v[0]
	}
	return err
}

// noiseProfile reads pairs S, O of every plane, or one pair for all. Pairs that
// cannot be are left out with a warning: a photo is not damaged by them.
func (s *source) noiseProfile(planes [3]int) (*[3][2]float64, error) {
	d := s.owner(tagNoiseProfile)
	if !d.Has(tagNoiseProfile) {
		return nil, nil
	}
	v, err := d.Floats(tagNoiseProfile, 16)
	if err != nil {
		return nil, err
	}
	if len(v) == 2 {
		v = []float64{v[0], v[1], v[0], v[1], v[0], v[1]}
	}
	ok := len(v) == 6
	for i := 0; ok && i < len(v); i += 2 {
		scale, offset := v[i], v[i+1]
		ok = scale >= 0 && scale <= 1 && offset >= 0 && offset <= 1 && scale+offset > 0 // false for NaN too
	}
	if !ok {
		s.warn("NoiseProfile %v is not a scale and an offset for each colour and is not used", v)
		return nil, nil
	}
	var out [3][2]float64
	for c, p := range planes {
		out[c] = [2]float64{v[2*p], v[2*p+1]}
	}
	return &out, nil
}

// vector reads three values, one a plane, all positive.
func (s *source) vector(tag uint16, planes [3]int) (*[3]float64, error) {
	v, err := s.numbers(tag, 3)
	if v == nil || err != nil {
		return nil, err
	}
	var out [3]float64
	for c, p := range planes {
		if v[p] <= 0 {
			return nil, rawerr.Formatf("dng", "tag %d has values %v, want positive ones", tag, v)
		}
		out[c] = v[p]
	}
	return &out, nil
}

func (s *source) matrix(tag uint16, rows, cols [3]int) (*[3][3]float64, error) {
	v, err := s.numbers(tag, 9)
	if v == nil || err != nil {
		return nil, err
	}
	var out [3][3]float64
	for i, r := range rows {
		for j, c := range cols {
			out[i][j] = v[3*r+c]
		}
	}
	return &out, nil
}

// asShot reads the camera's white balance, as a neutral or as a chromaticity.
func (s *source) asShot(im *Image, planes [3]int) error {
	m := &im.Meta
	var err error
	if m.AsShot, err = s.vector(tagAsShotNeutral, planes); err != nil {
		return err
	}
	xy, err := s.numbers(tagAsShotWhiteXY, 2)
	if err != nil || xy == nil {
		return err
	}
	m.AsShotWhiteXY = &[2]float64{xy[0], xy[1]}
	if m.AsShot != nil {
		return nil
	}
	gains, err := colour.GainsFor(ColourFacts(m), colour.Chromaticity{X: xy[0], Y: xy[1]})
	if err != nil || !(xy[0] > 0 && xy[1] > 0 && xy[0]+xy[1] < 1) {
		s.warn("AsShotWhiteXY %v gives no white balance with the file's ColorMatrix", xy)
		return nil
	}
	m.AsShot = &[3]float64{1 / gains[0], 1, 1 / gains[2]}
	return nil
}

// ColourFacts are a photo's colour facts as package colour takes them.
func ColourFacts(m *mosaic.Meta) colour.Facts {
	f := colour.Facts{
		ColorMatrix1: m.ColorMatrix1, ColorMatrix2: m.ColorMatrix2,
		ForwardMatrix1: m.ForwardMatrix1, ForwardMatrix2: m.ForwardMatrix2,
		CameraCalibration1: m.CameraCalibration1, CameraCalibration2: m.CameraCalibration2,
		Illuminant1: m.Illuminant1, Illuminant2: m.Illuminant2, IlluminantXY: m.IlluminantXY,
		AnalogBalance: m.AnalogBalance,
	}
	if m.AsShot != nil {
		f.Neutral = *m.AsShot
	}
	return f
}
