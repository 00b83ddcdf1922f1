package pipeline

import (
	"strings"

	"enhance/internal/colour"
)

// OutputProfile says what the samples of a picture mean: its colour space and curve, which
// the file's ICC profile tells its readers. "" is sRGB.
type OutputProfile string

// outputProfiles are the profiles by their names, the usual ones first.
var outputProfiles = []struct {
	name OutputProfile
	colour.Encoding
}{
	{"srgb", colour.SRGBEncoding},
	{"p3", colour.DisplayP3Encoding},
	{"rec2020", colour.Rec2020Encoding},
	{"linear-srgb", colour.LinearSRGBEncoding},
	{"linear-p3", colour.LinearP3Encoding},
	{"linear-rec2020", colour.LinearRec2020Encoding},
}

// OutputProfiles are the names that OutputProfile.UnmarshalText reads.
func OutputProfiles() (names []string) {
	for _, p := range outputProfiles {
		names = append(names, string(p.name))
	}
	return names
}

// UnmarshalText reads one of OutputProfiles.
func (p *OutputProfile) UnmarshalText(text []byte) error {
	for _, known := range outputProfiles {
		if string(text) == string(known.name) {
			*p = known.name
			return nil
		}
	}
	return optionErrorf("output-profile", "%q: want %s", text, strings.Join(OutputProfiles(), ", "))
}

// encoding is what the profile says; sRGB for one that checkProfile has not seen.
func (p OutputProfile) encoding() colour.Encoding {
	for _, known := range outputProfiles {
		if p == known.name {
			return known.Encoding
		}
	}
	return colour.SRGBEncoding
}

// checkProfile refuses a profile that the format cannot hold well, and fills in the default.
func (o *Output) checkProfile() error {
	if o.Profile == "" {
		o.Profile = outputProfiles[0].name
	}
	if err := o.Profile.UnmarshalText([]byte(o.Profile)); err != nil {
		return err
	}
	switch linear := o.Profile.encoding().Linear(); {
	case linear && o.Format == JPEG:
		return optionErrorf("output-profile", "JPEG holds 8 bits, which show steps in linear light: choose png or tiff with 16 bits, or another profile")
	case linear && o.Bits < 16:
		return optionErrorf("output-profile", "linear light in %d bits shows steps in the shadows: give --bits 16", o.Bits)
	}
	return nil
}

// profileNote is what a picture's reader should know about its profile; "" for nothing.
func (o *Output) profileNote() string {
	if o.Profile.encoding() == colour.Rec2020Encoding && o.Bits < 16 {
		return "8 bits are few for the colours of Rec. 2020, and smooth areas may show steps; --bits 16 avoids that"
	}
	return ""
}
