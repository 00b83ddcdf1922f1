// Package onnxtest runs the ONNX project's backend tests: a model each, with inputs and the outputs that are right.
//
// [Open] reads the archive of tests or the part of it that comes with this package, [Case.Run] runs one with
// any executor, and [Expectations] is what is known of each: that it passes, that it is refused and why, or
// that it fails.
package onnxtest
