package onnximport

import (
	"cmp"
	"math"
	"slices"

	"enhance/model"
	"enhance/model/onnx"
)

// This file imports quantised networks: QuantizeLinear and DequantizeLinear around convolutions ("QDQ"), and
// the operations on integers themselves ("QLinear"). A convolution runs on codes of 8 bits (model.OpQuantConv)
// where it is square, of stride 1 and without groups and its weights are integers of 8 bits. Any other runs on
// samples, with the same integers: exactly, as long as sums stay below 2^24.

// quantised are the integers that a constant of fractions was made of: (Codes - 0)·Steps, with one step, or one
// for each index of the first dimension.
type quantised struct {
	Codes []int64
	Steps []float32
}

// quantParams are the step and the zero of codes.
type quantParams struct {
	steps []float32
	zeros []int64
	typ   onnx.Type // of the codes
}

// codeRange is the range of the codes of a type.
var codeRange = map[onnx.Type][2]float32{onnx.Uint8: {0, 255}, onnx.Int8: {-128, 127}, onnx.Uint16: {0, 65535}, onnx.Int16: {-32768, 32767}}

// quantParams reads inputs at and at+1: steps, and zeros if they are given. absent is the type of codes without zeros.
func (c *call) quantParams(at int, absent onnx.Type) (quantParams, error) {
	p := quantParams{typ: absent}
	scale, err := c.constant(at)
	if err != nil {
		return p, err
	}
	if scale == nil || !scale.Real || scale.Len() == 0 {
		return p, refuse("its scale is missing")
	}
	p.steps, p.zeros = scale.Floats, make([]int64, scale.Len())
	zero, err := c.constant(at + 1)
	if err != nil {
		return p, err
	}
	if zero != nil {
		if zero.Real || zero.Len() != scale.Len() {
			return p, refuse("%d zero points for %d scales", zero.Len(), scale.Len())
		}
		p.zeros, p.typ = zero.Ints, zero.Type
	}
	for i, s := range p.steps {
		if !(s > 0) || math.IsInf(float64(s), 0) {
			return p, refuse("scale %d is %g: want more than 0", i, s)
		}
	}
	return p, nil
}

// zeroPoint reads input at, which is one zero point of 8 bits; 0 if it is left out.
func (c *call) zeroPoint(at int) (zero int64, signed bool, err error) {
	z, err := c.constant(at)
	switch {
	case err != nil || z == nil:
		return 0, false, err
	case z.Real || z.Len() != 1:
		return 0, false, refuse("its zero point %q is not one integer", c.n.In[at])
	}
	return z.Ints[0], z.Type == onnx.Int8, nil
}

// single is the quantiser of one step for all, of 8 bits; false if it is of another kind.
func (p *quantParams) single(op model.Op) (model.Node, bool) {
	n := model.Node{Op: op, Step: p.steps[0], Zero: int(p.zeros[0]), Signed: p.typ == onnx.Int8 && op == model.OpQuantize}
	return n, len(p.steps) == 1 && (p.typ == onnx.Uint8 || p.typ == onnx.Int8) && n.Step >= 1e-30 && n.Step <= 1e30
}

// perChannel gives steps and zeros of every channel of v.
func (c *call) quantPerChannel(p *quantParams, v *value) (steps, zeros []float32, err error) {
	channels := c.shapeOf(v).C
	if len(p.steps) == 1 {
		return repeat(p.steps[0], channels), repeat(float32(p.zeros[0]), channels), nil
	}
	a, err := axis(c.int("axis", 1), len(v.dims))
	if err != nil {
		return nil, nil, err
	}
	if v.mixed != nil || a != v.axes[axisC] || len(p.steps) != channels {
		return nil, nil, refuse("%d scales along dimension %d of %v: want one, or one for each channel", len(p.steps), a, v.dims)
	}
	for _, z := range p.zeros {
		zeros = append(zeros, float32(z))
	}
	return p.steps, zeros, nil
}

func (c *call) noBlocks() error {
	c.int("axis", 1)
	c.int("saturate", 1)
	c.int("precision", 0)
	if c.int("block_size", 0) != 0 {
		return refuse("scales of blocks are not known")
	}
	return nil
}

func (c *call) quantizeLinear() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	absent := onnx.Type(c.int("output_dtype", int64(onnx.Uint8)))
	if absent == 0 {
		absent = onnx.Uint8
	}
	if s := c.arg(1); s != nil && s.con == nil {
		return c.result(c.quantizedBy(v, s, absent))
	}
	p, err := c.quantParams(1, absent)
	if err == nil {
		err = c.noBlocks()
	}
	if err != nil {
		return err
	}
	return c.result(c.quantized(v, &p))
}

// quantized emits the codes of v.
func (c *call) quantized(v *value, p *quantParams) (*value, error) {
	if n, ok := p.single(model.OpQuantize); ok {
		n.In = []int{v.node}
		return c.emit(n, ".codes", v)
	}
	bounds, ok := codeRange[p.typ]
	if !ok {
		return nil, refuse("codes of %v are not known", p.typ)
	}
	steps, zeros, err := c.quantPerChannel(p, v)
	if err != nil {
		return nil, err
	}
	name := c.name(".steps")
	v, err = c.emit(model.Node{Name: name, Op: model.OpBinary, Binary: model.BinaryDiv, In: []int{v.node}, Weight: c.param(name, "weight", steps, len(steps))}, "", v)
	if err == nil {
		v, err = c.emit(model.Node{Op: model.OpMap, Func: model.FuncRound, In: []int{v.node}}, ".rounded", v)
	}
	if err == nil {
		v, err = c.affine(v, repeat(1, len(zeros)), zeros)
	}
	if err == nil {
		v, err = c.emit(model.Node{Op: model.OpMap, Func: model.FuncClip, Alpha: bounds[0], Beta: bounds[1], In: []int{v.node}}, ".codes", v)
	}
	return v, err
}

// quantizedBy emits the codes of v by a step that depends on the picture, as a zero may.
func (c *call) quantizedBy(v, step *value, typ onnx.Type) (*value, error) {
	if err := c.noBlocks(); err != nil {
		return nil, err
	}
	zero := c.arg(2)
	if c.shapeOf(step).Elems() != 1 || zero != nil && (zero.con != nil || c.shapeOf(zero).Elems() != 1) {
		return nil, refuse("a scale that depends on the picture is run if it is one number, with one zero point that depends on it too")
	}
	out, err := c.emit(model.Node{Op: model.OpBinary, Binary: model.BinaryDiv, In: []int{v.node, step.node}}, ".steps", v)
	if err == nil {
		out, err = c.emit(model.Node{Op: model.OpMap, Func: model.FuncRound, In: []int{out.node}}, ".rounded", out)
	}
	if err == nil && zero != nil {
		out, err = c.emit(model.Node{Op: model.OpBinary, Binary: model.BinaryAdd, In: []int{out.node, zero.node}}, ".moved", out)
	}
	bounds, ok := codeRange[typ]
	if err == nil && !ok {
		err = refuse("codes of %v are not known", typ)
	}
	if err != nil {
		return nil, err
	}
	return c.emit(model.Node{Op: model.OpMap, Func: model.FuncClip, Alpha: bounds[0], Beta: bounds[1], In: []int{out.node}}, ".codes", out)
}

func (c *call) dequantizeLinear() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	p, err := c.quantParams(1, onnx.Uint8)
	if err == nil {
		err = c.noBlocks()
	}
	if err != nil {
		return err
	}
	if n, ok := p.single(model.OpDequantize); ok && c.grow.Node(v.node).Op == model.OpQuantize {
		n.In = []int{v.node}
		return c.result(c.emit(n, ".samples", v))
	}
	steps, zeros, err := c.quantPerChannel(&p, v)
	if err != nil {
		return err
	}
	return c.result(c.affine(v, steps, products(steps, zeros, -1)))
}

// products is by·a[i]·b[i].
func products(a, b []float32, by float32) []float32 {
	out := make([]float32, len(a))
	for i := range a {
		out[i] = by * a[i] * b[i]
	}
	return out
}

// codes gives the OpQuantize whose codes are the integers of plane v and whose zero is as said.
func (c *call) codes(v *value, zero int64, signed bool) (*value, error) {
	if n := c.grow.Node(v.node); n.Op == model.OpQuantize && n.Zero == int(zero) && n.Signed == signed {
		return v, nil
	}
	v, err := c.distances(v, zero)
	if err != nil {
		return nil, err
	}
	return c.emit(model.Node{Op: model.OpQuantize, Step: 1, Zero: int(zero), Signed: signed, In: []int{v.node}}, ".codes", v)
}

// distances is v - zero.
func (c *call) distances(v *value, zero int64) (*value, error) {
	if zero == 0 {
		return v, nil
	}
	n := c.shapeOf(v).C
	w := *v
	w.sole = false // its bytes are codes, which nothing may be folded into
	return c.affine(&w, repeat(1, n), repeat(float32(-zero), n))
}

// dynamicQuantize quantises by the range of the whole plane, which includes 0: codes, step and zero are the three results.
func (c *call) dynamicQuantize() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	var failed error
	emit := func(n model.Node, suffix string, in ...int) int {
		n.In, n.Name = in, c.name(suffix)
		i, err := c.grow.Add(n)
		if err != nil && failed == nil {
			failed = refuse("%v", err)
		}
		c.from[n.Name] = c.n.String()
		return i
	}
	inf := float32(math.Inf(1))
	bound := func(r model.Reduce, least, greatest float32, suffix string) int {
		i := emit(model.Node{Op: model.OpGlobalPool, Reduce: r}, suffix+".planes", v.node)
		i = emit(model.Node{Op: model.OpReduceChannels, Reduce: r}, suffix+".all", i)
		return emit(model.Node{Op: model.OpMap, Func: model.FuncClip, Alpha: least, Beta: greatest}, suffix, i)
	}
	constant := func(op model.Binary, with float32, suffix string, in int) int {
		return emit(model.Node{Op: model.OpBinary, Binary: op, Weight: c.param(c.name(suffix), "weight", []float32{with}, 1)}, suffix, in)
	}
	rounded := func(suffix string, in int) int {
		return emit(model.Node{Op: model.OpMap, Func: model.FuncRound}, suffix, in)
	}
	clipped := func(suffix string, in int) int {
		return emit(model.Node{Op: model.OpMap, Func: model.FuncClip, Beta: 255}, suffix, in)
	}
	least, greatest := bound(model.ReduceMin, -inf, 0, ".least"), bound(model.ReduceMax, 0, inf, ".greatest")
	step := constant(model.BinaryDiv, 255, ".step", emit(model.Node{Op: model.OpBinary, Binary: model.BinarySub}, ".range", greatest, least))
	zero := emit(model.Node{Op: model.OpBinary, Binary: model.BinaryDiv}, ".steps", least, step)
	zero = rounded(".zero", clipped(".clipped", constant(model.BinaryMul, -1, ".negated", zero)))
	codes := rounded(".rounded", emit(model.Node{Op: model.OpBinary, Binary: model.BinaryDiv}, ".scaled", v.node, step))
	codes = clipped(".codes", emit(model.Node{Op: model.OpBinary, Binary: model.BinaryAdd}, ".moved", codes, zero))
	if failed != nil {
		return failed
	}
	point := func(node int) *value { return &value{node: node, dims: []int64{}, axes: [3]int{-1, -1, -1}} }
	return cmp.Or(c.set(0, &value{node: codes, dims: v.dims, axes: v.axes, mixed: v.mixed}), c.set(1, point(step)), c.set(2, point(zero)))
}

// integral reports whether a node's samples are known to be integers; what would be found deeper than depth
// nodes before it is not known.
func (c *call) integral(node, depth int) bool {
	n := c.grow.Node(node)
	whole := func(v float32) bool { return v == float32(math.Trunc(float64(v))) }
	before := func() bool {
		return depth > 0 && !slices.ContainsFunc(n.In, func(in int) bool { return !c.integral(in, depth-1) })
	}
	switch n.Op {
	case model.OpQuantize:
		return true
	case model.OpMap:
		switch n.Func {
		case model.FuncRound, model.FuncFloor, model.FuncCeil:
			return true
		case model.FuncClip:
			return whole(n.Alpha) && whole(n.Beta) && before()
		}
	case model.OpAdd:
		return before()
	case model.OpBinary:
		switch n.Binary {
		case model.BinaryAdd, model.BinarySub, model.BinaryMul:
			return len(n.In) == 2 && before()
		}
	}
	return false
}

// foldQuantize makes codes of constants.
func (c *call) foldQuantize() error {
	k, err := c.need(0)
	if err != nil || !k.Real {
		return refuse("what it takes are no fractions")
	}
	p, err := c.quantParams(1, onnx.Uint8)
	if err == nil {
		err = c.noBlocks()
	}
	if err != nil {
		return err
	}
	bounds, ok := codeRange[p.typ]
	a := 0
	if len(p.steps) > 1 {
		if a, err = axis(c.int("axis", 1), len(k.Dims)); err != nil {
			return err
		}
	}
	if !ok || len(p.steps) > 1 && k.Dims[a] != int64(len(p.steps)) {
		return refuse("this form of quantisation is not known")
	}
	out, inner := &constant{Dims: k.Dims, Type: p.typ, Ints: make([]int64, len(k.Floats))}, 1
	if len(k.Dims) > 0 {
		inner = product(k.Dims[a+1:])
	}
	for i, v := range k.Floats {
		j := i / inner % len(p.steps)
		q := math.RoundToEven(float64(v/p.steps[j])) + float64(p.zeros[j])
		if q != q {
			return refuse("%v has no code", v)
		}
		out.Ints[i] = int64(min(max(q, float64(bounds[0])), float64(bounds[1])))
	}
	return c.con(out)
}
