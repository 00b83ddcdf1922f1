package onnximport

import (
	"math"

	"enhance/model"
)

// batchNorm is an affine step with what was learnt.
func (c *call) batchNorm() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	eps := c.float("epsilon", 1e-5)
	c.float("momentum", 0)
	training := c.int("training_mode", 0) != 0 || c.opset < 7 && c.int("is_test", 0) == 0
	c.ints("consumed_inputs")
	if training || c.int("spatial", 1) != 1 {
		return refuse("it computes statistics as in training: export the network for inference")
	}
	n := c.shapeOf(v).C
	var p [4][]float32 // scale, shift, mean, variance
	for i := range p {
		if c.arg(i+1) == nil {
			return refuse("its input %d is missing", i+1)
		}
		if p[i], err = c.vector(i+1, n, 0); err != nil {
			return err
		}
	}
	mul, add := make([]float32, n), make([]float32, n)
	for i := range n {
		scale := float64(p[0][i]) / math.Sqrt(float64(p[3][i])+float64(eps))
		mul[i], add[i] = float32(scale), float32(float64(p[1][i])-float64(p[2][i])*scale)
	}
	return c.result(c.affine(v, mul, add))
}

func (c *call) instanceNorm() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	return c.norm(model.Node{Op: model.OpInstanceNorm, Eps: c.float("epsilon", 1e-5)}, v)
}

// norm emits a norm whose inputs 1 and 2 are a weight and a bias of the channels.
func (c *call) norm(n model.Node, v *value) error {
	channels := c.shapeOf(v).C
	weight, err := c.vector(1, channels, 1)
	if err != nil {
		return err
	}
	bias, err := c.vector(2, channels, 0)
	if err != nil {
		return err
	}
	n.Name, n.In = c.name(""), []int{v.node}
	n.Weight, n.Bias = c.param(n.Name, "weight", weight, channels), c.param(n.Name, "bias", bias, channels)
	return c.result(c.emit(n, "", v))
}

func (c *call) layerNorm() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	a, err := axis(c.int("axis", -1), len(v.dims))
	if err != nil {
		return err
	}
	eps := c.float("epsilon", 1e-5)
	if p := c.int("stash_type", 1); p != 1 {
		return refuse("its stash_type is %d", p)
	}
	if v, err = c.lastToChannels(v, a); err != nil {
		return err
	}
	if len(c.n.Out) > 1 && (c.uses[c.n.Out[1]] > 0 || len(c.n.Out) > 2 && c.uses[c.n.Out[2]] > 0) {
		return c.layerStatistics(v, a, eps)
	}
	return c.norm(model.Node{Op: model.OpLayerNorm, Eps: eps}, v)
}

// lastToChannels lets the dimensions of v from a on be its channels.
func (c *call) lastToChannels(v *value, a int) (*value, error) {
	var last []int
	for d := a; d < len(v.dims); d++ {
		if v.dims[d] != 1 {
			last = append(last, d)
		}
	}
	if v.mixed == nil && len(last) == 1 && last[0] == v.axes[axisC] {
		return v, nil
	}
	return c.channelsFrom(v, last)
}

// layerStatistics are the mean and 1/√(variance + eps) of the channels, which LayerNormalization gives
// besides its result.
func (c *call) layerStatistics(v *value, a int, eps float32) error {
	var along []int
	for d := a; d < len(v.dims); d++ {
		along = append(along, d)
	}
	like := v.withChannels(along, repeatInt(1, len(along)))
	mean := model.Node{Op: model.OpReduceChannels, Reduce: model.ReduceMean}
	of := func(v *value, suffix string) (*value, error) {
		n := mean
		n.In = []int{v.node}
		return c.emit(n, suffix, like)
	}
	centre, err := of(v, ".mean")
	if err != nil {
		return err
	}
	off, err := c.emit(model.Node{Op: model.OpBinary, Binary: model.BinarySub, In: []int{v.node, centre.node}}, ".difference", v)
	if err != nil {
		return err
	}
	if off, err = c.emitOn(model.Node{Op: model.OpMap, Func: model.FuncSquare}, off); err != nil {
		return err
	}
	spread, err := of(off, ".variance")
	if err != nil {
		return err
	}
	if spread, err = c.affine(spread, []float32{1}, []float32{eps}); err != nil {
		return err
	}
	for _, f := range []model.Func{model.FuncSqrt, model.FuncReciprocal} {
		if spread, err = c.emitOn(model.Node{Op: model.OpMap, Func: f}, spread); err != nil {
			return err
		}
	}
	if err := c.set(1, centre); err != nil || len(c.n.Out) < 3 {
		return err
	}
	return c.set(2, spread)
}

func (c *call) groupNorm() error {
	v, err := c.picture(0)
	if err != nil {
		return err
	}
	groups, s := c.int("num_groups", 0), c.shapeOf(v)
	if p := c.int("stash_type", 1); p != 1 {
		return refuse("its stash_type is %d", p)
	}
	if groups < 1 || int64(s.C)%groups != 0 {
		return refuse("%d groups of %d channels", groups, s.C)
	}
	if c.opset < 21 { // a weight for each group
		for i := 1; i <= 2; i++ {
			k, err := c.vector(i, int(groups), float32(2-i))
			if err != nil {
				return err
			}
			all := make([]float32, 0, s.C)
			for _, x := range k {
				all = append(all, repeat(x, s.C/int(groups))...)
			}
			c.in[i] = &value{con: &constant{Dims: []int64{int64(s.C)}, Real: true, Floats: all}}
		}
	}
	return c.norm(model.Node{Op: model.OpGroupNorm, Groups: int(groups), Eps: c.float("epsilon", 1e-5)}, v)
}

func (c *call) lrn() error {
	if _, err := c.picture(0); err != nil {
		return err
	}
	size := c.int("size", 0)
	if size < 1 || size > 1<<20 {
		return refuse("its size is %d", size)
	}
	return c.unary(model.Node{Op: model.OpLRN, Size: int(size), Alpha: c.float("alpha", 1e-4), Power: c.float("beta", 0.75), Beta: c.float("bias", 1)})
}

// lpNorm divides by the norm over the channels.
func (c *call) lpNorm() error {
	v, err := c.channelAxis(-1)
	if err != nil {
		return err
	}
	p := c.int("p", 2)
	if p != 1 && p != 2 {
		return refuse("its p is %d", p)
	}
	sum, err := c.emit(model.Node{Op: model.OpReduceChannels, Reduce: model.ReduceLP, Power: float32(p), In: []int{v.node}}, ".norm", v)
	if err != nil {
		return err
	}
	return c.result(c.emit(model.Node{Op: model.OpBinary, Binary: model.BinaryDiv, In: []int{v.node, sum.node}}, "", v))
}

// channelAxis is input 0, whose attribute axis must name its channels.
func (c *call) channelAxis(absent int64) (*value, error) {
	v, err := c.plane(0)
	if err != nil {
		return nil, err
	}
	a, err := axis(c.int("axis", absent), len(v.dims))
	if err != nil {
		return nil, err
	}
	if v.mixed == nil && a == v.axes[axisC] {
		return v, nil
	}
	return c.channelsFrom(v, []int{a})
}

// softmaxed is input 0 with the channels that Softmax works along: since opset 13 a dimension, before that all from axis on.
func (c *call) softmaxed() (*value, error) {
	if c.opset >= 13 {
		return c.channelAxis(-1)
	}
	v, err := c.plane(0)
	if err != nil {
		return nil, err
	}
	a, err := axis(c.int("axis", 1), len(v.dims))
	if err != nil {
		return nil, err
	}
	return c.lastToChannels(v, a)
}

func (c *call) softmax() error {
	v, err := c.softmaxed()
	if err != nil {
		return err
	}
	out, err := c.emit(model.Node{Op: model.OpSoftmax, In: []int{v.node}}, "", v)
	if err == nil && c.n.Op == "LogSoftmax" {
		out, err = c.emit(model.Node{Op: model.OpMap, Func: model.FuncLog, In: []int{out.node}}, ".log", v)
	}
	return c.result(out, err)
}

// layerNormed recognises the norm over channels as exporters write it out: the difference of x and its mean
// over the channels, divided by √(the mean of that difference's square + eps).
func (c *call) layerNormed(difference, root int) (x int, eps float32, ok bool) {
	node := func(i int, op model.Op) *model.Node {
		if n := c.grow.Node(i); n.Op == op {
			return n
		}
		return &model.Node{In: []int{0, 0}} // matches nothing further
	}
	d, r := node(difference, model.OpBinary), node(root, model.OpMap)
	shifted := node(r.In[0], model.OpAffine)
	variance := node(shifted.In[0], model.OpReduceChannels)
	square, mean := c.grow.Node(variance.In[0]), node(d.In[len(d.In)-1], model.OpReduceChannels)
	squared := square.Op == model.OpMap && square.Func == model.FuncSquare && square.In[0] == difference ||
		square.Op == model.OpBinary && square.Binary == model.BinaryMul && len(square.In) == 2 && square.In[0] == difference && square.In[1] == difference
	if !squared || d.Binary != model.BinarySub || len(d.In) != 2 || r.Func != model.FuncSqrt || variance.Reduce != model.ReduceMean ||
		mean.Reduce != model.ReduceMean || mean.In[0] != d.In[0] {
		return 0, 0, false
	}
	mul, add := c.params[shifted.Weight].Data, c.params[shifted.Bias].Data
	return d.In[0], add[0], len(mul) == 1 && mul[0] == 1 && add[0] > 0
}

// normalised is the norm over the channels of node x.
func (c *call) normalised(x int, eps float32, like *value) (*value, error) {
	name, n := c.name(""), c.grow.Shape(x).C
	return c.emit(model.Node{Name: name, Op: model.OpLayerNorm, Eps: eps, In: []int{x},
		Weight: c.param(name, "weight", repeat(1, n), n), Bias: c.param(name, "bias", make([]float32, n), n)}, "", like)
}
