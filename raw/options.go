package raw

import (
	"fmt"
	"math"

	"enhance/raw/mosaic"
	"enhance/raw/rawerr"
)

// check refuses options that make no sense whatever the file.
func (o *Options) check() error {
	if (o.Width != 0 || o.Height != 0) && (o.Width < 1 || o.Height < 1) {
		return &OptionError{Option: "raw-size", Problem: fmt.Sprintf("size %dx%d: both must be at least 1", o.Width, o.Height)}
	}
	if o.CFA != nil && !o.CFA.Valid() {
		return &OptionError{Option: "cfa", Problem: "the pattern is unknown: want " + mosaic.PatternForms}
	}
	for _, c := range []struct {
		name string
		v    *float64
	}{{"black", o.Black}, {"white", o.White}} {
		if c.v != nil && !isFinite(*c.v) {
			return &OptionError{Option: c.name, Problem: fmt.Sprintf("%g is not a number", *c.v)}
		}
	}
	if o.WB != nil {
		for _, g := range o.WB {
			if !(g > 0) || !isFinite(g) {
				return &OptionError{Option: "wb", Problem: fmt.Sprintf("gains %v: all must be above 0", *o.WB)}
			}
		}
	}
	return nil
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// apply puts the options over what the file said and checks that the result can
// be used.
func (o *Options) apply(m *Meta) error {
	if m.Linear {
		return o.applyLinear(m)
	}
	if o.CFA != nil {
		if err := o.replaceCFA(m); err != nil {
			return err
		}
	}
	if !m.CFA.Valid() {
		return &OptionError{Option: "cfa", Problem: "the file does not say its filter pattern: give it, for example RGGB"}
	}
	if o.Black != nil {
		m.SetBlack(float32(*o.Black))
	}
	if o.White != nil {
		if file := float64(m.White[Green]); !m.WhiteUnsure && (*o.White < file/2 || *o.White > file*2) {
			m.Warnings = append(m.Warnings, fmt.Sprintf("--white %g is far from the file's white level, %g", *o.White, file))
		}
		m.SetWhite(float32(*o.White))
		m.WhiteUnsure = true
	}
	o.applyWB(m)
	if err := m.CheckLevels(); err != nil {
		if o.Black != nil || o.White != nil {
			return &OptionError{Option: "black and --white", Problem: err.Error()}
		}
		return &rawerr.FormatError{Where: "raw", Problem: "unusable levels (--black and --white override them)", Err: err}
	}
	return nil
}

// replaceCFA puts the option's pattern in place of the file's: another phase of the same array, or
// none for a camera whose filters were taken off. Another array would give wrong colours.
func (o *Options) replaceCFA(m *Meta) error {
	if m.CFA.Valid() && m.CFA != *o.CFA {
		if !o.CFA.PhaseOf(m.CFA) && *o.CFA != mosaic.Mono {
			return &OptionError{Option: "cfa", Problem: fmt.Sprintf("%v is not an array of the photo's sensor (%s), which the file gives as %v: leave --cfa out", *o.CFA, m.CFA.Kind(), m.CFA)}
		}
		m.Warnings = append(m.Warnings, fmt.Sprintf("--cfa %v replaces the file's %v", *o.CFA, m.CFA))
	}
	m.CFA = *o.CFA
	return nil
}

func (o *Options) applyWB(m *Meta) {
	if g := o.WB; g != nil {
		m.AsShot = &[3]float64{g[1] / g[0], 1, g[1] / g[2]}
		m.AsShotWhiteXY = nil
	}
}

// applyLinear is apply for a photo without a mosaic.
func (o *Options) applyLinear(m *Meta) error {
	switch {
	case !o.Linear:
		return &UnsupportedError{Feature: "linear (demosaiced) DNG", Advice: "take the camera's original RAW, or a DNG made without demosaicing"}
	case o.CFA != nil:
		return &OptionError{Option: "cfa", Problem: "the photo is demosaiced: it has no filter pattern"}
	case o.Black != nil || o.White != nil:
		return &OptionError{Option: "black and --white", Problem: "the levels of a demosaiced photo cannot be replaced"}
	}
	o.applyWB(m)
	return nil
}
