package pipeline

import "enhance/internal/imgio"

// Subsampling is how many samples of chroma a JPEG has: "444" all, "422" one for two pixels
// beside each other, "420" one for a square of four; "" is 444 above a quality of 90, else
// 420.
type Subsampling string

var subsamplings = map[Subsampling]imgio.Subsampling{"": imgio.SubsamplingDefault, "444": imgio.Subsampling444,
	"422": imgio.Subsampling422, "420": imgio.Subsampling420}

// UnmarshalText reads 444, 422 or 420, with colons between the digits or without.
func (s *Subsampling) UnmarshalText(text []byte) error {
	var digits []byte
	for _, c := range text {
		if c != ':' {
			digits = append(digits, c)
		}
	}
	if _, ok := subsamplings[Subsampling(digits)]; !ok || len(digits) == 0 {
		return optionErrorf("subsampling", "%q: want 444, 422 or 420", text)
	}
	*s = Subsampling(digits)
	return nil
}

// kind is the encoder's name of it, once checked.
func (s Subsampling) kind() imgio.Subsampling { return subsamplings[s] }

func (s Subsampling) check(f Format) error {
	if _, ok := subsamplings[s]; !ok {
		return optionErrorf("subsampling", "%q: want 444, 422 or 420", string(s))
	}
	if s != "" && f != JPEG {
		return optionErrorf("subsampling", "only JPEG has less chroma than pixels: leave it out, or choose jpeg")
	}
	return nil
}
