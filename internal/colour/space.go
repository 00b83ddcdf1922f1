package colour

// Space is a linear RGB colour space: its primaries, and its white at RGB 1,1,1.
type Space struct {
	Name                    string
	Red, Green, Blue, White Chromaticity
}

// The spaces that pictures are made in. SRGB is that of IEC 61966-2-1, DisplayP3 has the
// primaries of SMPTE EG 432-1 with D65, Rec2020 is that of ITU-R BT.2020.
var (
	SRGB      = Space{"sRGB", Chromaticity{0.64, 0.33}, Chromaticity{0.30, 0.60}, Chromaticity{0.15, 0.06}, D65}
	DisplayP3 = Space{"Display P3", Chromaticity{0.680, 0.320}, Chromaticity{0.265, 0.690}, Chromaticity{0.150, 0.060}, D65}
	Rec2020   = Space{"Rec. 2020", Chromaticity{0.708, 0.292}, Chromaticity{0.170, 0.797}, Chromaticity{0.131, 0.046}, D65}
)

// ToXYZ returns the matrix from linear RGB to XYZ relative to the space's white.
func (s Space) ToXYZ() Matrix {
	m, err := Primaries(s.Red, s.Green, s.Blue, s.White)
	if err != nil {
		panic("colour: the primaries of " + s.Name + " are constant and independent")
	}
	return m
}

// ToXYZD50 returns the matrix from linear RGB to XYZ adapted to D50: the colorants of
// the space's ICC profile.
func (s Space) ToXYZD50() Matrix { return Mul(Adapt(s.White, D50), s.ToXYZ()) }

func (s Space) fromXYZD50() Matrix {
	m, err := Inverse(s.ToXYZD50())
	if err != nil {
		panic("colour: the primaries of " + s.Name + " are constant and independent")
	}
	return m
}

// Luminance returns the weights of linear RGB in the luminance Y. They sum to 1.
func (s Space) Luminance() [3]float64 { return s.ToXYZ()[1] }

// Convert returns the matrix from linear RGB of one space to another's, white to white.
func Convert(from, to Space) Matrix {
	if from == to {
		return Identity()
	}
	m, err := normaliseWhite(Mul(to.fromXYZD50(), from.ToXYZD50()))
	if err != nil {
		panic("colour: the white of " + from.Name + " has no place in " + to.Name)
	}
	return m
}

// SRGBToXYZ returns the matrix from linear sRGB to XYZ relative to D65.
func SRGBToXYZ() Matrix { return SRGB.ToXYZ() }

// SRGBToXYZD50 returns the matrix from linear sRGB to XYZ adapted to D50, the
// colorants of an ICC profile.
func SRGBToXYZD50() Matrix { return SRGB.ToXYZD50() }
