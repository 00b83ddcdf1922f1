package defects

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"enhance/raw/rawerr"
)

// List are the places of known defects.
type List struct {
	entries []entry
}

// entry is a line of a list: a sample that has been defective since a time, in seconds of
// Unix time; 0: always.
type entry struct {
	Place
	since int64
}

// Bounds of a list: more is not a list of defects.
const (
	maxLine    = 4096
	maxEntries = 1 << 20
	maxColumn  = 1 << 24

	// MaxFile is how many bytes a list has at most.
	MaxFile = 32 << 20
)

// ReadList reads a list: a line for each defect, with the column and the row of the
// sample in the active area, counted from 0, and then, if the file is one of dcraw's
// (.badpixels), the Unix time since when it is defective: it is left alone in photos
// taken before. What follows # is a comment. Blank lines are allowed.
func ReadList(r io.Reader) (*List, error) {
	l := &List{}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, maxLine), maxLine)
	n := 0
	for lines.Scan() {
		n++
		text, _, _ := bytes.Cut(lines.Bytes(), []byte("#"))
		fields := strings.Fields(string(text))
		if len(fields) == 0 {
			continue
		}
		e, problem := parseEntry(fields)
		if problem == "" && len(l.entries) == maxEntries {
			problem = fmt.Sprintf("more than %d defects", maxEntries)
		}
		if problem != "" {
			return nil, rawerr.Formatf(fmt.Sprintf("line %d", n), "%s", problem)
		}
		l.entries = append(l.entries, e)
	}
	switch err := lines.Err(); {
	case err == bufio.ErrTooLong:
		return nil, rawerr.Formatf(fmt.Sprintf("line %d", n+1), "longer than %d bytes", maxLine)
	case err != nil:
		return nil, err
	}
	return l, nil
}

func parseEntry(fields []string) (e entry, problem string) {
	if len(fields) > 3 {
		return e, "want column, row and perhaps a time, all whole numbers"
	}
	if len(fields) == 1 {
		return e, fmt.Sprintf("%q: want column and row of a sample", clip(fields[0]))
	}
	var v [3]int64
	for i, s := range fields {
		x, err := strconv.ParseInt(s, 10, 64)
		if err != nil || x < 0 || i < 2 && x > maxColumn {
			return e, fmt.Sprintf("%q: want a whole number, 0 or more", clip(s))
		}
		v[i] = x
	}
	return entry{Place{int(v[1]), int(v[0])}, v[2]}, ""
}

// clip shortens what an error message quotes.
func clip(s string) string { return s[:min(len(s), 32)] }

// Len is how many defects the list has.
func (l *List) Len() int { return len(l.entries) }

// at are the places that were defective when a photo was taken, which may be unknown.
func (l *List) at(dateTime string) (places []Place) {
	taken, err := time.Parse("2006:01:02 15:04:05", dateTime)
	for _, e := range l.entries {
		if e.since == 0 || err != nil || e.since <= taken.Unix() {
			places = append(places, e.Place)
		}
	}
	return places
}
