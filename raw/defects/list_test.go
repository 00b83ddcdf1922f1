package defects

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"

	"enhance/raw/rawerr"
)

func TestReadList(t *testing.T) {
	l, err := ReadList(strings.NewReader("# by darktable\n\n 12\t34 \n56 78 # warm\n1 2 1700000000\r\n"))
	if err != nil || l.Len() != 3 {
		t.Fatalf("%v, %v", l, err)
	}
	all := []Place{{34, 12}, {78, 56}, {2, 1}}
	for taken, n := range map[string]int{"": 3, "yesterday": 3, "2024:01:01 00:00:00": 3, "2020:01:01 00:00:00": 2} {
		if got := l.at(taken); !slices.Equal(got, all[:n]) {
			t.Errorf("taken %q: %v", taken, got)
		}
	}
	for text, want := range map[string]string{
		"1": "line 1: ", "1 2\n3 x": "line 2: \"x\"", "-1 2": "whole number", "1 2 3 4": "line 1: ", "1.5 2": "whole number", "99999999 1": "whole number",
		"1 99999999999999999999": "whole number", strings.Repeat("9", 5000): "line 1: longer", "\x00\x01 1": "whole number",
		strings.Repeat("1 1\n", maxEntries+1): "more than",
	} {
		_, err := ReadList(strings.NewReader(text))
		var format *rawerr.FormatError
		if !errors.As(err, &format) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: error %v, want %q", text, err, want)
		}
	}
}

// FuzzReadList: any text is a list or a format error, and a list can be used.
func FuzzReadList(f *testing.F) {
	for _, s := range []string{"", "12 34\n", "# x\n5 6 1700000000\n7 8 0\n", "1 2 3 4", "\xff\xfe1 2", "0 0\n0 0\n23 23\n22 22 -1"} {
		f.Add([]byte(s))
	}
	shot := expose(24, 24, hills, 2e-5, 2e-8, 4)
	dst := make([]uint16, 24*24)
	f.Fuzz(func(t *testing.T, text []byte) {
		l, err := ReadList(bytes.NewReader(text))
		if err != nil {
			if !errors.As(err, new(*rawerr.FormatError)) {
				t.Fatalf("error %v of no known kind", err)
			}
			return
		}
		r := New(&shot.meta, shot.read, l)
		if err := r.ReadRows(0, 24, dst); err != nil {
			t.Fatal(err)
		}
		if n := r.Found().Count(0, 24); n > int64(min(l.Len(), 24*24)) {
			t.Fatalf("%d repaired of a list of %d", n, l.Len())
		}
	})
}
