package colour

import (
	"errors"
	"fmt"
	"math"
)

// Facts is what a RAW file says about its camera's colour, in the terms of the
// DNG specification. Matrices may be nil. All are from or to the order R, G, B.
type Facts struct {
	// ColorMatrix maps XYZ to the reference camera's RGB under each illuminant.
	ColorMatrix1, ColorMatrix2 *Matrix
	// ForwardMatrix maps white-balanced camera RGB to XYZ relative to D50.
	ForwardMatrix1, ForwardMatrix2 *Matrix
	// CameraCalibration maps the reference camera's RGB to this one's.
	CameraCalibration1, CameraCalibration2 *Matrix
	// Illuminant is the EXIF LightSource code of each calibration.
	Illuminant1, Illuminant2 int
	// IlluminantXY are the chromaticities of illuminants with the code of other lights, 255.
	IlluminantXY [2]*[2]float64
	// AnalogBalance are the gains applied before digitisation; zeros mean ones.
	AnalogBalance [3]float64
	// Neutral is the camera RGB of a neutral surface as shot; zeros mean that the
	// file does not say.
	Neutral [3]float64
}

// Info tells how CameraToSRGB came to its matrix.
type Info struct {
	// Identity says that the facts hold no matrix: the camera's colours are
	// taken for sRGB's, which makes them dull but keeps greys.
	Identity bool
	// Neutral is the camera RGB of white that was used, largest component 1.
	Neutral [3]float64
	// White is the scene's white and Temperature its correlated colour
	// temperature in kelvin. Zero if Identity.
	White       Chromaticity
	Temperature float64
	// Weight1 is the share of the first calibration, 1 if there is only one.
	Weight1 float64
	// Forward says that forward matrices were used, not inverted colour matrices.
	Forward bool
	// Note says in words what was missing or assumed; empty if nothing was.
	Note string
}

// ErrNeutral is reported when neither gains nor facts give a usable white balance.
var ErrNeutral = errors.New("no usable white balance")

// CameraToSRGB is [CameraTo] for sRGB.
func CameraToSRGB(facts Facts, gains [3]float64) (Matrix, Info, error) {
	return CameraTo(SRGB, facts, gains)
}

// CameraTo returns the matrix from white-balanced camera RGB to linear RGB of the given
// space, relative to its white. gains are the white-balance gains that the pixels were
// multiplied by; all zero means the reciprocals of facts.Neutral. Only ratios matter.
//
// It follows "Mapping Camera Color Space to CIE XYZ Space" of the DNG
// specification (1.4.0.0, chapter 6): calibrations are interpolated linearly in
// reciprocal temperature at the white found by iteration; forward matrices are
// preferred; otherwise the colour matrix is inverted and its white adapted to
// D50. The result's rows are scaled to sum to 1, so that camera white is exactly
// the space's white. Without a colour matrix, camera colours are taken for sRGB's.
//
// Errors wrap ErrNeutral or ErrSingular.
func CameraTo(space Space, facts Facts, gains [3]float64) (Matrix, Info, error) {
	neutral, err := chooseNeutral(facts, gains)
	if err != nil {
		return Matrix{}, Info{}, err
	}
	info := Info{Neutral: neutral, Weight1: 1}
	if facts.ColorMatrix1 == nil && facts.ColorMatrix2 == nil {
		info.Identity = true
		info.Note = "the file has no colour matrix: camera colours are taken for sRGB"
		return Convert(SRGB, space), info, nil
	}
	c := newCalibration(facts, &info)
	if err := c.findWhite(neutral, &info); err != nil {
		return Matrix{}, Info{}, err
	}
	toD50, err := c.cameraToD50(neutral, &info)
	if err != nil {
		return Matrix{}, Info{}, err
	}
	// Undoing the gains brings balanced RGB back to the camera's own.
	m, err := normaliseWhite(Mul(space.fromXYZD50(), Mul(toD50, Diagonal(neutral))))
	return m, info, err
}

// chooseNeutral returns the camera RGB of white with its largest component 1.
func chooseNeutral(facts Facts, gains [3]float64) ([3]float64, error) {
	n, from := facts.Neutral, "the as-shot neutral"
	if gains != ([3]float64{}) {
		from = "the white-balance gains"
		for i, g := range gains {
			n[i] = 1 / g
		}
	}
	top := 0.0
	for _, v := range n {
		if !(v > 0) || math.IsInf(v, 0) {
			return n, fmt.Errorf("%w: %s %v must be three positive numbers", ErrNeutral, from, n)
		}
		top = math.Max(top, v)
	}
	for i := range n {
		n[i] /= top
	}
	return n, nil
}

// calibration is one or two sets of matrices, ready to be interpolated.
type calibration struct {
	color, forward, camera [2]*Matrix
	mired                  [2]float64
	pair                   bool
	analog                 Matrix
}

func newCalibration(f Facts, info *Info) *calibration {
	c := &calibration{
		color:   [2]*Matrix{f.ColorMatrix1, f.ColorMatrix2},
		forward: [2]*Matrix{f.ForwardMatrix1, f.ForwardMatrix2},
		camera:  [2]*Matrix{f.CameraCalibration1, f.CameraCalibration2},
		analog:  Identity(),
	}
	if f.AnalogBalance != ([3]float64{}) {
		c.analog = Diagonal(f.AnalogBalance)
	}
	if c.color[0] == nil { // a file with the second set only: let it be the first
		c.color[0], c.forward[0], c.camera[0] = c.color[1], c.forward[1], c.camera[1]
		c.color[1] = nil
	}
	t1, t2 := illuminantTemperature(f.Illuminant1, f.IlluminantXY[0]), illuminantTemperature(f.Illuminant2, f.IlluminantXY[1])
	switch {
	case c.color[1] == nil:
	case t1 == 0 || t2 == 0 || t1 == t2:
		info.Note = fmt.Sprintf("calibration illuminants %d and %d are not two known temperatures: the first set is used alone",
			f.Illuminant1, f.Illuminant2)
	default:
		c.pair = true
		c.mired = [2]float64{1e6 / t1, 1e6 / t2}
	}
	return c
}

// illuminantTemperature is that of a calibration's illuminant, 0 if it is unknown.
func illuminantTemperature(code int, xy *[2]float64) float64 {
	const other = 255
	if code == other && xy != nil {
		return Chromaticity{xy[0], xy[1]}.Temperature()
	}
	return LightSourceTemperature(code)
}

// weight1 is the share of the first set at a temperature.
func (c *calibration) weight1(kelvin float64) float64 {
	if !c.pair {
		return 1
	}
	w := (1e6/kelvin - c.mired[1]) / (c.mired[0] - c.mired[1])
	return math.Min(math.Max(w, 0), 1)
}

// mix interpolates one pair of matrices. A set that lacks its member lends the
// other's; nil if both do.
func (c *calibration) mix(m [2]*Matrix, w float64) *Matrix {
	if !c.pair || m[1] == nil {
		return m[0]
	}
	if m[0] == nil {
		return m[1]
	}
	var r Matrix
	for i := range r {
		for j := range r[i] {
			r[i][j] = w*m[0][i][j] + (1-w)*m[1][i][j]
		}
	}
	return &r
}

// individual is AB·CC: reference camera RGB to this camera's, gains included.
func (c *calibration) individual(w float64) Matrix {
	if cc := c.mix(c.camera, w); cc != nil {
		return Mul(c.analog, *cc)
	}
	return c.analog
}

// xyzToCamera is AB·CC·CM.
func (c *calibration) xyzToCamera(w float64) Matrix {
	return Mul(c.individual(w), *c.mix(c.color, w))
}

// findWhite finds the chromaticity whose camera RGB is neutral. The matrix
// depends on the temperature and the temperature on the matrix, hence the loop.
func (c *calibration) findWhite(neutral [3]float64, info *Info) error {
	// The loop converges in a few rounds; a pair of very unlike matrices can make
	// it swing between two whites, of which the mean is then taken.
	const rounds, settled = 30, 1e-7
	white := D50
	for i := range rounds {
		inv, err := Inverse(c.xyzToCamera(c.weight1(white.Temperature())))
		if err != nil {
			return fmt.Errorf("colour matrix: %w", err)
		}
		xyz := Apply(inv, neutral)
		sum := xyz[0] + xyz[1] + xyz[2]
		if !(xyz[0] > 0 && xyz[1] > 0 && xyz[2] > 0) || math.IsInf(sum, 0) {
			return fmt.Errorf("%w: the colour matrix maps neutral %.4v to XYZ %.4v, which is no colour; give other white-balance gains",
				ErrNeutral, neutral, xyz)
		}
		next := chromaticityOf(xyz)
		if math.Abs(next.X-white.X)+math.Abs(next.Y-white.Y) < settled {
			white = next
			break
		}
		if i == rounds-1 {
			next = Chromaticity{(next.X + white.X) / 2, (next.Y + white.Y) / 2}
		}
		white = next
	}
	info.White, info.Temperature = white, white.Temperature()
	info.Weight1 = c.weight1(info.Temperature)
	return nil
}

// cameraToD50 is the matrix from camera RGB (not balanced) to XYZ under D50.
func (c *calibration) cameraToD50(neutral [3]float64, info *Info) (Matrix, error) {
	fm := c.mix(c.forward, info.Weight1)
	if fm == nil {
		inv, err := Inverse(c.xyzToCamera(info.Weight1))
		if err != nil {
			return Matrix{}, fmt.Errorf("colour matrix: %w", err)
		}
		return Mul(Adapt(info.White, D50), inv), nil
	}
	info.Forward = true
	inv, err := Inverse(c.individual(info.Weight1))
	if err != nil {
		return Matrix{}, fmt.Errorf("camera calibration matrix: %w", err)
	}
	var balance [3]float64
	for i, v := range Apply(inv, neutral) {
		if !(v > 0) {
			return Matrix{}, fmt.Errorf("%w: the camera calibration maps neutral %.4v to a negative component", ErrNeutral, neutral)
		}
		balance[i] = 1 / v
	}
	return Mul(*fm, Mul(Diagonal(balance), inv)), nil
}

// normaliseWhite scales every row to sum to 1.
func normaliseWhite(m Matrix) (Matrix, error) {
	for i := range m {
		sum := m[i][0] + m[i][1] + m[i][2]
		if !(sum > 1e-6) || math.IsInf(sum, 0) {
			return Matrix{}, fmt.Errorf("%w: white maps to %.4g in component %d of sRGB", ErrSingular, sum, i)
		}
		for j := range m[i] {
			m[i][j] /= sum
		}
	}
	return m, nil
}
