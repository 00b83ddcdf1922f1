// Package findings finds out about a device what its driver does not say, by trying and
// measuring it, and keeps that for later processes in the file of its tuning results
// (package tune).
//
//   - device.go: the device that is examined, and where findings are kept
//   - units.go: which arithmetic units it has
//   - algorithms.go, saver.go, rates.go: which convolution algorithms are fastest, and
//     what launches and copies take
//   - exactness.go, patch.go: how close the results of less exact precisions come
//   - kernels.go: which kernels are right, of those whose work the host can do
//
// What a finding leads to is decided by the caller (package pipeline): it says which
// precisions there are, how a network is run and which kernels a photo needs.
package findings
