package onnximport

import (
	"math"

	"enhance/model"
)

// function is how the model names a function of one sample: its attributes alpha and beta, and their values
// where they are left out.
type function struct {
	fn          model.Func
	alpha, beta string
	a, b        float32
}

// FuncNone stands for the two functions that are operations of their own.
var functions = map[string]function{
	"Relu": {}, "LeakyRelu": {alpha: "alpha", a: 0.01}, "Sigmoid": {},
	"HardSigmoid": {fn: model.FuncHardSigmoid, alpha: "alpha", a: 0.2, beta: "beta", b: 0.5},
	"HardSwish":   {fn: model.FuncHardSwish}, "Tanh": {fn: model.FuncTanh}, "Swish": {fn: model.FuncSiLU, alpha: "alpha", a: 1},
	"Elu":  {fn: model.FuncELU, alpha: "alpha", a: 1},
	"Selu": {fn: model.FuncSELU, alpha: "alpha", a: 1.67326319217681884765625, beta: "gamma", b: 1.05070102214813232421875},
	"Celu": {fn: model.FuncCELU, alpha: "alpha", a: 1}, "ThresholdedRelu": {fn: model.FuncThresholded, alpha: "alpha", a: 1},
	"Softplus": {fn: model.FuncSoftplus}, "Softsign": {fn: model.FuncSoftsign}, "Mish": {fn: model.FuncMish}, "Exp": {fn: model.FuncExp},
	"Log": {fn: model.FuncLog}, "Sqrt": {fn: model.FuncSqrt}, "Reciprocal": {fn: model.FuncReciprocal}, "Abs": {fn: model.FuncAbs},
	"Neg": {fn: model.FuncNeg}, "Erf": {fn: model.FuncErf}, "Floor": {fn: model.FuncFloor}, "Ceil": {fn: model.FuncCeil},
	"Round": {fn: model.FuncRound}, "Sign": {fn: model.FuncSign}, "Sin": {fn: model.FuncSin}, "Cos": {fn: model.FuncCos},
}

// function imports an operation that works sample by sample.
func (c *call) function() error {
	f := functions[c.n.Op]
	a, b := f.a, f.b
	if f.alpha != "" {
		a = c.float(f.alpha, f.a)
	}
	if f.beta != "" {
		b = c.float(f.beta, f.b)
	}
	switch c.n.Op {
	case "Relu", "LeakyRelu":
		return c.unary(model.Node{Op: model.OpLeakyReLU, Slope: a})
	case "Sigmoid":
		return c.unary(model.Node{Op: model.OpSigmoid})
	case "Neg":
		return c.scaled(-1, 0)
	}
	return c.unary(model.Node{Op: model.OpMap, Func: f.fn, Alpha: a, Beta: b})
}

// scaled is x·mul + add with numbers.
func (c *call) scaled(mul, add float32) error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	n := c.shapeOf(v).C
	return c.result(c.affine(v, repeat(mul, n), repeat(add, n)))
}

func (c *call) gelu() error {
	switch a := c.string("approximate", "none"); a {
	case "none":
		return c.unary(model.Node{Op: model.OpMap, Func: model.FuncGELU})
	case "tanh":
		return c.unary(model.Node{Op: model.OpMap, Func: model.FuncGELUTanh})
	default:
		return refuse("its attribute approximate is %q", a)
	}
}

func (c *call) clip() error {
	bounds := [2]float32{float32(math.Inf(-1)), float32(math.Inf(1))}
	if c.opset < 11 {
		bounds[0], bounds[1] = c.float("min", bounds[0]), c.float("max", bounds[1])
	}
	for i := range bounds {
		k, err := c.constant(i + 1)
		if err != nil {
			return err
		}
		if k == nil {
			continue
		}
		s, ok := k.scalar()
		if !ok {
			return refuse("its input %q is no number", c.n.In[i+1])
		}
		bounds[i] = s
	}
	return c.unary(model.Node{Op: model.OpMap, Func: model.FuncClip, Alpha: bounds[0], Beta: bounds[1]})
}

func (c *call) prelu() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	if w := c.arg(1); w != nil && w.con == nil {
		return c.slopedBy(v, w)
	}
	k, err := c.weight(1, -1)
	if err != nil {
		return err
	}
	if k == nil {
		return refuse("its slope is missing")
	}
	if s, ok := k.scalar(); ok {
		return c.unary(model.Node{Op: model.OpLeakyReLU, Slope: s})
	}
	if c.opset < 7 && len(k.Dims) == 1 && len(v.dims) > 2 && v.mixed == nil && v.axes == standard(len(v.dims)) { // along the channels, as the others in old files
		k = &constant{Dims: append([]int64{k.Dims[0]}, repeatInt(1, len(v.dims)-2)...), Real: true, Floats: k.Floats}
	}
	v, slopes, err := c.channelValues(k, v)
	if err != nil {
		return err
	}
	name := c.name("")
	return c.result(c.emitOn(model.Node{Name: name, Op: model.OpPReLU, Weight: c.param(name, "weight", slopes, len(slopes))}, v))
}

// slopedBy is max(v, 0) + w·min(v, 0), where the slopes w depend on the picture.
func (c *call) slopedBy(v, w *value) error {
	inf := float32(math.Inf(1))
	above, err := c.emitOn(model.Node{Op: model.OpMap, Func: model.FuncClip, Beta: inf}, v)
	if err != nil {
		return err
	}
	below, err := c.emitOn(model.Node{Op: model.OpMap, Func: model.FuncClip, Alpha: -inf}, v)
	if err != nil {
		return err
	}
	if below, err = c.twoBy(model.BinaryMul, below, w); err != nil {
		return err
	}
	return c.result(c.twoBy(model.BinaryAdd, above, below))
}

// affine is v·mul[c] + add[c]. It goes into the weights of a convolution, a norm, or another such step, whose value
// nothing else reads.
func (c *call) affine(v *value, mul, add []float32) (*value, error) {
	if c.foldAffine(v, mul, add) {
		return v, nil
	}
	if n := c.scaledProduct(v.node, mul, add); n != nil {
		return c.emit(*n, "", v)
	}
	name := c.name("")
	return c.emit(model.Node{Name: name, Op: model.OpAffine, In: []int{v.node},
		Weight: c.param(name, "weight", mul, len(mul)), Bias: c.param(name, "bias", add, len(add))}, "", v)
}

func (c *call) foldAffine(v *value, mul, add []float32) bool {
	n := c.grow.Node(v.node)
	switch n.Op {
	case model.OpConv, model.OpAffine, model.OpInstanceNorm, model.OpLayerNorm, model.OpGroupNorm:
	default:
		return false
	}
	if !v.sole {
		return false
	}
	w, b := c.params[n.Weight], c.params[n.Bias]
	each := len(w.Data) / len(mul)
	weight, bias := make([]float32, len(w.Data)), make([]float32, len(b.Data))
	for i, x := range w.Data {
		weight[i] = float32(float64(x) * float64(mul[i/each]))
	}
	for i, x := range b.Data {
		bias[i] = float32(float64(x)*float64(mul[i]) + float64(add[i]))
	}
	w.Data, b.Data = weight, bias
	return true
}
