package suggest

import "testing"

func TestNearest(t *testing.T) {
	flags := []string{"device", "device-profile", "denoise", "mem", "model", "precision", "noise", "bits"}
	for word, want := range map[string]string{
		"":               "",
		"m":              "", // anything is near to it
		"devise":         "device",
		"devcie":         "device", // neighbours swapped
		"Device":         "device",
		"memory":         "mem", // its beginning
		"prec":           "precision",
		"pr":             "", // too little to tell
		"men":            "mem",
		"modle":          "model",
		"persicion":      "precision",
		"devise-profile": "device-profile",
		"nosie":          "noise",
		"frobnicate":     "",
		"bit":            "bits",
	} {
		if got := Nearest(word, flags); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := Nearest("ax", []string{"ab", "ac"}); got != "ab" {
		t.Errorf("of two equally near %q, want the first", got)
	}
	if got := Nearest("word", nil); got != "" {
		t.Errorf("of none %q", got)
	}
}

func TestQuestion(t *testing.T) {
	if got := Question("fsat", []string{"best", "fast"}); got != ": did you mean fast?" {
		t.Errorf("%q", got)
	}
	if got := Question("resnet", []string{"best", "fast"}); got != "" {
		t.Errorf("%q", got)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"abc", "ab", 1}, {"kitten", "sitting", 3}, {"ca", "abc", 3}} {
		if got := distance(c.a, c.b, 10); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a, 10); got != c.want {
			t.Errorf("%q, %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}
