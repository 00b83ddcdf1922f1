package look

// LensCorrections say whether those that a DNG file asks for after demosaicing are
// applied. The zero value applies them unless the tone is ToneLinear.
type LensCorrections uint8

const (
	LensDefault LensCorrections = iota
	LensNone
	LensAuto // what the file asks for
)

// UnmarshalText reads "none" or "auto".
func (l *LensCorrections) UnmarshalText(text []byte) error {
	switch string(text) {
	case "none":
		*l = LensNone
	case "auto":
		*l = LensAuto
	default:
		return optionErrorf("lens", "%q: want none or auto", text)
	}
	return nil
}

// Applied reports whether a picture is corrected; linear says that ToneLinear was asked for.
func (l LensCorrections) Applied(linear bool) bool {
	return l == LensAuto || l == LensDefault && !linear
}
