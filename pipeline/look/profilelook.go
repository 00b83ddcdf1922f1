package look

// ProfileLook says whether a camera profile's look is taken: its look table and tone curve,
// and of a photo's own profile its map of hue and saturation. The zero value takes none.
type ProfileLook uint8

const (
	LookNone ProfileLook = iota
	LookProfile
)

// UnmarshalText reads "none" or "profile".
func (l *ProfileLook) UnmarshalText(text []byte) error {
	switch string(text) {
	case "none":
		*l = LookNone
	case "profile":
		*l = LookProfile
	default:
		return optionErrorf("look", "%q: want none or profile", text)
	}
	return nil
}
