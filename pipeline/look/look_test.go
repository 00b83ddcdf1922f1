package look

import (
	"encoding"
	"errors"
	"testing"

	"enhance/raw/noise"
	"enhance/raw/rawerr"
)

// refused reports whether an error says that an option is wrong.
func refused(err error) bool { return errors.As(err, new(*rawerr.OptionError)) }

func TestParseWhiteBalanceAndExposure(t *testing.T) {
	for s, want := range map[string]WhiteBalance{
		"as-shot": {Mode: WBAsShot}, "auto": {Mode: WBAuto},
		"1.47,1,2.26": {Mode: WBGains, Gains: [3]float64{1.47, 1, 2.26}}, "2, 1, 3": {Mode: WBGains, Gains: [3]float64{2, 1, 3}},
		"cloudy": {Mode: WBLight, Light: "cloudy"}, "5500": {Mode: WBTemperature, Kelvin: 5500}, "5500K,-10": {Mode: WBTemperature, Kelvin: 5500, Tint: -10},
		"spot:10,20": {Mode: WBSpot, Spot: [2]int{10, 20}},
	} {
		if got, err := parseWhiteBalance(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "0,1", "1,2,3,4", "0,1,1", "-1,1,1", "NaN,1,1", "1,inf,1", "a,b,c", "daylights", "1000", "5500,200", "5500,x", "spot:1", "spot:-1,2", "spot:1,2,3"} {
		if _, err := parseWhiteBalance(s); !refused(err) {
			t.Errorf("%q: %v", s, err)
		}
	}
	for s, want := range map[string]Exposure{"auto": {Auto: true}, "2": {EV: 2, Given: true}, "-1.5": {EV: -1.5, Given: true}, "+1": {EV: 1, Given: true}, "0": {Given: true}, "auto+0.5": {Auto: true, Given: true, EV: 0.5}, "auto-1": {Auto: true, Given: true, EV: -1}} {
		if got, err := parseExposure(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "bright", "11", "NaN", "-inf"} {
		if _, err := parseExposure(s); !refused(err) {
			t.Errorf("%q: %v", s, err)
		}
	}
}

func TestParseNoise(t *testing.T) {
	for s, want := range map[string]Noise{
		"estimate":            {Mode: NoiseEstimate},
		"1e-3,2e-6":           {Mode: NoiseGiven, Levels: noise.Levels{{S: 1e-3, O: 2e-6}, {S: 1e-3, O: 2e-6}, {S: 1e-3, O: 2e-6}}},
		".1, .2,.3,.4,.5, .6": {Mode: NoiseGiven, Levels: noise.Levels{{S: .1, O: .2}, {S: .3, O: .4}, {S: .5, O: .6}}},
	} {
		if got, err := parseNoise(s); err != nil || got != want {
			t.Errorf("%q: %+v, %v", s, got, err)
		}
	}
	for _, s := range []string{"", "file", "1e-3", "1,2", "-1,0", "1e-3,NaN", "0,0,0", "0,0,0,0", "0,0,0,0,0,0,0,0"} {
		if _, err := parseNoise(s); !refused(err) {
			t.Errorf("%q: error %v", s, err)
		}
	}
}

// FuzzTexts: texts of choices are understood or refused as options, never else.
func FuzzTexts(f *testing.F) {
	for _, s := range []string{"0", "auto", "auto+0.5", "as-shot", "1,2,3", "-2", "\x00", "9e99k", "1e-3,1e-5", "estimate", "5500,10", "spot:1,2", "natural", "none"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := parseNoise(s); err == nil && n.Mode == NoiseGiven {
			for _, l := range n.Levels {
				if !(l.S >= 0 && l.S <= 1 && l.O >= 0 && l.O <= 1) {
					t.Errorf("%q: noise levels %+v", s, n.Levels)
				}
			}
		}
		if wb, err := parseWhiteBalance(s); err == nil && wb.Mode == WBGains && !(min(wb.Gains[0], wb.Gains[1], wb.Gains[2]) > 0) {
			t.Errorf("white balance %q: %+v", s, wb)
		}
		if e, err := parseExposure(s); err == nil && !(e.EV >= -MaxEV && e.EV <= MaxEV) {
			t.Errorf("exposure %q: %+v", s, e)
		}
		for _, v := range []encoding.TextUnmarshaler{new(Tone), new(Sharpen), new(LensCorrections), new(ProfileLook), new(Exposure), new(WhiteBalance), new(Noise)} {
			if err := v.UnmarshalText([]byte(s)); err != nil && !refused(err) {
				t.Errorf("%T of %q: %v", v, s, err)
			}
		}
	})
}
