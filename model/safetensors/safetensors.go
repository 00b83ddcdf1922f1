// Package safetensors reads and writes the safetensors format: a header of JSON
// that names tensors, their element type, shape and place, followed by their
// values. Values are float32 in memory; F64, F16, BF16 and I8 are converted on reading.
//
// The reader trusts nothing: sizes are checked against the file before anything
// is allocated, and a header that is malformed in any way is refused.
//
//   - header.go: the header, strictly parsed.
//   - read.go, write.go: files.
//   - half.go: 16-bit element types.
//
// Source: https://github.com/huggingface/safetensors#format.
package safetensors

import "fmt"

// Tensor is row-major values and their shape. An empty shape is one value.
type Tensor struct {
	Shape []int
	Data  []float32
}

// File is the content of a safetensors file.
type File struct {
	Tensors map[string]*Tensor
	Meta    map[string]string // "__metadata__"
	// Integers are the names of tensors to be written as I8: their values are integers of -128..127.
	Integers map[string]bool
}

// FormatError says why a file is not valid safetensors, or holds what this
// package does not read.
type FormatError string

func (e FormatError) Error() string { return "safetensors: " + string(e) }

func formatError(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}
