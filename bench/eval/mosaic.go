package eval

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"enhance/internal/colour"
	"enhance/internal/imgio"
	"enhance/raw/dng"
	"enhance/raw/mosaic"
)

// Mosaic says how photos become mosaics. The zero value of CFA is RGGB.
type Mosaic struct {
	CFA mosaic.Pattern
	// FullColour leaves all colours at each place, as in demosaiced photos: only noise is
	// to be removed, and CFA is not used.
	FullColour bool
	// Sigma is the standard deviation of Gaussian noise in 8-bit codes, in the sRGB
	// domain. It must be 0 if Sensor is set.
	Sigma float64
	// Sensor makes mosaics of the sensor domain; nil for the sRGB domain.
	Sensor *Sensor
	Seed   uint64
}

// Sensor is a sensor's noise and its white balance.
type Sensor struct {
	S     float64    `json:"s"` // of the variance S·v + O of a sample v of 0..1, before white balance
	O     float64    `json:"o"`
	Gains [3]float64 `json:"gains"` // white-balance gains, the smallest 1
}

// ParseSensor reads "S,O" or "S,O,R,G,B" with the gains of the white balance.
func ParseSensor(text string) (*Sensor, error) {
	s := &Sensor{Gains: [3]float64{1, 1, 1}}
	fields := strings.Split(text, ",")
	if len(fields) != 2 && len(fields) != 5 {
		return nil, fmt.Errorf("%q: want S,O or S,O,R,G,B, such as 1e-3,1e-5,2,1,1.5", text)
	}
	for i, to := range []*float64{&s.S, &s.O, &s.Gains[0], &s.Gains[1], &s.Gains[2]}[:len(fields)] {
		v, err := strconv.ParseFloat(strings.TrimSpace(fields[i]), 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %q is not a number", text, fields[i])
		}
		*to = v
	}
	if least := min(s.Gains[0], s.Gains[1], s.Gains[2]); least > 0 {
		for c := range s.Gains {
			s.Gains[c] /= least
		}
	}
	return s, s.check()
}

func (s *Sensor) check() error {
	if !(s.S >= 0 && s.S <= 1 && s.O >= 0 && s.O <= 1) {
		return fmt.Errorf("noise %g, %g: want numbers from 0 to 1", s.S, s.O)
	}
	for _, g := range s.Gains {
		if !(g >= 1 && g <= 100) {
			return fmt.Errorf("gains %v: want positive numbers, the largest at most 100 times the smallest", s.Gains)
		}
	}
	return nil
}

func (m *Mosaic) check() error {
	if m.CFA == (mosaic.Pattern{}) || m.FullColour {
		m.CFA = mosaic.RGGB
	}
	switch {
	case m.CFA == mosaic.Mono:
		return fmt.Errorf("a monochrome mosaic has no colours to restore")
	case !(m.Sigma >= 0 && m.Sigma <= 255):
		return fmt.Errorf("sigma %g: want 0 to 255 codes of 8 bits", m.Sigma)
	case m.Sensor == nil:
		return nil
	case m.Sigma != 0:
		return fmt.Errorf("sigma is noise of sRGB codes, sensor has noise of its own: give one of them")
	}
	return m.Sensor.check()
}

// Domain says in words what the samples are.
func (m *Mosaic) Domain() string {
	if s := m.Sensor; s != nil {
		return fmt.Sprintf("sensor (S %g, O %g, gains %g, %g, %g)", s.S, s.O, s.Gains[0], s.Gains[1], s.Gains[2])
	}
	if m.Sigma == 0 {
		return "sRGB codes, free of noise"
	}
	return fmt.Sprintf("sRGB codes, Gaussian noise of sigma %g/255", m.Sigma)
}

// Levels of the DNG files of sensor mosaics: enough below black for its noise.
const (
	sensorBlack = 8192
	sensorWhite = 65535
)

// shot is a photo as a mosaic.
type shot struct {
	name  string // base name of the photo
	truth *imgio.RGB16
	// samples are the mosaic's, row by row: sRGB codes of 0..1 with noise, or
	// integers as the sensor stored them; three at each place if the mosaic is none.
	samples []float32
	mosaic  *Mosaic
}

// take makes the mosaic of a photo.
func (m *Mosaic) take(name string, truth *imgio.RGB16) *shot {
	h := fnv.New64a()
	h.Write([]byte(name))
	rng := rand.New(rand.NewPCG(m.Seed, h.Sum64()))
	s := &shot{name: name, truth: truth, mosaic: m, samples: make([]float32, 0, truth.Width*truth.Height)}
	for y := range truth.Height {
		row := truth.Row(y)
		for x := range truth.Width {
			for c := range 3 {
				if m.FullColour || int(m.CFA.At(y, x)) == c {
					v := float64(row[3*x+c]) / 65535
					s.samples = append(s.samples, float32(m.sample(v, c, rng)))
				}
			}
		}
	}
	return s
}

// array names what the samples are behind.
func (m *Mosaic) array() string {
	if m.FullColour {
		return "rgb"
	}
	return m.CFA.String()
}

// sample is one sample of the mosaic for a code of 0..1.
func (m *Mosaic) sample(code float64, c int, rng *rand.Rand) float64 {
	if m.Sensor == nil {
		if m.Sigma == 0 {
			return code
		}
		return code + m.Sigma/255*rng.NormFloat64()
	}
	v := colour.SRGBDecode(code) / m.Sensor.Gains[c]
	v += math.Sqrt(m.Sensor.S*v+m.Sensor.O) * rng.NormFloat64()
	return math.Round(min(max(sensorBlack+v*(sensorWhite-sensorBlack), 0), sensorWhite))
}

// xyzToSRGB is the colour matrix of a camera that sees linear sRGB (IEC 61966-2-1).
var xyzToSRGB = [3][3]float64{{3.2406, -1.5372, -0.4986}, {-0.9689, 1.8758, 0.0415}, {0.0557, -0.2040, 1.0570}}

// dng writes the mosaic as a DNG file. sRGB codes are written as if they were
// light; those that noise has brought outside 0..1 are cut off, for LibRaw does
// so itself.
func (s *shot) dng(forLibRaw bool) ([]byte, error) {
	meta := mosaic.Meta{CFA: s.mosaic.CFA, Make: "eval", Model: "eval", AsShot: &[3]float64{1, 1, 1}}
	meta.SetBlack(0)
	meta.SetWhite(65535)
	if forLibRaw {
		meta.ColorMatrix1, meta.Illuminant1 = &xyzToSRGB, 21 // D65
	}
	scale := float32(65535)
	if sensor := s.mosaic.Sensor; sensor != nil {
		meta.SetBlack(sensorBlack)
		meta.SetWhite(sensorWhite)
		scale = 1
		for c, g := range sensor.Gains {
			meta.AsShot[c] = 1 / g
		}
		if sensor.S+sensor.O > 0 {
			pair := [2]float64{sensor.S, sensor.O}
			meta.NoiseProfile = &[3][2]float64{pair, pair, pair}
		}
	}
	stored := make([]uint16, len(s.samples))
	for i, v := range s.samples {
		stored[i] = uint16(min(max(v*scale, 0), 65535) + 0.5)
	}
	var b bytes.Buffer
	err := dng.Write(&b, dng.Spec{Width: s.truth.Width, Height: s.truth.Height, Samples: stored, Linear: s.mosaic.FullColour, Meta: meta})
	return b.Bytes(), err
}
