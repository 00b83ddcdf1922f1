package pipeline

import (
	"errors"
	"strconv"
	"strings"

	"enhance/raw"
)

// NoiseLevels are, by colour, S and O of the noise's variance S·v + O in a sample
// v that is brought to 0 at black and 1 at white, before white balance: what the
// DNG specification calls a NoiseProfile.
type NoiseLevels [3]struct {
	S float64 `json:"s"`
	O float64 `json:"o"`
}

// Noise is where a photo's noise levels come from. The zero value takes the
// file's, and estimates them where it records none.
type Noise struct {
	Mode   NoiseMode
	Levels NoiseLevels // NoiseGiven
}

// NoiseMode is a source of noise levels.
type NoiseMode uint8

const (
	NoiseDefault  NoiseMode = iota // the file's, or else estimated
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
			return n, optionErrorf("noise", "%q: want numbers from 0 to 1", f)
		}
		v = append(v, x)
	}
	for c := range n.Levels {
		pair := v[2*c%len(v):]
		n.Levels[c].S, n.Levels[c].O = pair[0], pair[1]
	}
	return n, nil
}

// Sources of noise levels, in NoiseFacts.
const (
	noiseNone      = "none"      // --denoise 0
	noiseGiven     = "given"     // by the caller
	noiseFile      = "file"      // its NoiseProfile
	noiseEstimated = "estimated" // from the photo
)

// NoiseFacts say what noise the network was told of.
type NoiseFacts struct {
	Source  string      `json:"source"` // none, given, file or estimated
	Levels  NoiseLevels `json:"levels"` // of red, green, blue
	Denoise float64     `json:"denoise"`
	// Blocks is how many flat blocks an estimate rests on.
	Blocks int64 `json:"blocks,omitempty"`
}

// decideNoise settles the noise levels before the network runs, so that they
// cannot depend on how the picture is divided. It gives nil for a model that
// does not ask for them.
func (r *run) decideNoise() (*NoiseFacts, error) {
	j := r.job
	if r.model.Convention.NoisePlanes == 0 {
		for name, given := range map[string]bool{"denoise": j.Denoise != nil, "noise": j.Noise.Mode != NoiseDefault} {
			if given {
				return nil, optionErrorf(name, "model %s does not take the noise level: choose one that does", r.modelName)
			}
		}
		return nil, nil
	}
	f := &NoiseFacts{Source: noiseNone, Denoise: 1}
	if j.Denoise != nil {
		f.Denoise = *j.Denoise
	}
	if !(f.Denoise >= 0 && f.Denoise <= 1) {
		return nil, optionErrorf("denoise", "%g: want 0 to 1", f.Denoise)
	}
	profile := r.meta.NoiseProfile
	switch {
	case f.Denoise == 0:
	case j.Noise.Mode == NoiseGiven:
		f.Source, f.Levels = noiseGiven, j.Noise.Levels
	case j.Noise.Mode == NoiseDefault && profile != nil:
		f.Source = noiseFile
		for c := range f.Levels {
			f.Levels[c].S, f.Levels[c].O = profile[c][0], profile[c][1]
		}
	default:
		f.Source = noiseEstimated
		var err error
		f.Levels, f.Blocks, err = estimateNoise(r.ahead)
		if errors.Is(err, errNoFlatBlocks) {
			f.Source = noiseNone
			r.report.warn("the noise level cannot be estimated (%v) and is taken as 0; --noise sets it", err)
			err = nil
		}
		if err != nil {
			return nil, err
		}
	}
	for _, l := range f.Levels {
		if !(l.S >= 0 && l.O >= 0 && l.S <= 1 && l.O <= 1) {
			return nil, optionErrorf("noise", "levels %g, %g: want numbers from 0 to 1", l.S, l.O)
		}
	}
	return f, nil
}

// strength is what a noise plane holds for white-balanced light x of a colour.
func (l *levels) strength(x float64, col raw.Colour) float32 {
	n := l.noise.Levels[col]
	return float32(l.noise.Denoise * l.conv.NoiseSample(x, l.gains[col], n.S, n.O))
}
