package model

import (
	"encoding/json"
	"fmt"
	"math"
)

// metaNoiseLeft is the metadata key of a NoiseLeft.
const metaNoiseLeft = "noise.left"

// NoiseLeft says how much of the noise a network leaves on smooth surfaces. train/noise_left.py measures it; a
// weight file's metadata has it as JSON under noise.left. Deviations are of encoded samples, 0 to 1, at middle grey.
type NoiseLeft struct {
	Deviation []float64 `json:"deviation"` // of the noise, rising
	Left      []float64 `json:"left"`      // shares of each in the result
}

const (
	noiseLeftBytes = 1 << 13 // of the JSON text
	noiseLeftRows  = 64
	middleGrey     = 0.18 // light
)

// ParseNoiseLeft reads the JSON text of a file's metadata.
func ParseNoiseLeft(text string) (*NoiseLeft, error) {
	n := &NoiseLeft{}
	if len(text) > noiseLeftBytes {
		return nil, fmt.Errorf("%s has %d bytes: want at most %d", metaNoiseLeft, len(text), noiseLeftBytes)
	}
	if err := json.Unmarshal([]byte(text), n); err != nil {
		return nil, fmt.Errorf("%s: %w", metaNoiseLeft, err)
	}
	rows := len(n.Deviation)
	switch {
	case rows < 1 || rows > noiseLeftRows || len(n.Left) != rows:
		return nil, fmt.Errorf("%s has %d deviations and %d shares: want 1 to %d, and a share for each", metaNoiseLeft, rows, len(n.Left), noiseLeftRows)
	case !(n.Deviation[0] > 0) || n.Deviation[rows-1] > 1 || !rises(n.Deviation):
		return nil, fmt.Errorf("%s: deviations %v do not rise between 0 and 1", metaNoiseLeft, n.Deviation)
	}
	for _, v := range n.Left {
		if !(v >= 0 && v <= 2) {
			return nil, fmt.Errorf("%s has a share of %g: want 0 to 2", metaNoiseLeft, v)
		}
	}
	return n, nil
}

func rises(v []float64) bool {
	for i := 1; i < len(v); i++ {
		if !(v[i] > v[i-1]) {
			return false
		}
	}
	return true
}

// Share is the share of the noise's deviation that is left on smooth surfaces. It interpolates, linearly in
// the logarithm of the deviation; beyond the measured ones it is that of the nearest.
func (n *NoiseLeft) Share(deviation float64) float64 {
	last := len(n.Deviation) - 1
	if last == 0 {
		return n.Left[0]
	}
	d := min(max(deviation, n.Deviation[0]), n.Deviation[last])
	k := 0
	for k < last-1 && n.Deviation[k+1] < d {
		k++
	}
	t := math.Log(d/n.Deviation[k]) / math.Log(n.Deviation[k+1]/n.Deviation[k])
	return n.Left[k] + t*(n.Left[k+1]-n.Left[k])
}

// NoiseAtGrey is the deviation, of encoded samples, that noise of variance S·v + O of a sample v before
// the gain has at middle grey.
func (c *Convention) NoiseAtGrey(gain, s, o float64) float64 {
	return c.NoiseSample(middleGrey, gain, s, o) / NoiseScale
}
