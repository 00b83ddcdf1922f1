// Package ref runs a network on the host. It is the definition of every
// operation, the reference that kernels are tested against, and the last resort
// where there is no OpenCL device.
//
//   - ops.go: the operations in plain loops, generic over float32 and float64.
//     This is the contract.
//   - conv.go: a convolution in float32 that computes the same sums in blocks, by
//     Gonum's product of matrices, more than ten times faster.
//   - quantize.go: codes of 8 bits and their convolution.
//   - run.go: walks a graph, frees what is no longer needed.
//   - parallel.go: work spread over the cores.
//
// Values are planar: sample (c,y,x) of a value of shape C×H×W is at (c·H+y)·W+x.
// Results do not depend on the number of cores.
package ref

import (
	"context"

	"enhance/model"
)

// Options of a run; the zero value is ready to use.
type Options struct {
	// Dump, if set, is called with every node's value after it was made, in graph
	// order, also for nodes that the result does not need. The slice is valid
	// during the call only. Without Dump such nodes are not run.
	Dump func(node string, shape model.Shape, data []float32)
	// Progress, if set, is called now and then, never by two goroutines at once,
	// with the floating-point operations done and to be done.
	Progress func(done, total int64)
	// Workers is the number of goroutines; 0 means one for each core.
	Workers int
}

// Run computes a model's result in float32 for an input of h rows and w
// columns, and returns it with its shape. The input must have the graph's
// channels, and sides that the graph can run; it is not changed. Run fails on a
// model that is not valid, on a wrong input, and with ctx's error when that is done.
func Run(ctx context.Context, m *model.Model, in []float32, h, w int, o Options) ([]float32, model.Shape, error) {
	e := &executor[float32]{conv: convBlocked, dump: o.Dump}
	return e.run(ctx, m, in, h, w, o)
}

// Run64 is Run in float64 and in plain loops: the definition, for tests.
func Run64(ctx context.Context, m *model.Model, in []float64, h, w int, o Options) ([]float64, model.Shape, error) {
	e := &executor[float64]{conv: convPlain[float64]}
	if o.Dump != nil {
		e.dump = func(node string, shape model.Shape, data []float64) {
			rounded := make([]float32, len(data))
			for i, v := range data {
				rounded[i] = float32(v)
			}
			o.Dump(node, shape, rounded)
		}
	}
	return e.run(ctx, m, in, h, w, o)
}
