package look

import (
	"strconv"
	"strings"

	"enhance/internal/colour"
)

// WhiteBalance is where the gains of red, green and blue come from. The zero
// value takes the camera's, and estimates them where the file records none.
type WhiteBalance struct {
	Mode  WBMode
	Gains [3]float64 // WBGains: any scale, all above 0
	Light string     // WBLight: a name of colour.Lights
	// Kelvin, 1667 to 100000, and Tint, -150 to 150, are the light of WBTemperature.
	Kelvin, Tint float64
	Spot         [2]int // WBSpot: column and row of the picture as it is written, upright
}

// WBMode is a source of white balance.
type WBMode uint8

const (
	WBDefault     WBMode = iota // as shot, or else estimated
	WBAsShot                    // as shot, or else an error
	WBAuto                      // estimated from the photo
	WBGains                     // given
	WBLight                     // that of a light by name
	WBTemperature               // that of a light by temperature and tint
	WBSpot                      // what makes a spot of the picture grey
)

var wbNames = [...]string{"default", "as-shot", "auto", "given", "light", "temperature", "spot"}

func (m WBMode) String() string { return wbNames[m] }

// WBLights are the names of lights that WhiteBalance.UnmarshalText reads.
func WBLights() []string {
	return []string{"daylight", "cloudy", "shade", "tungsten", "fluorescent", "flash"}
}

// UnmarshalText reads "as-shot", "auto", a light's name, a temperature in kelvin with
// or without a tint ("5500,10"), three gains "R,G,B", or "spot:X,Y".
func (b *WhiteBalance) UnmarshalText(text []byte) (err error) {
	*b, err = parseWhiteBalance(string(text))
	return err
}

func parseWhiteBalance(s string) (WhiteBalance, error) {
	switch s {
	case "as-shot":
		return WhiteBalance{Mode: WBAsShot}, nil
	case "auto":
		return WhiteBalance{Mode: WBAuto}, nil
	}
	if _, ok := colour.Lights[s]; ok {
		return WhiteBalance{Mode: WBLight, Light: s}, nil
	}
	if at, ok := strings.CutPrefix(s, "spot:"); ok {
		return parseSpot(s, strings.Split(at, ","))
	}
	fields := strings.Split(s, ",")
	switch len(fields) {
	case 1, 2:
		return parseTemperature(s, fields)
	case 3:
		return parseGains(fields)
	}
	return WhiteBalance{}, unknownWB(s)
}

func unknownWB(s string) error {
	return optionErrorf("wb", "%q: want as-shot, auto, %s, a temperature such as 5500 or 5500,10, gains such as 2,1,1.5, or spot:X,Y", s, strings.Join(WBLights(), ", "))
}

func parseSpot(s string, fields []string) (WhiteBalance, error) {
	wb := WhiteBalance{Mode: WBSpot}
	if len(fields) != 2 {
		return wb, optionErrorf("wb", "%q: want spot:X,Y, a column and a row of the picture", s)
	}
	for i, f := range fields {
		v, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil || v < 0 {
			return wb, optionErrorf("wb", "%q: %q is no column or row of the picture", s, f)
		}
		wb.Spot[i] = v
	}
	return wb, nil
}

func parseTemperature(s string, fields []string) (WhiteBalance, error) {
	wb := WhiteBalance{Mode: WBTemperature}
	var v [2]float64
	for i, f := range fields {
		x, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(f, "K")), 64)
		if err != nil {
			return wb, unknownWB(s)
		}
		v[i] = x
	}
	wb.Kelvin, wb.Tint = v[0], v[1]
	if !(wb.Kelvin >= 1667 && wb.Kelvin <= 100000) || !(wb.Tint >= -150 && wb.Tint <= 150) {
		return wb, optionErrorf("wb", "%q: want 1667 to 100000 K, and a tint of -150 to 150", s)
	}
	return wb, nil
}

func parseGains(fields []string) (WhiteBalance, error) {
	wb := WhiteBalance{Mode: WBGains}
	for i, f := range fields {
		v, err := strconv.ParseFloat(strings.TrimSpace(f), 64)
		if err != nil || !(v >= 1e-3 && v <= 1e3) {
			return wb, optionErrorf("wb", "gain %q: want a number from 0.001 to 1000", f)
		}
		wb.Gains[i] = v
	}
	return wb, nil
}
