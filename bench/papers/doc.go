// Package papers repeats the experiments of papers on convolutions and matrix
// products with OpenCL, on the devices at hand: docs/papers.md sets the figures
// side by side.
//
//   - suites.go: which shapes, from which papers
//   - conv.go: one convolution by every algorithm; place.go: its tensors on the
//     device; check.go: its distance from float64; compile.go: all kernels beforehand
//   - gemm.go: matrix products
//   - average.go: speed ratios over a suite
//   - report.go, winner.go and svg.go: reports on a terminal and as a drawing
//
// How time is measured: a marker before the launches and one after them, in an
// in-order queue with profiling; the time is from the end of the first to the
// end of the second by the device's clock. Nothing else runs in the queue. Each
// figure is the median of several runs after one that is not counted. Work is
// two operations per multiply-add of the direct definition, whatever an
// algorithm really does.
package papers
