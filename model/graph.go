package model

import "fmt"

// Op is the kind of a graph node. The set is closed: every executor switches
// over it and refuses what it does not know.
type Op uint8

const (
	// OpInput is the network's input. C is its channel count.
	OpInput Op = iota
	// OpConv is a convolution with bias. With K it is k×k of stride 1, and its input
	// is padded by k/2 on every side as Pad says. With Window and Groups instead, it
	// is what those say: any sides, strides, dilations, pads and groups.
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

	// OpMap applies Func, with Alpha and Beta, to every sample.
	OpMap
	// OpPReLU is x for x ≥ 0 and Weight[c]·x otherwise.
	OpPReLU
	// OpAffine is x·Weight[c] + Bias[c].
	OpAffine
	// OpBinary applies Binary to the samples of two values. A value of one channel
	// stands for every channel, one of one row for every row, one of one column for every
	// column. With one input the other operand is Weight[c], the left one if Swapped.
	OpBinary
	// OpSlice is channels [First, First+C) of its input.
	OpSlice
	// OpCrop leaves out Window's Top, Left, Bottom and Right rows and columns, then
	// keeps every StrideH-th row and StrideW-th column, beginning with the first.
	OpCrop
	// OpPad adds Window's Top, Left, Bottom and Right rows and columns as Pad says;
	// PadConstant fills them with Alpha.
	OpPad
	// OpDepthToSpace moves channels to places of Factor×Factor blocks: channel
	// (r·f+s)·C+c, or with CRD c·f²+r·f+s, at (y,x) to channel c at (f·y+r, f·x+s).
	OpDepthToSpace
	// OpSpaceToDepth is the inverse of OpDepthToSpace, of whole blocks only.
	OpSpaceToDepth
	// OpResize samples the plane anew as Resize says.
	OpResize
	// OpPool reduces Window at every place as Reduce says.
	OpPool
	// OpGlobalPool reduces every plane to one sample as Reduce says.
	OpGlobalPool
	// OpReduceChannels reduces the channels at every place to one as Reduce says.
	OpReduceChannels
	// OpLayerNorm normalises the channels at every place by their mean and biased
	// variance, then applies Weight[c] and Bias[c].
	OpLayerNorm
	// OpGroupNorm normalises each of Groups ranges of channels by the mean and biased
	// variance of all their samples, then applies Weight[c] and Bias[c].
	OpGroupNorm
	// OpLRN divides by (Beta + Alpha/Size·Σx²)^Power, the sum over the Size channels
	// [c-(Size-1)/2, c+Size/2] as far as there are such.
	OpLRN
	// OpSoftmax is e^x divided by the sum of that over the channels.
	OpSoftmax
	// OpQuantize makes codes of samples: integers of 8 bits. See quantize.go.
	OpQuantize
	// OpDequantize is (x - Zero)·Step of the codes that an OpQuantize made.
	OpDequantize
	// OpQuantConv is a convolution with K of the codes that an OpQuantize made, by integer
	// weights, summed exactly: Σ(x - zero)·Weight, times Scales[c], plus Bias[c].
	OpQuantConv
	// OpRearrange moves samples between channels, rows and columns as Rearrange says.
	OpRearrange
	// OpMatMul multiplies matrices, two in each row: channel j of the result at (y,x) is the
	// sum over k of channel k of the first input at (y,x) times channel j of the second at (y,k).
	OpMatMul
)

var opNames = [...]string{"input", "conv", "leaky_relu", "max_pool", "upsample", "concat", "add", "pixel_shuffle", "sigmoid", "instance_norm",
	"map", "prelu", "affine", "binary", "slice", "crop", "pad", "depth_to_space", "space_to_depth", "resize", "pool",
	"global_pool", "reduce_channels", "layer_norm", "group_norm", "lrn", "softmax", "quantize", "dequantize", "quant_conv", "rearrange", "matmul"}

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

	C            int       // OpInput, OpConv, OpQuantConv, OpSlice: channels of the value made
	K            int       // OpConv, OpQuantConv: side of the kernel, odd; 0 if Window says it
	Slope        float32   // OpLeakyReLU
	AlignCorners bool      // OpUpsample: source coordinate y·(h-1)/(2h-1) instead of (y+0.5)/2-0.5
	Eps          float32   // of norms
	Window       Window    // OpConv with K 0, OpPool; OpPad, OpCrop: its sides and strides alone
	Pad          PadMode   // OpConv, OpQuantConv, OpPad
	Groups       int       // OpConv with K 0, OpGroupNorm
	Func         Func      // OpMap
	Binary       Binary    // OpBinary
	Swapped      bool      // OpBinary with Weight
	Reduce       Reduce    // OpPool, OpGlobalPool, OpReduceChannels
	First        int       // OpSlice
	Factor       int       // OpDepthToSpace, OpSpaceToDepth
	CRD          bool      // OpDepthToSpace, OpSpaceToDepth: the channel's number is the outermost
	Resize       Resize    // OpResize
	Size         int       // OpLRN
	Alpha, Beta  float32   // OpMap, OpLRN; OpPad: the value
	Power        float32   // OpLRN; OpPool and OpGlobalPool by ReduceLP: the exponent
	Step         float32   // OpQuantize, OpDequantize: the difference of samples whose codes differ by one
	Zero         int       // OpQuantize, OpDequantize: the code of zero
	Signed       bool      // OpQuantize: codes are -128..127, not 0..255
	Rearrange    Rearrange // OpRearrange

	// Names of the parameter tensors: of OpConv, OpQuantConv, OpInstanceNorm, OpLayerNorm,
	// OpGroupNorm and OpAffine; of OpPReLU, and of OpBinary with one input, Weight alone.
	Weight, Bias string
	Scales       string // OpQuantConv: the name of one more, a factor for each output
}

// Graph is a network as data: nodes in an order in which they can be run.
// Node 0 is the input; Out is the node whose value is the result.
type Graph struct {
	Nodes []Node
	Out   int
}

// Shape is the size of one value: channels, rows, columns.
type Shape struct{ C, H, W int }

func (s Shape) String() string { return fmt.Sprintf("%dx%dx%d", s.C, s.H, s.W) }

// Elems is the number of samples of the value.
func (s Shape) Elems() int64 { return int64(s.C) * int64(s.H) * int64(s.W) }
