package look

import (
	"strconv"
	"strings"

	"enhance/raw/noise"
)

// Noise is where a photo's noise levels come from. The zero value takes the
// file's, and estimates them where it records none or more than twice the variance
// that the photo shows.
type Noise struct {
	Mode   NoiseMode
	Levels noise.Levels // NoiseGiven
}

// NoiseMode is a source of noise levels.
type NoiseMode uint8

const (
	NoiseDefault  NoiseMode = iota // the file's where the photo bears it out, or else estimated
	NoiseEstimate                  // estimated
	NoiseGiven                     // given
)

// UnmarshalText reads "estimate", one pair "S,O" for all colours, or three pairs
// "S,O,S,O,S,O" for red, green and blue.
func (n *Noise) UnmarshalText(text []byte) (err error) {
	*n, err = parseNoise(string(text))
	return err
}

func parseNoise(s string) (Noise, error) {
	if s == "estimate" {
		return Noise{Mode: NoiseEstimate}, nil
	}
	n := Noise{Mode: NoiseGiven}
	fields := strings.Split(s, ",")
	if len(fields) != 2 && len(fields) != 6 {
		return n, optionErrorf("noise", "%q: want estimate, or scale and offset of the variance such as 2e-4,1e-6, once or for each of three colours", s)
	}
	var v []float64
	for _, f := range fields {
		x, err := strconv.ParseFloat(strings.TrimSpace(f), 64)
		if err != nil || !(x >= 0 && x <= 1) {
			return n, optionErrorf("noise", "%q: want numbers from 0 to 1", s)
		}
		v = append(v, x)
	}
	for c := range n.Levels {
		pair := v[2*c%len(v):]
		n.Levels[c].S, n.Levels[c].O = pair[0], pair[1]
	}
	return n, nil
}
