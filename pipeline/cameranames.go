package pipeline

import (
	"slices"
	"strings"
	"unicode"
)

// sameCamera compares names without case and marks, which their writers vary; one of them may
// leave out the maker before the model.
func sameCamera(a, b string) bool {
	x, y := plainWords(european(a)), plainWords(european(b))
	if len(x) < len(y) {
		x, y = y, x
	}
	if strings.Join(x, "") == strings.Join(y, "") {
		return true
	}
	return len(y) > 0 && slices.Equal(x[len(x)-len(y):], y) && strings.ContainsAny(y[len(y)-1], "0123456789")
}

// plainWords are a name's words of letters and digits.
func plainWords(s string) []string {
	return strings.FieldsFunc(strings.ToLower(s), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// regionalNames are what Canon calls cameras in Europe, America and Japan: profiles go by one
// name, photos by that of the place where the camera was sold.
var regionalNames = [][]string{
	{"EOS 300D", "EOS Digital Rebel", "EOS Kiss Digital"}, {"EOS 350D", "EOS Digital Rebel XT", "EOS Kiss Digital N"},
	{"EOS 400D", "EOS Digital Rebel XTi", "EOS Kiss Digital X"}, {"EOS 450D", "EOS Rebel XSi", "EOS Digital Rebel XSi", "EOS Kiss X2"},
	{"EOS 500D", "EOS Rebel T1i", "EOS Kiss X3"}, {"EOS 550D", "EOS Rebel T2i", "EOS Kiss X4"},
	{"EOS 600D", "EOS Rebel T3i", "EOS Kiss X5"}, {"EOS 650D", "EOS Rebel T4i", "EOS Kiss X6i"},
	{"EOS 700D", "EOS Rebel T5i", "EOS Kiss X7i"}, {"EOS 750D", "EOS Rebel T6i", "EOS Kiss X8i"},
	{"EOS 760D", "EOS Rebel T6s", "EOS 8000D"}, {"EOS 800D", "EOS Rebel T7i", "EOS Kiss X9i"},
	{"EOS 850D", "EOS Rebel T8i", "EOS Kiss X10i"}, {"EOS 77D", "EOS 9000D"},
	{"EOS 100D", "EOS Rebel SL1", "EOS Kiss X7"}, {"EOS 200D", "EOS Rebel SL2", "EOS Kiss X9"},
	{"EOS 250D", "EOS Rebel SL3", "EOS Kiss X10"}, {"EOS 1000D", "EOS Rebel XS", "EOS Digital Rebel XS", "EOS Kiss F"},
	{"EOS 1100D", "EOS Rebel T3", "EOS Kiss X50"}, {"EOS 1200D", "EOS Rebel T5", "EOS Kiss X70"},
	{"EOS 1300D", "EOS Rebel T6", "EOS Kiss X80"}, {"EOS 2000D", "EOS Rebel T7", "EOS Kiss X90"},
	{"EOS M50", "EOS Kiss M"},
}

// european is a camera's name in Europe, as it is for all that regionalNames do not have.
func european(name string) string {
	words := plainWords(name)
	if len(words) > 0 && words[0] == "canon" {
		words = words[1:]
	}
	for _, names := range regionalNames {
		for _, other := range names[1:] {
			if slices.Equal(words, plainWords(other)) {
				return "Canon " + names[0]
			}
		}
	}
	return name
}
