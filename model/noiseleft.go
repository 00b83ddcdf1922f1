package model

import (
	"encoding/json"
	"fmt"
	"math"
)

// metaNoiseLeft is the metadata key of a NoiseLeft.
const metaNoiseLeft = "noise.left"

// NoiseLeft says how much of the noise a network leaves on smooth surfaces, by how much
// noise its noise planes tell it of. train/noise_left.py measures it; a weight file's metadata has it as
// JSON under noise.left. Deviations are of encoded samples, 0 to 1, at middle grey.
type NoiseLeft struct {
	Deviation []float64   `json:"deviation"` // of the noise, rising: the rows of Left
	Told      []float64   `json:"told"`      // shares of it that the network was told of, rising from 0 to 1: the columns
	Left      [][]float64 `json:"left"`      // shares of it in the result
}

const (
	noiseLeftBytes = 1 << 13 // of the JSON text
	noiseLeftSide  = 64      // rows and columns
	middleGrey     = 0.18    // light
	toldSteps      = 1e4     // a share is rounded, so that computers whose logarithms differ agree
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
	rows, columns := len(n.Deviation), len(n.Told)
	switch {
	case rows < 1 || rows > noiseLeftSide || columns < 2 || columns > noiseLeftSide || len(n.Left) != rows:
		return nil, fmt.Errorf("%s has %d deviations, %d shares and %d rows: want 1 to %d, 2 to %d, and a row for each deviation",
			metaNoiseLeft, rows, columns, len(n.Left), noiseLeftSide, noiseLeftSide)
	case !(n.Deviation[0] > 0) || n.Deviation[rows-1] > 1 || !rises(n.Deviation):
		return nil, fmt.Errorf("%s: deviations %v do not rise between 0 and 1", metaNoiseLeft, n.Deviation)
	case n.Told[0] != 0 || n.Told[columns-1] != 1 || !rises(n.Told):
		return nil, fmt.Errorf("%s: shares %v do not rise from 0 to 1", metaNoiseLeft, n.Told)
	}
	for _, row := range n.Left {
		if len(row) != columns {
			return nil, fmt.Errorf("%s has a row of %d shares: want %d", metaNoiseLeft, len(row), columns)
		}
		for _, v := range row {
			if !(v >= 0 && v <= 2) {
				return nil, fmt.Errorf("%s has a share of %g: want 0 to 2", metaNoiseLeft, v)
			}
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

// Share is the share of the noise's deviation that is left on smooth surfaces when the network is told
// of the given share of it. It interpolates, linearly in the logarithm of the deviation.
func (n *NoiseLeft) Share(deviation, told float64) float64 {
	row := n.row(deviation)
	k, t := between(n.Told, min(max(told, 0), 1))
	return row[k] + t*(row[k+1]-row[k])
}

// ToldFor is the share of the noise that the network must be told of to leave 1 − denoise of its deviation on
// smooth surfaces, or as near to that as it can. 0 and 1 stay what they are.
func (n *NoiseLeft) ToldFor(deviation, denoise float64) float64 {
	if denoise <= 0 || denoise >= 1 {
		return min(max(denoise, 0), 1)
	}
	row, goal := n.row(deviation), 1-denoise
	if row[0] <= goal {
		return 0
	}
	for k := 1; k < len(row); k++ {
		if row[k] <= goal {
			t := (row[k-1] - goal) / (row[k-1] - row[k])
			told := n.Told[k-1] + t*(n.Told[k]-n.Told[k-1])
			return math.Round(told*toldSteps) / toldSteps
		}
	}
	return 1
}

// row is what is left, by Told, for noise of a deviation. Beyond the measured ones it is that of the nearest.
func (n *NoiseLeft) row(deviation float64) []float64 {
	last := len(n.Deviation) - 1
	if last == 0 {
		return n.Left[0]
	}
	d := min(max(deviation, n.Deviation[0]), n.Deviation[last])
	k, _ := between(n.Deviation, d)
	t := math.Log(d/n.Deviation[k]) / math.Log(n.Deviation[k+1]/n.Deviation[k])
	row := make([]float64, len(n.Told))
	for i := range row {
		row[i] = n.Left[k][i] + t*(n.Left[k+1][i]-n.Left[k][i])
	}
	return row
}

// between finds v among rising values, which begin and end beyond it: v is at[k] + t·(at[k+1] − at[k]).
func between(at []float64, v float64) (k int, t float64) {
	for k < len(at)-2 && at[k+1] < v {
		k++
	}
	return k, (v - at[k]) / (at[k+1] - at[k])
}

// NoiseAtGrey is the deviation, of encoded samples, that noise of variance S·v + O of a sample v before
// the gain has at middle grey.
func (c *Convention) NoiseAtGrey(gain, s, o float64) float64 {
	return c.NoiseSample(middleGrey, gain, s, o) / NoiseScale
}
