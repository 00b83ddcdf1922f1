package dng

import "io"

// Recognise reports whether the file in the first size bytes of r says that it is a DNG
// file. It reads directories only.
func Recognise(r io.ReaderAt, size int64) bool {
	s, _, err := parse(r, size)
	return err == nil && s.first.Has(tagDNGVersion)
}
