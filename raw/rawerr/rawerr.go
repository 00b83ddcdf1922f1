// Package rawerr holds the three kinds of error that reading a RAW photo can
// end in besides an I/O error. Every decoder under raw/ reports with these, so
// that a caller tells "damaged file", "file we do not read" and "option
// missing or wrong" apart with errors.As, whichever decoder spoke.
//
// I/O errors (fs.ErrNotExist, a failed read) are never turned into one of them.
package rawerr

import "fmt"

// A FormatError reports a file that breaks its own format: damaged, cut short,
// or claiming what cannot be.
type FormatError struct {
	Where   string // the part of the file, for example "dng: tile 3"
	Problem string
	Err     error // the cause, or nil
}

func (e *FormatError) Error() string {
	s := e.Where + ": " + e.Problem
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

func (e *FormatError) Unwrap() error { return e.Err }

// An UnsupportedError reports a file that may be perfectly good but that this
// program does not read.
type UnsupportedError struct {
	Feature string // what it is, for example "X-Trans sensor"
	Advice  string // what to do about it, or ""
}

func (e *UnsupportedError) Error() string {
	if e.Advice == "" {
		return "unsupported: " + e.Feature
	}
	return "unsupported: " + e.Feature + ": " + e.Advice
}

// An OptionError reports that the file cannot be understood with the options
// given: one is missing, or contradicts the file.
type OptionError struct {
	Option  string // the option's name as the command line spells it, without dashes
	Problem string
}

func (e *OptionError) Error() string { return "--" + e.Option + ": " + e.Problem }

// Formatf builds a *FormatError without a cause.
func Formatf(where, format string, args ...any) error {
	return &FormatError{Where: where, Problem: fmt.Sprintf(format, args...)}
}
