package model

import "fmt"

// Op is the kind of a graph node. The set is closed: every executor switches
// over it and refuses what it does not know.
type Op uint8

const (
	// OpInput is the network's input. C is its channel count.
	OpInput Op = iota
	// OpConv is a k×k convolution, stride 1, with bias; the input is padded by
	// k/2 on every side by reflection that does not repeat the edge sample.
	OpConv
	// OpLeakyReLU is x for x ≥ 0 and Slope·x otherwise.
	OpLeakyReLU
	// OpMaxPool is a 2×2 maximum with stride 2; an odd last row or column is dropped.
	OpMaxPool
	// OpUpsample is bilinear enlargement by two in each direction.
	OpUpsample
	// OpConcat joins its inputs along the channels, in order.
	OpConcat
	// OpAdd is the elementwise sum of two inputs of one shape.
	OpAdd
	// OpPixelShuffle moves channel 4c+2i+j at (y,x) to channel c at (2y+i, 2x+j).
	OpPixelShuffle
	// OpSigmoid is 1/(1+e^-x).
	OpSigmoid
	// OpInstanceNorm normalises each channel by its mean and biased variance over
	// the whole plane, then applies an affine weight and bias.
	OpInstanceNorm
)

var opNames = [...]string{"input", "conv", "leaky_relu", "max_pool", "upsample", "concat", "add", "pixel_shuffle", "sigmoid", "instance_norm"}

func (op Op) String() string {
	if int(op) < len(opNames) {
		return opNames[op]
	}
	return fmt.Sprintf("op(%d)", uint8(op))
}

// Node is one operation and the value it makes. Fields that an Op does not use are zero.
type Node struct {
	Name string // unique in the graph; names the value in dumps and reports
	Op   Op
	In   []int // indices of the nodes whose values it reads; all smaller than its own

	C            int     // OpInput, OpConv: channels of the value made
	K            int     // OpConv: side of the kernel, odd
	Slope        float32 // OpLeakyReLU
	AlignCorners bool    // OpUpsample: source coordinate y·(h-1)/(2h-1) instead of (y+0.5)/2-0.5
	Eps          float32 // OpInstanceNorm

	Weight, Bias string // OpConv, OpInstanceNorm: names of the parameter tensors
}

// Graph is a network as data: nodes in an order in which they can be run.
// Node 0 is the input; Out is the node whose value is the result.
type Graph struct {
	Nodes []Node
	Out   int
}

// Shape is the size of one value: channels, rows, columns.
type Shape struct{ C, H, W int }

func (s Shape) String() string { return fmt.Sprintf("%d×%d×%d", s.C, s.H, s.W) }

// Elems is the number of samples of the value.
func (s Shape) Elems() int64 { return int64(s.C) * int64(s.H) * int64(s.W) }
