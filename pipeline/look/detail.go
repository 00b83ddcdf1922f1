package look

// Sharpen is how much fine detail is sharpened. The zero value is SharpenStandard with
// ToneNatural and SharpenOff otherwise.
type Sharpen uint8

const (
	SharpenDefault Sharpen = iota
	SharpenOff
	SharpenLow
	SharpenStandard
)

// UnmarshalText reads "off", "low" or "default".
func (s *Sharpen) UnmarshalText(text []byte) error {
	switch string(text) {
	case "off":
		*s = SharpenOff
	case "low":
		*s = SharpenLow
	case "default":
		*s = SharpenStandard
	default:
		return optionErrorf("sharpen", "%q: want off, low or default", text)
	}
	return nil
}

// Amount is the share of detail that is added at the lowest noise.
func (s Sharpen) Amount() float64 {
	switch s {
	case SharpenOff:
		return 0
	case SharpenLow:
		return 0.35
	}
	return 0.7
}
