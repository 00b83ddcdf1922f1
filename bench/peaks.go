package bench

import (
	"fmt"
	"strings"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/peak"
)

// Peaks are what a device's units were measured to do out of registers,
// operations per second; 0 for units that it lacks.
type Peaks struct {
	FMA  float64 `json:"fma"`
	MMA  float64 `json:"mma,omitempty"`      // matrix units, binary16
	TF32 float64 `json:"mma_tf32,omitempty"` // matrix units, tf32
}

// MeasurePeaks measures them; caps say whether there are matrix units.
func MeasurePeaks(dev *clrt.Device, caps conv.Caps) (p Peaks, err error) {
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return p, err
	}
	defer cl.Close()
	if p.FMA, err = peak.FMA(cl); err != nil || !caps.Matrix {
		return p.scaled(), err
	}
	if p.MMA, err = peak.MMA(cl, false); err != nil {
		return p.scaled(), err
	}
	p.TF32, err = peak.MMA(cl, true)
	return p.scaled(), err
}

func (p Peaks) scaled() Peaks { return Peaks{p.FMA * 1e9, p.MMA * 1e9, p.TF32 * 1e9} }

// of is the peak that an algorithm's rate is a share of, by its name, and the
// unit. Three products of tf32 that stand for one of float32 are a third of tf32's.
func (p Peaks) of(algo string) (peak float64, unit string) {
	switch {
	case strings.HasPrefix(algo, "mma-3xtf32"):
		return p.TF32 / 3, "MMA tf32 /3"
	case strings.HasPrefix(algo, "mma-tf32"):
		return p.TF32, "MMA tf32"
	case strings.HasPrefix(algo, "mma"):
		return p.MMA, "MMA fp16"
	}
	return p.FMA, "FMA"
}

func (p Peaks) String() string {
	if p.FMA <= 0 {
		return ""
	}
	s := fmt.Sprintf("measured peaks: FMA %.0f GFLOP/s", p.FMA/1e9)
	if p.MMA > 0 {
		s += fmt.Sprintf(", MMA %.0f (fp16) and %.0f (tf32)", p.MMA/1e9, p.TF32/1e9)
	}
	return s
}
