// Package libraw reads camera makers' RAW formats through LibRaw, the library that the
// system has, without trusting its parsers with this process.
//
// Start at Open. It starts this program once more, with arguments that make it call
// Serve; that process loads LibRaw, limits itself, reads the photo from an open
// descriptor and answers over a pipe. A crash, a hang, a corrupted heap or nonsense in
// the answers ends in an error about the photo. docs/libraw.md has the reasons.
//
//	open.go       Open and Image: the parent's side
//	protocol.go   what goes over the pipes
//	facts.go      what the process says of a photo, and its check
//	meta.go       facts to mosaic.Meta
//	exif.go       facts to Exif
//	limits.go     what the process may use
//
// and in the process:
//
//	serve_unix.go   Serve
//	limits_unix.go  taking from the process what it does not need
//	lib_unix.go     LibRaw's functions, and the checks that confirm a layout
//	layout.go       where LibRaw's versions keep what is read
//	read.go         facts out of a copy of LibRaw's struct
//	lib_other.go    systems without any of it
package libraw
