package onnximport

import (
	"slices"

	"enhance/model"
	"enhance/model/onnx"
)

// Constant is a value that no input changes: fractions or integers (bool is 0 and 1), row-major.
type Constant struct {
	Dims   []int64
	Real   bool
	Floats []float32 // if Real
	Ints   []int64   // if not
	Type   onnx.Type // of integers that a file holds, 0 of others

	from *quantised // the integers that fractions were made of; nil: none
}

type constant = Constant

func fromTensor(t *onnx.Tensor) (*constant, error) {
	c := &constant{Dims: slices.Clone(t.Dims), Real: t.Type.Real(), Type: t.Type}
	var err error
	if c.Real {
		c.Floats, err = t.Floats()
	} else {
		c.Ints, err = t.Ints()
	}
	return c, err
}

// Len is the number of elements.
func (c *constant) Len() int {
	if c.Real {
		return len(c.Floats)
	}
	return len(c.Ints)
}

// like is an empty constant of the same type with room for n elements of shape dims.
func (c *constant) like(dims []int64, n int) *constant {
	out := &constant{Dims: dims, Real: c.Real}
	if c.Real {
		out.Floats = make([]float32, n)
	} else {
		out.Ints = make([]int64, n)
	}
	return out
}

// copy sets element i to element j of from.
func (c *constant) copy(i int, from *constant, j int) {
	if c.Real {
		c.Floats[i] = from.Floats[j]
	} else {
		c.Ints[i] = from.Ints[j]
	}
}

// float is element i as a fraction.
func (c *constant) float(i int) float64 {
	if c.Real {
		return float64(c.Floats[i])
	}
	return float64(c.Ints[i])
}

// scalar is the one element, or false.
func (c *constant) scalar() (float32, bool) {
	if c.Len() != 1 {
		return 0, false
	}
	return float32(c.float(0)), true
}

// floats are all elements as fractions.
func (c *constant) floats() []float32 {
	if c.Real {
		return c.Floats
	}
	out := make([]float32, len(c.Ints))
	for i, v := range c.Ints {
		out[i] = float32(v)
	}
	return out
}

// weight is input i as a constant of fractions with so many dimensions; rank < 0 takes any.
func (c *call) weight(i, rank int) (*constant, error) {
	w, err := c.constant(i)
	if err != nil || w == nil {
		return w, err
	}
	if !w.Real {
		return nil, refuse("its input %q holds integers where weights belong", c.n.In[i])
	}
	if rank >= 0 && len(w.Dims) != rank {
		return nil, refuse("its weight %q has the shape %v, where %d dimensions belong", c.n.In[i], w.Dims, rank)
	}
	return w, nil
}

// vector is input i as n weights; it is absent, n times, if the input is left out.
func (c *call) vector(i, n int, absent float32) ([]float32, error) {
	w, err := c.weight(i, -1)
	if err != nil {
		return nil, err
	}
	if w == nil {
		return repeat(absent, n), nil
	}
	if w.Len() != n {
		return nil, refuse("its input %q has %d elements, not %d", c.n.In[i], w.Len(), n)
	}
	return w.Floats, nil
}

func repeat(v float32, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// elements is the product of dims, or an error if more than room are left for folded constants.
func (im *importer) elements(dims []int64) (int, error) {
	n := int64(1)
	for _, d := range dims {
		if d < 0 || d > 0 && n > im.room/d {
			return 0, refuse("a constant of shape %v takes more memory than the file", dims)
		}
		n *= d
	}
	im.room -= n
	return int(n), nil
}

// perChannel brings a constant that meets plane v to one value per channel, if it varies along nothing else.
func (c *call) perChannel(con *constant, v *value) ([]float32, error) {
	n := c.shapeOf(v).C
	if s, ok := con.scalar(); ok && len(con.Dims) <= len(v.dims) {
		return repeat(s, n), nil
	}
	if !alongChannels(con, v) {
		return nil, refuse("the constant of shape %v varies along another dimension of %v than the channels: it would depend on the picture's size", con.Dims, v.dims)
	}
	l, shift := layoutOf(v), len(v.dims)-len(con.Dims)
	stride, by := 1, make([]int, len(l.sizes)) // how far apart elements of con are along each factor
	for i := len(con.Dims) - 1; i >= 0; i-- {
		if con.Dims[i] == 1 {
			continue
		}
		each := stride
		for _, f := range slices.Backward(l.dims[i+shift]) {
			by[f] = each
			each *= int(l.sizes[f])
		}
		stride *= int(con.Dims[i])
	}
	from := con.floats()
	out := make([]float32, n)
	for i := range out {
		at, rest := 0, i
		for _, f := range slices.Backward(l.axes[axisC]) {
			at += rest % int(l.sizes[f]) * by[f]
			rest /= int(l.sizes[f])
		}
		out[i] = from[at]
	}
	return out, nil
}

// alongChannels reports whether a constant varies along dimensions of v alone that are among its channels.
func alongChannels(con *constant, v *value) bool {
	l, shift := layoutOf(v), len(v.dims)-len(con.Dims)
	for i, d := range con.Dims {
		if d == 1 {
			continue
		}
		if shift < 0 || d != v.dims[i+shift] {
			return false
		}
		for _, f := range l.dims[i+shift] {
			if !slices.Contains(l.axes[axisC], f) {
				return false
			}
		}
	}
	return true
}

// channelValues is perChannel after v has been rearranged, or repeated, so that what the constant varies along is among
// its channels.
func (c *call) channelValues(con *constant, v *value) (*value, []float32, error) {
	v = c.deepened(v, len(con.Dims))
	if !c.strict && !alongChannels(con, v) {
		var along []int
		var sizes []int64
		ones := 0
		for i, n := range con.Dims {
			if d := i + len(v.dims) - len(con.Dims); n != 1 {
				along, sizes = append(along, d), append(sizes, n)
				if v.dims[d] == 1 {
					ones++
				} else if v.dims[d] != n {
					return nil, nil, refuse("the constant of shape %v does not fit %v", con.Dims, v.dims)
				}
			}
		}
		var err error
		if ones == 0 {
			v, err = c.channelsFrom(v, along)
		} else if ones < len(along) {
			err = refuse("the constant of shape %v and %v are each repeated along a dimension of the other", con.Dims, v.dims)
		} else if v, err = c.channelsFrom(v, nil); err == nil {
			v, err = c.repeated(v, along, sizes)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	values, err := c.perChannel(con, v)
	return v, values, err
}

// repeated is v, which has one channel, repeated along dimensions of size 1.
func (c *call) repeated(v *value, along []int, sizes []int64) (*value, error) {
	n := 1
	for _, s := range sizes {
		if s > 1<<20/int64(n) {
			return nil, refuse("%v channels", sizes)
		}
		n *= int(s)
	}
	name := c.name(".channels")
	return c.emit(model.Node{Name: name, Op: model.OpConv, K: 1, C: n, Pad: model.PadZero, In: []int{v.node},
		Weight: c.param(name, "weight", repeat(1, n), n, 1, 1, 1), Bias: c.param(name, "bias", make([]float32, n), n)}, "", v.withChannels(along, sizes))
}

// shapeConstant is a list of integers.
func shapeConstant(dims []int64) *value {
	return &value{con: &constant{Dims: []int64{int64(len(dims))}, Ints: slices.Clone(dims)}, dims: []int64{int64(len(dims))}}
}
