// Package onnximport makes a model of an ONNX file: a graph of the operations that this
// program runs, row by row and exactly as ONNX defines them, or an error that names the node
// that cannot be run so.
//
// [Import] works at one size of the input. It keeps the ONNX shape of every value beside the plane
// of channels, rows and columns that it is (value.go), computes what depends on constants
// and shapes alone (fold.go and its neighbours), and rewrites nodes into the model's operations: convolutions (conv.go,
// transpose.go), functions of a sample and of two (pointwise.go, binary.go), reductions (reduce.go,
// pool.go, pool3d.go), norms (norm.go), matrix products (dense.go, matmul.go), resizing (resize.go), and what moves
// channels or names dimensions anew (channels.go, space.go, shape.go). Where the dimensions that an operation works on are
// no channels, rows or columns, layout.go rearranges the plane.
//
// A network that does not depend on the size gives the same graph at all sizes: see [Differ].
package onnximport

import (
	"fmt"

	"enhance/model/onnx"
)

// Error says which node cannot be imported, why, and what would do.
type Error struct {
	Format  string // of the file: "" is ONNX
	Node    string // "" if it is none
	Opset   int64
	Problem string
}

func (e *Error) Error() string {
	format := e.Format
	if format == "" {
		format = "onnx"
	}
	if e.Node == "" {
		return format + ": " + e.Problem
	}
	if e.Format != "" {
		return fmt.Sprintf("%s: %s: %s", format, e.Node, e.Problem)
	}
	return fmt.Sprintf("onnx: %s of opset %d: %s", e.Node, e.Opset, e.Problem)
}

func refuse(format string, args ...any) error { return &Error{Problem: fmt.Sprintf(format, args...)} }

// at names the node in an error of a handler.
func at(n *onnx.Node, opset int64, err error) error {
	if e, ok := err.(*Error); ok && e.Node == "" {
		return &Error{Node: n.String(), Opset: opset, Problem: e.Problem}
	}
	if f, ok := err.(onnx.FormatError); ok {
		return &Error{Node: n.String(), Opset: opset, Problem: string(f)}
	}
	return err
}
