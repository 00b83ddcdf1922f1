package onnximport

import (
	"math"
	"slices"

	"enhance/model"
	"enhance/model/onnx"
)

// This file imports convolutions and products of matrices of integers: QLinearConv, ConvInteger, QLinearMatMul
// and MatMulInteger.

// integers are the weights at input at, less their zero point, which is input zeroAt.
func (c *call) integers(at, zeroAt, outputs, axis int) (*constant, error) {
	k, err := c.constant(at)
	if err != nil {
		return nil, err
	}
	if k == nil || k.Real {
		return nil, refuse("its weight is not of integers")
	}
	z, err := c.constant(zeroAt)
	if err != nil {
		return nil, err
	}
	out := &constant{Dims: k.Dims, Real: true, Floats: make([]float32, len(k.Ints))}
	inner := product(k.Dims[axis+1:])
	for i, q := range k.Ints {
		switch {
		case z == nil:
		case z.Real || z.Len() != 1 && z.Len() != outputs:
			return nil, refuse("%d zero points for %d outputs", z.Len(), outputs)
		case z.Len() == 1:
			q -= z.Ints[0]
		default:
			q -= z.Ints[i/inner%outputs]
		}
		if q < -255 || q > 255 {
			return nil, refuse("its weight %q is not of 8 bits", c.n.In[at])
		}
		out.Floats[i] = float32(q)
	}
	return out, nil
}

// codable reports whether a convolution of that window and these integers runs on codes.
func codable(w model.Window, groups, channels int, weight []float32) bool {
	half := w.KH / 2
	plain := model.Window{KH: w.KH, KW: w.KH, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1, Top: half, Left: half, Bottom: half, Right: half}
	return w == plain && w.KH%2 == 1 && w.KH <= 9 && groups == 1 && w.KH*w.KH*channels <= math.MaxInt32/(255*128) &&
		!slices.ContainsFunc(weight, func(q float32) bool { return q < -128 || q > 127 })
}

// codeConv emits the convolution of codes by integers of 8 bits.
func (c *call) codeConv(codes *value, weight, factors, bias []float32, k int, suffix string) (*value, error) {
	name, o := c.name(suffix), len(bias)
	return c.emit(model.Node{Name: name, Op: model.OpQuantConv, In: []int{codes.node}, C: o, K: k, Pad: model.PadZero,
		Weight: c.param(name, "weight", weight, o, c.shapeOf(codes).C, k, k), Scales: c.param(name, "scales", factors,
			o), Bias: c.param(name, "bias", bias, o)}, "", codes)
}

// integerConv emits the convolution of the plane v of integers, whose zero is input zeroAt, by integers;
// factors and bias follow.
func (c *call) integerConv(v *value, zeroAt int, weight, factors, bias []float32, w model.Window, groups int, suffix string) (*value, error) {
	if z := c.arg(zeroAt); z != nil && z.con == nil { // quantised by its own range
		v, err := c.emit(model.Node{Op: model.OpBinary, Binary: model.BinarySub, In: []int{v.node, z.node}}, ".distances", v)
		if err != nil {
			return nil, err
		}
		return c.scaledConv(v, weight, factors, bias, w, groups, suffix)
	}
	zero, signed, err := c.zeroPoint(zeroAt)
	if err != nil {
		return nil, err
	}
	if codable(w, groups, c.shapeOf(v).C, weight) {
		codes, err := c.codes(v, zero, signed)
		if err != nil {
			return nil, err
		}
		return c.codeConv(codes, weight, factors, bias, w.KH, suffix)
	}
	if v, err = c.distances(v, zero); err != nil {
		return nil, err
	}
	return c.scaledConv(v, weight, factors, bias, w, groups, suffix)
}

// scaledConv is a convolution of samples, then its factors and bias.
func (c *call) scaledConv(v *value, weight, factors, bias []float32, w model.Window, groups int, suffix string) (*value, error) {
	u := *v
	u.sole = false
	out, err := c.convolution(&u, weight, make([]float32, len(bias)), w, groups, suffix)
	if err != nil || !slices.ContainsFunc(factors, func(f float32) bool { return f != 1 }) && !slices.ContainsFunc(bias, func(b float32) bool { return b != 0 }) {
		return out, err
	}
	return c.affine(out, factors, bias)
}

// integerKernel reads a convolution's integers and window: weights are input at, their zero zeroAt.
func (c *call) integerKernel(v *value, at, zeroAt int) (weight []float32, outputs int, w model.Window, groups int, err error) {
	shape, err := c.constant(at)
	if err != nil {
		return
	}
	if shape == nil || len(shape.Dims) != len(v.dims) || len(v.dims) < 3 {
		err = refuse("its weight has not as many dimensions as %v", v.dims)
		return
	}
	outputs = int(shape.Dims[0])
	k, err := c.integers(at, zeroAt, outputs, 0)
	if err != nil {
		return
	}
	kh := int64(1)
	if len(k.Dims) == 4 {
		kh = k.Dims[2]
	}
	if w, err = c.window(v, kh, k.Dims[len(k.Dims)-1]); err != nil {
		return
	}
	g := c.int("group", 1)
	if s := c.shapeOf(v); g < 1 || g > 1<<20 || k.Dims[1]*g != int64(s.C) {
		err = refuse("its weight reads %d channels in each of %d groups, its input has %d", k.Dims[1], g, s.C)
	}
	return k.Floats, outputs, w, int(g), err
}

func (c *call) convInteger() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	weight, o, w, groups, err := c.integerKernel(v, 1, 3)
	if err != nil {
		return err
	}
	return c.result(c.integerConv(v, 2, weight, repeat(1, o), make([]float32, o), w, groups, ""))
}

// factors are the steps of input and weights multiplied, for each output.
func factors(step float32, weights []float32, outputs int) ([]float32, error) {
	if len(weights) != 1 && len(weights) != outputs {
		return nil, refuse("%d scales of weights for %d outputs", len(weights), outputs)
	}
	out := make([]float32, outputs)
	for i := range out {
		out[i] = step * weights[i%len(weights)]
	}
	return out, nil
}

// qlinear reads the scales and zeros of an operation on codes, of its input from input 1, of its weights from 4
// and of its result from 6 on, and what a sum becomes.
func (c *call) qlinear(outputs int) (by []float32, result quantParams, err error) {
	in, err := c.quantParams(1, onnx.Uint8)
	if err != nil {
		return
	}
	weights, err := c.quantParams(4, onnx.Int8)
	if err != nil {
		return
	}
	if result, err = c.quantParams(6, onnx.Uint8); err != nil {
		return
	}
	if len(in.steps) != 1 || len(result.steps) != 1 {
		err = refuse("its input and its result need one scale each")
		return
	}
	by, err = factors(in.steps[0], weights.steps, outputs)
	return
}

func (c *call) qlinearConv() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	weight, o, w, groups, err := c.integerKernel(v, 3, 5)
	if err != nil {
		return err
	}
	by, result, err := c.qlinear(o)
	if err != nil {
		return err
	}
	bias := make([]float32, o)
	if b, err := c.constant(8); err != nil {
		return err
	} else if b != nil {
		if b.Real || b.Len() != o {
			return refuse("its bias is not %d integers", o)
		}
		for i, q := range b.Ints {
			bias[i] = float32(float64(q) * float64(by[i]))
		}
	}
	if v, err = c.integerConv(v, 2, weight, by, bias, w, groups, ".sums"); err != nil {
		return err
	}
	return c.result(c.quantized(v, &result))
}

// integerMatrix is a product of rows of integers and a constant matrix, input at with its zero at zeroAt; factors follow.
func (c *call) integerMatrix(v *value, leftZero, at, zeroAt int, by func(outputs int) ([]float32, error), suffix string) (*value, error) {
	b, err := c.constant(at)
	if err != nil {
		return nil, err
	}
	last := len(v.dims) - 1
	if b == nil || len(b.Dims) != 2 || v.mixed != nil || last < 0 || v.axes[axisC] != last || int64(c.shapeOf(v).C) != b.Dims[0] {
		return nil, refuse("only the product of rows, whose samples are channels, and a constant matrix is run")
	}
	inputs, outputs := int(b.Dims[0]), int(b.Dims[1])
	m, err := c.integers(at, zeroAt, outputs, 1)
	if err != nil {
		return nil, err
	}
	f, err := by(outputs)
	if err != nil {
		return nil, err
	}
	one := model.Window{KH: 1, KW: 1, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1}
	return c.integerConv(v, leftZero, turned(m.Floats, inputs, outputs), f, make([]float32, outputs), one, 1, suffix)
}

func (c *call) matMulInteger() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	return c.result(c.integerMatrix(v, 2, 1, 3, func(n int) ([]float32, error) { return repeat(1, n), nil }, ""))
}

func (c *call) qlinearMatMul() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	var result quantParams
	v, err = c.integerMatrix(v, 2, 3, 5, func(n int) (by []float32, err error) {
		by, result, err = c.qlinear(n)
		return by, err
	}, ".sums")
	if err != nil {
		return err
	}
	return c.result(c.quantized(v, &result))
}
