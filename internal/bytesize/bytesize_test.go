package bytesize

import "testing"

func TestParse(t *testing.T) {
	for s, want := range map[string]int64{
		"1": 1, "4096": 4096, "64k": 64 << 10, "64K": 64 << 10, "256M": 256 << 20,
		"256m": 256 << 20, "256MB": 256 << 20, "256MiB": 256 << 20, "1.5g": 3 << 29, "2G": 2 << 30, " 8m ": 8 << 20, "0.1": 1,
	} {
		if got, err := Parse(s); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %d", s, got, err, want)
		}
	}
	for _, s := range []string{"0", "0G", "0.0"} {
		if got, err := Parse(s); err != nil || got != 0 {
			t.Errorf("%q: %v, %v; want no limit", s, got, err)
		}
	}
	for _, s := range []string{"", "m", "-1", "1x", "1mm", "NaN", "inf", "1e9", "0x10", "9999999999T", "1_0", "12 34"} {
		if got, err := Parse(s); err == nil {
			t.Errorf("%q: %v, %v; want a refusal", s, got, err)
		}
	}
}

// FuzzParse: a text is a number of bytes or refused.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"256M", "1.5g", "0", "9e99k", "\x00", "-2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if n, err := Parse(s); n < 0 || err != nil && n != 0 {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	})
}
