package look

import (
	"math"
	"strconv"
	"strings"
)

// Exposure is a correction in EV (stops) on top of what the file's
// BaselineExposure asks for, or with Auto on top of what the photo's light asks
// for. The zero value is automatic with [ToneNatural].
type Exposure struct {
	Auto  bool
	Given bool // EV is meant, even if it is 0
	EV    float64
}

// MaxEV is the largest exposure correction either way: ten stops.
const MaxEV = 10

// UnmarshalText reads a number of stops, "auto", or both as in "auto+0.5".
func (x *Exposure) UnmarshalText(text []byte) (err error) {
	*x, err = parseExposure(string(text))
	return err
}

func parseExposure(s string) (Exposure, error) {
	stops, auto := strings.CutPrefix(s, "auto")
	if auto && stops == "" {
		return Exposure{Auto: true}, nil
	}
	v, err := strconv.ParseFloat(stops, 64)
	if err != nil || !(math.Abs(v) <= MaxEV) || auto && stops[0] != '+' && stops[0] != '-' {
		return Exposure{}, optionErrorf("exposure", "%q: want stops from -%d to %d, auto, or auto+1", s, MaxEV, MaxEV)
	}
	return Exposure{Auto: auto, Given: true, EV: v}, nil
}
