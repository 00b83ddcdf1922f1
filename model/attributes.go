package model

import "fmt"

// This file holds the attributes of operations that imported networks bring.

// PadMode says what lies outside a plane.
type PadMode uint8

const (
	// PadReflect mirrors the plane without repeating the edge sample.
	PadReflect PadMode = iota
	// PadZero is zeros, of OpConv.
	PadZero
	// PadEdge repeats the edge sample.
	PadEdge
	// PadConstant is one value, of OpPad.
	PadConstant
)

// Window is how a kernel moves over a plane. Output (y,x) reads the samples
// (y·StrideH + i·DilationH - Top, x·StrideW + j·DilationW - Left) for i < KH, j < KW.
type Window struct {
	KH, KW                   int
	StrideH, StrideW         int
	DilationH, DilationW     int
	Top, Left, Bottom, Right int
	// Ceil is of OpPool: a last window that begins within the plane or its top and left
	// pads but reaches beyond the bottom or right pads counts, without the samples there.
	Ceil bool
}

// Out gives the sides of the value made from planes of h×w; 0 or less if they are too small.
func (w *Window) Out(h, width int) (int, int) {
	return windows(h, w.KH, w.StrideH, w.DilationH, w.Top, w.Bottom, w.Ceil),
		windows(width, w.KW, w.StrideW, w.DilationW, w.Left, w.Right, w.Ceil)
}

func windows(n, k, stride, dilation, before, after int, ceil bool) int {
	room := n + before + after - (k-1)*dilation - 1
	if room < 0 {
		return 0
	}
	out := room/stride + 1
	if ceil && room%stride != 0 && out*stride < n+before {
		out++
	}
	return out
}

// maxPads bounds the rows and columns that pads add, strides, and dilations: far above any
// network, low enough that sizes cannot overflow.
const maxPads = 1 << 16

// check checks the fields; kernel says that it has sides, strides and dilations.
func (w *Window) check(kernel bool) error {
	for _, p := range [...]int{w.Top, w.Left, w.Bottom, w.Right} {
		if p < 0 || p > maxPads {
			return fmt.Errorf("%d rows or columns at an edge: want 0..%d", p, maxPads)
		}
	}
	if !kernel {
		return nil
	}
	for _, k := range [...]int{w.KH, w.KW} {
		if k < 1 || k > maxKernel {
			return fmt.Errorf("kernel of %dx%d: want sides of 1..%d", w.KH, w.KW, maxKernel)
		}
	}
	for _, s := range [...]int{w.StrideH, w.StrideW, w.DilationH, w.DilationW} {
		if s < 1 || s > maxPads {
			return fmt.Errorf("strides %dx%d, dilations %dx%d: want 1..%d", w.StrideH, w.StrideW, w.DilationH, w.DilationW, maxPads)
		}
	}
	return nil
}

// Func is a function of one sample.
type Func uint8

const (
	FuncNone        Func = iota
	FuncClip             // min(max(x, Alpha), Beta)
	FuncTanh             // tanh x
	FuncHardSigmoid      // max(0, min(1, Alpha·x + Beta))
	FuncHardSwish        // x·max(0, min(1, x/6 + 1/2))
	FuncSiLU             // x/(1+e^(-Alpha·x))
	FuncGELU             // x·(1+erf(x/√2))/2
	FuncGELUTanh         // x·(1+tanh(√(2/π)·(x+0.044715·x³)))/2
	FuncELU              // x for x ≥ 0, Alpha·(e^x-1) otherwise
	FuncSELU             // Beta·x for x > 0, Beta·Alpha·(e^x-1) otherwise
	FuncCELU             // max(0,x) + min(0, Alpha·(e^(x/Alpha)-1))
	FuncThresholded      // x for x > Alpha, 0 otherwise
	FuncSoftplus         // ln(1+e^x)
	FuncSoftsign         // x/(1+|x|)
	FuncMish             // x·tanh(ln(1+e^x))
	FuncExp              // e^x
	FuncLog              // ln x
	FuncSqrt             // √x
	FuncReciprocal       // 1/x
	FuncAbs              // |x|
	FuncNeg              // -x
	FuncSquare           // x²
	FuncErf              // the error function
	FuncFloor            // largest integer ≤ x
	FuncCeil             // smallest integer ≥ x
	FuncRound            // nearest integer, halves to even
	FuncSign             // -1, 0 or 1
	FuncSin              // sin x
	FuncCos              // cos x
	funcs                // their number
)

// Binary is a function of two samples.
type Binary uint8

const (
	BinaryAdd  Binary = iota + 1
	BinarySub         // left - right
	BinaryMul         //
	BinaryDiv         // left / right
	BinaryPow         // left to the power of right
	BinaryMin         //
	BinaryMax         //
	BinaryMean        // (left + right)/2
	binaries          // one more than their number
)

// Reduce is how several samples become one.
type Reduce uint8

const (
	// ReduceMax is the largest; samples outside the plane do not count.
	ReduceMax Reduce = iota + 1
	// ReduceMean is the mean of those inside the plane.
	ReduceMean
	// ReduceMeanPadded is the mean where pads count as zeros: the sum divided by the
	// window's samples on the plane and its pads (of OpPool).
	ReduceMeanPadded
	// ReduceLP is (Σ|x|^Power)^(1/Power).
	ReduceLP
	// ReduceSum is the sum (of OpReduceChannels and OpGlobalPool).
	ReduceSum
	// ReduceMin is the smallest (of OpReduceChannels and OpGlobalPool).
	ReduceMin
	reduces // one more than their number
)

// ResizeMode is how a resized plane is interpolated.
type ResizeMode uint8

const (
	ResizeNearest ResizeMode = iota + 1
	ResizeLinear
	ResizeCubic
)

// Coordinates is which source coordinate output x has, for a scale s = Num/Den, a source of n
// samples and an output of m = ⌊n·s⌋.
type Coordinates uint8

const (
	CoordHalfPixel          Coordinates = iota // (x+½)/s - ½
	CoordPytorchHalfPixel                      // the same; 0 if m is 1
	CoordAlignCorners                          // x·(n-1)/(n·s-1); 0 if n·s is 1
	CoordAsymmetric                            // x/s
	CoordHalfPixelSymmetric                    // n/2·(1-m/(n·s)) + (x+½)/s - ½
	CoordCrop                                  // Resize.Crop of the source, whose corners are the output's
	coordinates
)

// Rounding is which sample of the source is the nearest one.
type Rounding uint8

const (
	RoundPreferFloor Rounding = iota // halves down
	RoundPreferCeil                  // halves up
	RoundFloor
	RoundCeil
	roundings
)

// Resize is what OpResize does: ONNX's Resize for the rows and columns.
type Resize struct {
	Mode           ResizeMode
	Coordinates    Coordinates
	Rounding       Rounding // ResizeNearest
	CubicA         float32  // ResizeCubic
	ExcludeOutside bool     // ResizeCubic: taps outside the plane weigh nothing; otherwise they read the edge
	Antialias      bool     // the weights of ResizeLinear and ResizeCubic are stretched where the plane becomes smaller
	// CoordCrop: first and last row, and first and last column, as fractions of the source's, and what outputs have
	// that lie beyond it.
	Crop    [4]float32
	Outside float32
	// The output's sides divided by the input's.
	NumH, DenH, NumW, DenW int
	Round                  bool // sides are rounded, halves up; otherwise down
}

// sides are the output's for a source of h rows and w columns.
func (r *Resize) sides(h, w int) (int, int) {
	if r.Round {
		return (2*h*r.NumH + r.DenH) / (2 * r.DenH), (2*w*r.NumW + r.DenW) / (2 * r.DenW)
	}
	return h * r.NumH / r.DenH, w * r.NumW / r.DenW
}

// maxRatio bounds the terms of a ratio of sides.
const maxRatio = 1 << 20

func (r *Resize) check() error {
	if r.Mode < ResizeNearest || r.Mode > ResizeCubic || r.Coordinates >= coordinates || r.Rounding >= roundings {
		return fmt.Errorf("unknown mode of resizing")
	}
	for _, n := range [...]int{r.NumH, r.DenH, r.NumW, r.DenW} {
		if n < 1 || n > maxRatio {
			return fmt.Errorf("ratios %d/%d and %d/%d: want terms of 1..%d", r.NumH, r.DenH, r.NumW, r.DenW, maxRatio)
		}
	}
	if r.Coordinates != CoordCrop && (r.Crop != [4]float32{} || r.Outside != 0) || r.Antialias && (r.Mode == ResizeNearest || r.Coordinates == CoordCrop) {
		return fmt.Errorf("a region of interest, or antialiasing, in a mode that has none")
	}
	for _, f := range r.Crop {
		if !(f >= -maxPads && f <= maxPads) {
			return fmt.Errorf("a region of interest of %v", r.Crop)
		}
	}
	if r.Crop[0] > r.Crop[1] || r.Crop[2] > r.Crop[3] {
		return fmt.Errorf("a region of interest of %v, which ends before it begins", r.Crop)
	}
	return nil
}
