// Package bench says what a device can do at most. Package eval holds networks and LibRaw
// against the truth, and package papers has the experiments of papers: convolutions, matrix
// products and ladders of algorithms. Nothing that develops a photo needs any of them.
package bench
