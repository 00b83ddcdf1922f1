package raw

import "enhance/raw/mosaic"

// PhotoFacts are what is known about a photo besides its samples, for people and as
// JSON. Coordinates are those of the active area.
type PhotoFacts struct {
	Make     string `json:"make,omitempty"`
	Model    string `json:"model,omitempty"`
	Software string `json:"software,omitempty"`
	DateTime string `json:"date_time,omitempty"`
	// Exposure is nil if the file says nothing about it.
	Exposure    *ExposureFacts `json:"exposure,omitempty"`
	Format      string         `json:"format"` // container, compression and bits
	Width       int            `json:"width"`  // of the active area
	Height      int            `json:"height"`
	Crop        [4]int         `json:"crop"`             // x0, y0, x1, y1
	CFA         string         `json:"cfa,omitempty"`    // as ParsePattern reads it
	Sensor      string         `json:"sensor,omitempty"` // what kind: Bayer, X-Trans, ...
	Linear      bool           `json:"linear,omitempty"`
	Warped      bool           `json:"warped,omitempty"`
	Orientation int            `json:"orientation"`
	// PixelAspect is the width of a sample in times of its height, if that is not 1.
	PixelAspect float64 `json:"pixel_aspect,omitempty"`

	// Levels are of the samples as they are read, after the corrections of the mosaic.
	BlackRepeat     [2]int           `json:"black_repeat"` // rows, columns
	Black           []float32        `json:"black"`
	BlackByRow      bool             `json:"black_by_row,omitempty"`
	BlackByColumn   bool             `json:"black_by_column,omitempty"`
	White           [3]float32       `json:"white"`
	ExifBytes       int              `json:"exif_bytes,omitempty"`
	BaselineStops   float64          `json:"baseline_exposure,omitempty"`
	AnalogBalance   [3]float64       `json:"analog_balance"`
	Illuminants     [2]int           `json:"illuminants"` // Exif LightSource codes
	AsShotNeutral   *[3]float64      `json:"as_shot_neutral,omitempty"`
	AsShotWhiteXY   *[2]float64      `json:"as_shot_white_xy,omitempty"`
	ColorMatrices   []*[3][3]float64 `json:"color_matrices,omitempty"`
	ForwardMatrices []*[3][3]float64 `json:"forward_matrices,omitempty"`
	Calibrations    []*[3][3]float64 `json:"camera_calibrations,omitempty"`
	NoiseProfile    *[3][2]float64   `json:"noise_profile,omitempty"`
	Profile         *ProfileFacts    `json:"profile,omitempty"` // nil: no more than matrices
	Warnings        []string         `json:"warnings,omitempty"`
}

// ProfileFacts are what a photo's camera profile has besides matrices.
type ProfileFacts struct {
	Name           string  `json:"name,omitempty"`
	Copyright      string  `json:"copyright,omitempty"`
	HueSatMap      *[3]int `json:"hue_sat_map,omitempty"` // hues, saturations, values
	HueSatMaps     int     `json:"hue_sat_maps,omitempty"`
	LookTable      *[3]int `json:"look_table,omitempty"`
	ToneCurve      int     `json:"tone_curve,omitempty"` // points
	ExposureOffset float64 `json:"exposure_offset,omitempty"`
}

func profileFacts(p *mosaic.Profile) *ProfileFacts {
	if p == nil {
		return nil
	}
	f := &ProfileFacts{Name: p.Name, Copyright: p.Copyright, ToneCurve: len(p.ToneCurve), ExposureOffset: p.ExposureOffset}
	for _, t := range []*mosaic.HueSatMap{p.HueSat1, p.HueSat2} {
		if t != nil {
			f.HueSatMap = &[3]int{t.Hues, t.Saturations, t.Values}
			f.HueSatMaps++
		}
	}
	if t := p.Look; t != nil {
		f.LookTable = &[3]int{t.Hues, t.Saturations, t.Values}
	}
	return f
}

func photoFacts(m *Meta) *PhotoFacts {
	f := &PhotoFacts{
		Make: m.Make, Model: m.Model, Software: m.Software, DateTime: m.DateTime, Exposure: exposureFacts(m.Exif), Format: m.Format,
		Width: m.Width, Height: m.Height, Crop: [4]int{m.Crop.X0, m.Crop.Y0, m.Crop.X1, m.Crop.Y1},
		Linear: m.Linear, Warped: m.Warped, Orientation: m.Orientation, PixelAspect: m.PixelAspect,
		BlackRepeat: [2]int{m.BlackRows, m.BlackCols}, Black: m.Black, White: m.White,
		BlackByRow: m.BlackDeltaV != nil, BlackByColumn: m.BlackDeltaH != nil,
		ExifBytes: len(m.Exif), BaselineStops: m.BaselineExposure, AnalogBalance: m.AnalogBalance,
		Illuminants: [2]int{m.Illuminant1, m.Illuminant2}, AsShotNeutral: m.AsShot, AsShotWhiteXY: m.AsShotWhiteXY,
		ColorMatrices: present(m.ColorMatrix1, m.ColorMatrix2), ForwardMatrices: present(m.ForwardMatrix1, m.ForwardMatrix2),
		Calibrations: present(m.CameraCalibration1, m.CameraCalibration2),
		NoiseProfile: m.NoiseProfile, Profile: profileFacts(m.Profile), Warnings: m.Warnings,
	}
	if m.CFA.Valid() {
		f.CFA, f.Sensor = m.CFA.String(), m.CFA.Kind()
	}
	return f
}

// present leaves out matrices that the file does not have.
func present(all ...*[3][3]float64) (have []*[3][3]float64) {
	for _, m := range all {
		if m != nil {
			have = append(have, m)
		}
	}
	return have
}
