// Package ncnn reads networks of the ncnn framework, as upscalers ship: the layers in a text file (.param), the
// weights in a file beside it (.bin). [Open] gives the same network in ONNX's operations, which package
// onnximport makes a model of.
//
// The text is read in param.go, the weights in weights.go, and each kind of layer is rewritten in layers.go (those
// with weights), pointwise.go (functions and arithmetic) and planes.go (what moves, joins, pools or resizes). Nothing in a
// file is trusted: sizes are checked against the files, and a layer or a parameter that is not known is refused
// by its name.
package ncnn

import "fmt"

// FormatError says what is wrong with a network's files, or what of them is not read.
type FormatError string

func (e FormatError) Error() string { return "ncnn: " + string(e) }

func formatError(format string, args ...any) error { return FormatError(fmt.Sprintf(format, args...)) }
