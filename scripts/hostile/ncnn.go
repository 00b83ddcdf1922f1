package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
)

// ncnnKinds are networks of the ncnn framework: a text and the weights beside it, made up of layers that mostly fit, damaged
// in one of the two.
var ncnnKinds = []kind{
	{name: "ncnn", weight: 2, make: func(c *campaign, a *attempt) error {
		param, bin := a.ncnnFiles()
		switch a.IntN(6) {
		case 0:
			param = mutate(a.Rand, param)
		case 1:
			bin = mutate(a.Rand, bin)
		case 2:
			bin = bin[:a.IntN(len(bin)+1)]
		}
		path := a.file("net.param", param)
		a.file("net.bin", bin)
		if a.IntN(3) == 0 {
			a.info(path)
			a.maybe("--json")
			return nil
		}
		s := c.files.references[a.IntN(len(c.files.references))]
		a.args = []string{"apply", "-g", "host", "-m", path, a.file(s.name, s.data)}
		a.output("out.png")
		a.maybe("--dry-run")
		return nil
	}},
}

var ncnnLayers = []string{"ReLU", "PReLU", "Clip", "Sigmoid", "HardSwish", "BatchNorm", "Scale", "Interp", "PixelShuffle", "Pooling", "Padding", "Crop", "Slice", "Eltwise",
	"BinaryOp", "UnaryOp", "InnerProduct", "Deconvolution", "ConvolutionDepthWise", "Softmax", "Concat", "Split", "MemoryData", "Flatten", "Reorg", "Permute"}

// ncnnFiles is a made-up network of three channels: convolutions that fit, and other layers that may.
func (a *attempt) ncnnFiles() (param, bin []byte) {
	last := "x"
	lines, blobs := []string{"Input x 0 1 x"}, 1
	raw := func(n int) {
		for range n {
			bin = binary.LittleEndian.AppendUint32(bin, math.Float32bits(a.Float32()-0.5))
		}
	}
	for i := range 1 + a.IntN(6) {
		out := fmt.Sprint("b", i)
		if a.IntN(2) == 0 {
			lines = append(lines, fmt.Sprintf("Convolution l%d 1 1 %s %s 0=3 1=3 4=1 5=1 6=81 9=%d", i, last, out, a.IntN(2)))
			bin = binary.LittleEndian.AppendUint32(bin, 0)
			raw(81 + 3)
		} else {
			kind := ncnnLayers[a.IntN(len(ncnnLayers))]
			in := []string{last}
			if kind == "BinaryOp" || kind == "Eltwise" || kind == "Concat" {
				in = append(in, "x")
			}
			line := fmt.Sprintf("%s l%d %d 1 %s %s", kind, i, len(in), strings.Join(in, " "), out)
			for range a.IntN(5) {
				line += fmt.Sprintf(" %d=%d", a.IntN(20), a.small())
			}
			if a.IntN(4) == 0 {
				line += fmt.Sprintf(" %d=2,%d,%d", -23300-a.IntN(12), a.small(), a.small())
			}
			lines = append(lines, line)
			raw(a.IntN(3) * 3)
		}
		last, blobs = out, blobs+1
	}
	return []byte(fmt.Sprintf("7767517\n%d %d\n%s\n", len(lines), blobs, strings.Join(lines, "\n"))), bin
}
