package mosaic

// Profile is a camera profile beyond its matrices, and with them if it is from a file of its
// own (DNG specification 1.6, chapter 6). It says how scene light of one kind of camera
// becomes the colours that the profile's maker likes.
type Profile struct {
	Name, Copyright string
	Camera          string // the UniqueCameraModel that it is for; "" for any
	Signature       string // of the calibrations that go with it

	// Matrices of a profile in a file of its own; those of a photo's own profile are in Meta.
	ColorMatrix1, ColorMatrix2     *[3][3]float64
	ForwardMatrix1, ForwardMatrix2 *[3][3]float64
	Illuminant1, Illuminant2       int            // Exif LightSource codes; 0 if unknown
	IlluminantXY                   [2]*[2]float64 // of illuminants with the code of others

	// HueSat1 and HueSat2 correct colours under the two illuminants; nil if absent. Their
	// sizes are equal.
	HueSat1, HueSat2 *HueSatMap
	// Look changes colours for taste, after the exposure; nil if absent.
	Look *HueSatMap
	// ToneCurve are points x, y of a curve from linear light to the display's linear light,
	// x rising from 0 to 1; nil if absent.
	ToneCurve [][2]float64
	// ExposureOffset are stops to add to BaselineExposure.
	ExposureOffset float64
}

// HasLook reports whether the profile has more than matrices.
func (p *Profile) HasLook() bool {
	return p != nil && (p.HueSat1 != nil || p.HueSat2 != nil || p.Look != nil || p.ToneCurve != nil)
}

// HueSatMap is a table of changes of hue, saturation and value, by those three of a colour in
// linear ProPhoto RGB.
type HueSatMap struct {
	Hues, Saturations, Values int // divisions: at least 1, 2 and 1
	// SRGBValues says that values are on sRGB's curve, for the index and when they are scaled.
	SRGBValues bool
	// Deltas are, for each value, hue and saturation (the innermost): degrees to add to the
	// hue, factors of the saturation and of the value.
	Deltas [][3]float32
}
