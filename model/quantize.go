package model

import (
	"fmt"
	"math"
	"slices"
)

// This file defines 8-bit codes. A sample x has the code
//
//	clamp(rint(x·Inverse) + Zero, least, greatest)
//
// where Inverse is 1/Step rounded to float32, the product is rounded to float32, rint takes halves to the
// even integer, and NaN has the least code. Codes are 0..255, or -128..127 if they are signed. (ONNX divides by the
// step: the codes are the same but where x/Step is within rounding of a half.)
//
// A convolution of codes sums exactly, in 32 bits: sums of integers have no order, so that its result
// is the same on every device. The sum s becomes fma(float32(s), Scales[c], Bias[c]), rounded once.

// maxQuantKernel bounds the side of a kernel over codes: no network has larger ones, and rims of rows on devices reach no
// further.
const maxQuantKernel = 9

// maxQuantTerms bounds the products of one sum: each is at most 255·128.
const maxQuantTerms = math.MaxInt32 / (255 * 128)

// Steps of codes are between these, so that neither they nor their inverses are subnormal.
const minStep, maxStep = 1e-30, 1e30

// Convolves reports whether an operation is a convolution, whose weight is OIHW.
func (op Op) Convolves() bool { return op == OpConv || op == OpQuantConv }

// HasCodes reports whether a graph has a convolution of codes.
func (g *Graph) HasCodes() bool {
	return slices.ContainsFunc(g.Nodes, func(n Node) bool { return n.Op == OpQuantConv })
}

// Codes is the range of the codes that an OpQuantize makes.
func (n *Node) Codes() (least, greatest int) {
	if n.Signed {
		return -128, 127
	}
	return 0, 255
}

// Inverse is what an OpQuantize multiplies by.
func (n *Node) Inverse() float32 { return 1 / n.Step }

// Code is the code of a sample.
func (n *Node) Code(x float32) float32 {
	least, greatest := n.Codes()
	q := float32(math.RoundToEven(float64(x*n.Inverse()))) + float32(n.Zero)
	if !(q >= float32(least)) { // NaN too
		return float32(least)
	}
	return min(q, float32(greatest))
}

// FMA is a·b + c rounded to float32 once, as OpenCL's fma.
func FMA(a, b, c float32) float32 {
	product := float64(a) * float64(b) // exact: 48 bits
	sum := product + float64(c)
	// The rounding error of the sum (Knuth). If there is one, the last bit of the sum is made odd, from
	// which a second rounding is as one rounding of the exact value (Boldo and Melquiond, "Emulation of FMA and
	// correctly rounded sums", 2008).
	part := sum - product
	lost := (product - (sum - part)) + (float64(c) - part)
	if bits := math.Float64bits(sum); lost != 0 && bits&1 == 0 && !math.IsInf(sum, 0) && sum == sum {
		if (lost > 0) == (sum > 0) {
			bits++
		} else {
			bits--
		}
		sum = math.Float64frombits(bits)
	}
	return float32(sum)
}

func (n *Node) checkQuantize(used *Node) error {
	used.Step, used.Zero, used.Signed = n.Step, n.Zero, n.Signed
	if n.Op == OpDequantize {
		used.Signed = false
	}
	if n.Step < minStep || n.Step > maxStep {
		return fmt.Errorf("codes a step of %g apart: want %g to %g", n.Step, float32(minStep), float32(maxStep))
	}
	least, greatest := n.Codes()
	if n.Op == OpDequantize {
		least = -128
	}
	if n.Zero < least || n.Zero > greatest {
		return fmt.Errorf("%d as the code of zero: want %d..%d", n.Zero, least, greatest)
	}
	return nil
}

func (n *Node) checkQuantConv(used *Node) error {
	used.C, used.K, used.Pad, used.Weight, used.Bias, used.Scales = n.C, n.K, n.Pad, n.Weight, n.Bias, n.Scales
	if err := within(n.C, maxChannels, "channels"); err != nil {
		return err
	}
	if n.Pad > PadEdge {
		return fmt.Errorf("unknown padding %d of a convolution", n.Pad)
	}
	if n.K < 1 || n.K > maxQuantKernel || n.K%2 == 0 {
		return fmt.Errorf("kernel of %dx%d: want an odd side of 1..%d", n.K, n.K, maxQuantKernel)
	}
	if n.Scales == "" || n.Scales == n.Weight || n.Scales == n.Bias {
		return fmt.Errorf("scales %q: want a name of their own", n.Scales)
	}
	return n.checkParams()
}

// readsCodes checks that n's input is made of codes.
func (g *Graph) readsCodes(n *Node) error {
	if in := &g.Nodes[n.In[0]]; in.Op != OpQuantize {
		return fmt.Errorf("%q (%s) makes no codes", in.Name, in.Op)
	}
	return nil
}

// checkCodes checks that the weights of a graph's convolutions of codes are integers of 8 bits.
func checkCodes(g *Graph, params map[string]*Tensor) error {
	for i := range g.Nodes {
		if n := &g.Nodes[i]; n.Op == OpQuantConv {
			for at, v := range params[n.Weight].Data {
				if v < -128 || v > 127 || v != float32(int(v)) {
					return fmt.Errorf("tensor %q holds %v at index %d: want integers of -128..127", n.Weight, v, at)
				}
			}
		}
	}
	return nil
}
