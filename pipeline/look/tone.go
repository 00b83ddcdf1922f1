package look

// Tone is how scene light becomes the picture's light. The zero value is ToneNatural, but
// for models whose output is ready for display: they have a tone of their own.
type Tone uint8

const (
	ToneDefault Tone = iota
	ToneNatural      // a curve with a toe and a shoulder that keeps hues, see docs/picture.md
	ToneLinear       // in proportion to the light, cut off at 1; nothing else is changed either
)

var toneNames = [...]string{"the model's own", "natural", "linear"}

func (t Tone) String() string { return toneNames[t] }

// UnmarshalText reads "natural" or "linear".
func (t *Tone) UnmarshalText(text []byte) error {
	switch string(text) {
	case "natural":
		*t = ToneNatural
	case "linear":
		*t = ToneLinear
	default:
		return optionErrorf("tone", "%q: want natural or linear", text)
	}
	return nil
}
