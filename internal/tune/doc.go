// Package tune finds out which convolution algorithm is fastest on a device, and
// keeps what it found.
//
//   - key.go: what a measurement is of: a shape, a size class and a precision
//   - table.go: the findings of a device as a text file; file.go: that file on disk,
//     safe against other processes; lock_*.go: how they wait for each other
//   - meter.go: tensors and programs on the device; check.go: is a result right
//   - search.go: from tasks to choices; duel.go: candidates against the default;
//     build.go: their programs
//
// The package knows no algorithm: candidates come from its caller (package exec),
// the first of them the one that is taken without tuning. A candidate that is
// wrong cannot win, and one that is right but inexact wins only by being much
// faster (see [Score]). docs/tuning.md says what was measured.
package tune
