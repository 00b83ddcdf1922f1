package printable

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

var texts = []struct{ name, in, text, line, written string }{
	{"empty", "", "", "", ""},
	{"plain", "Canon EOS 5D, 24–70 mm, 日本 ½", "Canon EOS 5D, 24–70 mm, 日本 ½", "Canon EOS 5D, 24–70 mm, 日本 ½", "Canon EOS 5D, 24–70 mm, 日本 ½"},
	{"clears the screen", "Canon\x1b[2J", `Canon\x1b[2J`, `Canon\x1b[2J`, `Canon\x1b[2J`},
	{"eight-bit escape", "a\u009b31mb", `a\u009b31mb`, `a\u009b31mb`, `a\u009b31mb`},
	{"forges a line", "EOS\nmemory  peak 1 B", `EOS\nmemory  peak 1 B`, "EOS; memory  peak 1 B", "EOS\nmemory  peak 1 B"},
	{"overwrites a line", "a\rb", `a\rb`, "a; b", `a\rb`},
	{"tab", "a\tb", `a\tb`, `a\tb`, "a\tb"},
	{"bell and delete", "\a\x7f", `\x07\x7f`, `\x07\x7f`, `\x07\x7f`},
	{"zero", "a\x00", `a\x00`, `a\x00`, `a\x00`},
	{"right-to-left override", "gnp\u202egpj", `gnp\u202egpj`, `gnp\u202egpj`, `gnp\u202egpj`},
	{"tag character", "a\U000e0041", `a\U000e0041`, `a\U000e0041`, `a\U000e0041`},
	{"Latin-1", "caf\xe9.dng", `caf\xe9.dng`, `caf\xe9.dng`, `caf\xe9.dng`},
	{"a replacement character of its own", "\ufffd", "\ufffd", "\ufffd", "\ufffd"},
	{"no-break space", "5\u00a0GiB", "5\u00a0GiB", "5\u00a0GiB", "5\u00a0GiB"},
}

func TestText(t *testing.T) {
	for _, c := range texts {
		if got := Text(c.in); got != c.text {
			t.Errorf("%s: Text %q, want %q", c.name, got, c.text)
		}
		if got := Line(c.in); got != c.line {
			t.Errorf("%s: Line %q, want %q", c.name, got, c.line)
		}
		var b bytes.Buffer
		n, err := NewWriter(&b).Write([]byte(c.in))
		if got := b.String(); n != len(c.in) || err != nil || got != c.written {
			t.Errorf("%s: Write %q, %d, %v, want %q", c.name, got, n, err, c.written)
		}
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestWriterError(t *testing.T) {
	if n, err := NewWriter(broken{}).Write([]byte("abc")); n != 0 || !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("%d, %v", n, err)
	}
}

func FuzzText(f *testing.F) {
	for _, c := range texts {
		f.Add(c.in)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := Text(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q: %q is not UTF-8", s, got)
		}
		if at := strings.IndexFunc(got, func(r rune) bool { return !unicode.IsPrint(r) && r != '\u00a0' }); at >= 0 {
			t.Fatalf("%q: %q holds a character that is not printable", s, got)
		}
		if Text(got) != got {
			t.Fatalf("%q: escaped twice", s)
		}
	})
}

// TestJSON: the text means the same, and nothing in it drives a terminal.
func TestJSON(t *testing.T) {
	for _, s := range []string{"", "plain é\n", "\x1b[2J\u202e\u2066\x7f\u0085", "\U000e0001", "\xff", "\ufffd"} {
		in, err := json.Marshal(map[string]string{"text": s})
		if err != nil {
			t.Fatal(err)
		}
		out := JSON(in)
		var a, b map[string]string
		if json.Unmarshal(in, &a) != nil || json.Unmarshal(out, &b) != nil || a["text"] != b["text"] {
			t.Errorf("%q became %q", in, out)
		}
		if Text(string(out)) != string(out) {
			t.Errorf("%q is not printable", out)
		}
	}
}
