// Package bench measures convolutions, matrix products and whole networks on
// OpenCL devices, and sums up and draws what was measured.
//
//   - suites.go: which shapes, from which papers
//   - conv.go: one convolution by every algorithm; place.go: its tensors on the
//     device; check.go: its distance from float64; compile.go: all kernels beforehand;
//     idle.go: which algorithms would do nothing
//   - gemm.go: matrix products
//   - net.go: a whole network
//   - average.go: speed ratios over a suite
//   - report.go, winner.go and svg.go: reports on a terminal and as a drawing
//
// How time is measured: a marker before the launches and one after them, in an
// in-order queue with profiling; the time is from the end of the first to the
// end of the second by the device's clock. Nothing else runs in the queue. Each
// figure is the median of several runs after one that is not counted. Work is
// two operations per multiply-add of the direct definition, whatever an
// algorithm really does.
package bench
