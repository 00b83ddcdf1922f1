package onnximport

import (
	"slices"

	"enhance/model/onnx"
)

// Constant is a value that no input changes: fractions or integers (bool is 0 and 1), row-major.
type Constant struct {
	Dims   []int64
	Real   bool
	Floats []float32 // if Real
	Ints   []int64   // if not
}

type constant = Constant

func fromTensor(t *onnx.Tensor) (*constant, error) {
	c := &constant{Dims: slices.Clone(t.Dims), Real: t.Type.Real()}
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

// perChannel brings a constant that meets plane v to one value per channel, if it has no other extent.
func (c *call) perChannel(con *constant, v *value) ([]float32, error) {
	n := c.shapeOf(v).C
	if s, ok := con.scalar(); ok && len(con.Dims) <= len(v.dims) {
		return repeat(s, n), nil
	}
	shift := len(v.dims) - len(con.Dims)
	for i, d := range con.Dims {
		switch {
		case d == 1:
		case shift < 0 || i+shift != v.axes[axisC] || v.flat:
			return nil, refuse("the constant of shape %v varies along another dimension of %v than the channels: it would depend on the picture's size", con.Dims, v.dims)
		case d != int64(n):
			return nil, refuse("the constant of shape %v does not fit %v", con.Dims, v.dims)
		}
	}
	if s, ok := con.scalar(); ok {
		return repeat(s, n), nil
	}
	return con.floats(), nil
}

// shapeConstant is a list of integers.
func shapeConstant(dims []int64) *value {
	return &value{con: &constant{Dims: []int64{int64(len(dims))}, Ints: slices.Clone(dims)}, dims: []int64{int64(len(dims))}}
}
