// Package bench measures whole networks on OpenCL devices: [Net] times one, with its
// transfers, its peak of device memory and, if asked for, a profile of a run.
//
// Package papers beside it has the experiments of papers: convolutions, matrix
// products and ladders of algorithms. Nothing that develops a photo needs either.
package bench
