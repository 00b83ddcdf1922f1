package kernelcheck

import (
	"fmt"

	"enhance/conv"
	"enhance/internal/fuse"
	"enhance/internal/planar"
	"enhance/model"
)

// octetOperations are networks whose activations are octets (see package planar): of what is no convolution, between two
// that are, by algo.
func octetOperations(algo conv.Algo) (all []testCase, err error) {
	add := func(name string, h, w int, build func(b *model.Builder, x int) int) {
		b := model.NewBuilder(8)
		x := build(b, b.LeakyReLU("before", b.Conv("first", "first", 0, 20, 3), 0.2))
		g, gerr := b.Graph(x)
		if gerr != nil && err == nil {
			err = fmt.Errorf("kernelcheck: the network for %s: %w", name, gerr)
		}
		all = append(all, testCase{kernel: name, arith: conv.Arithmetic{Precision: planar.FP16}, graph: g, h: h, w: w, algo: algo, octets: true, inexact: true})
	}
	last := func(b *model.Builder, x int) int { return b.Conv("last", "last", x, 5, 1) }
	add("octets: activation and sum", 13, 37, func(b *model.Builder, x int) int {
		return last(b, b.Add("sum", b.LeakyReLU("leaky", x, 0.2), x))
	})
	add("octets: max pool", 14, 38, func(b *model.Builder, x int) int { return last(b, b.MaxPool("pool", x)) })
	add("octets: upsample", 13, 37, func(b *model.Builder, x int) int { return last(b, b.Upsample("up", x, true)) })
	add("octets: upsample and sum", 12, 36, func(b *model.Builder, x int) int {
		return last(b, b.Add("sum", b.Upsample("up", b.MaxPool("pool", x), false), x))
	})
	add("octets: pixel shuffle", 13, 37, func(b *model.Builder, x int) int { return b.PixelShuffle("shuffle", x) })
	add("octets: convolutions and norms", 19, 67, func(b *model.Builder, x int) int {
		const slope, eps = 0.2, 1e-5
		y := b.LeakyReLU("act", b.InstanceNorm("norm", "norm", b.Conv("second", "second", b.Conv("wide", "wide", x, 32, 1), 32, 5), eps), slope)
		return last(b, b.Add("sum", b.InstanceNorm("norm2", "norm2", b.Conv("third", "third", y, 32, 3), eps), y))
	})
	return all, err
}

// octetConvolution is a network of a convolution of octets of shape s, behind one that makes what it reads and, where it
// makes octets, before one that reads these.
func octetConvolution(s conv.Shape) (*model.Graph, error) {
	b := model.NewBuilder(8)
	x := b.Conv("before", "before", 0, s.InC(), 1)
	y := b.Conv("conv", "conv", x, s.OutC, s.K)
	switch s.Act {
	case fuse.LeakyReLU:
		y = b.LeakyReLU("act", y, 0.2)
	case fuse.Sigmoid:
		y = b.Sigmoid("act", y)
	}
	if s.OutC == s.InC() {
		y = b.Add("residual", y, x)
	}
	if s.OctetsOut {
		y = b.Conv("after", "after", y, 5, 1)
	}
	return b.Graph(y)
}
