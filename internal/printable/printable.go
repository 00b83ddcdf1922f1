// Package printable makes text from files, file names and drivers safe to print: a
// camera's name in a photo may hold terminal escapes that move the cursor, hide lines
// or rename the window. [Text] escapes one such text, and [Writer] everything that is
// written through it.
package printable

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Text returns s with every character that is not printable written as an escape of
// Go: \n, \x1b, \u202e. Printable are letters, marks, numbers, punctuation, symbols and
// spaces; control characters, line breaks, directional overrides and bytes that are no
// UTF-8 are not.
func Text(s string) string { return escape(s, "") }

// Line is Text for a message of several lines, such as a compiler's log: it joins the
// lines by "; ".
func Line(s string) string {
	lines := strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' })
	return Text(strings.Join(lines, "; "))
}

// escape keeps the characters of keep as they are.
func escape(s, keep string) string {
	at := strings.IndexFunc(s, func(r rune) bool { return r == utf8.RuneError || !allowed(r, keep) })
	if at < 0 {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		size := utf8.RuneLen(r)
		if r == utf8.RuneError {
			_, size = utf8.DecodeRuneInString(s[i:])
		}
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case allowed(r, keep):
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < utf8.RuneSelf:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 1<<16:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

// allowed reports whether r may be printed. Beside what unicode.IsPrint allows, that is
// the no-break space, which tables use between a number and its unit.
func allowed(r rune, keep string) bool {
	return unicode.IsPrint(r) || r == '\u00a0' || strings.ContainsRune(keep, r)
}

// Writer escapes what is written through it as [Text] does, but for line feeds and tabs.
// A Write must not end within a character.
type Writer struct{ w io.Writer }

// NewWriter returns a Writer to w.
func NewWriter(w io.Writer) *Writer { return &Writer{w} }

// Write writes p, escaped, in one call. It returns len(p) unless the write fails.
func (w *Writer) Write(p []byte) (int, error) {
	if _, err := io.WriteString(w.w, escape(string(p), "\n\t")); err != nil {
		return 0, err
	}
	return len(p), nil
}

// JSON returns a JSON text with every character that is not printable written as an
// escape of JSON, which stands for the same text: encoding/json leaves directional
// overrides and the like as they are.
func JSON(text []byte) []byte {
	var b bytes.Buffer
	for _, r := range string(text) {
		switch {
		case allowed(r, "\n\t"):
			b.WriteRune(r)
		case r < 1<<16:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, hi, lo)
		}
	}
	return b.Bytes()
}
