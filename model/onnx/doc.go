// Package onnx reads ONNX files: protocol buffers that hold a graph of operations and its
// weights. It knows the format, not what the operations mean; package onnximport makes a
// model of a [File].
//
// The reader trusts nothing and executes nothing: every length is checked against the file, lists have
// bounds, and data beside the file is read from the file's own folder alone. What it holds is
// bounded by the file's size.
//
//   - file.go: [Open] and [Parse], the outer message, and the check before a large file is read.
//   - graph.go: graphs, nodes, attributes, the types of inputs and outputs.
//   - tensor.go, external.go: weights and other constants; element types.
//   - fields.go: the fields of a message.
//
// Source: onnx.proto of https://github.com/onnx/onnx (IR versions 3 to 12).
package onnx

import "fmt"

// FormatError says why a file is not valid ONNX, or holds what this package does not read.
type FormatError string

func (e FormatError) Error() string { return "onnx: " + string(e) }

func formatError(format string, args ...any) error {
	return FormatError(fmt.Sprintf(format, args...))
}
