package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	"enhance/pipeline"
	"enhance/raw"
)

// maxList bounds a list of photos.
const maxList = 256 << 20

// listed reads the names in the file of --from, standard input for "-".
func (o *order) listed() ([]string, error) {
	if o.from == "" {
		return nil, nil
	}
	where, f := o.from, os.Stdin
	if o.from == "-" {
		where = stdinName
	} else {
		var err error
		if f, err = os.Open(o.from); err != nil {
			return nil, &pipeline.FileError{Path: where, Err: err}
		}
		defer f.Close()
	}
	text, err := io.ReadAll(io.LimitReader(f, maxList+1))
	switch {
	case err != nil:
		return nil, &pipeline.FileError{Path: where, Err: err}
	case len(text) > maxList:
		return nil, &pipeline.FileError{Path: where, Err: &raw.FormatError{Where: "list", Problem: fmt.Sprintf("more than %d MiB are no list of photos", maxList>>20)}}
	}
	return splitList(text), nil
}

// splitList splits a list at NULs if it has any (find -print0), else into lines. Empty
// names are no names.
func splitList(text []byte) (names []string) {
	separator := []byte("\n")
	if bytes.IndexByte(text, 0) >= 0 {
		separator = []byte{0}
	}
	for name := range bytes.SplitSeq(text, separator) {
		if separator[0] == '\n' {
			name = bytes.TrimSuffix(name, []byte("\r"))
		}
		if len(name) > 0 {
			names = append(names, string(name))
		}
	}
	for i, name := range names {
		if name == "-" { // a file of that name: the list itself may come from standard input
			names[i] = "./-"
		}
	}
	if len(names) > 0 {
		names[0] = strings.TrimPrefix(names[0], "\ufeff")
	}
	return names
}
