package onnximport

import (
	"enhance/model"
)

// dense emits a fully connected layer with weights of n outputs by k inputs: a convolution whose kernel is a sample, or all of a plane
// that was flattened.
func (c *call) dense(v *value, weight, bias []float32, n, k int64, dims []int64, last int) (*value, error) {
	s := c.shapeOf(v)
	w := model.Window{KH: 1, KW: 1, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1}
	like := v.alias(dims, v.axes)
	switch {
	case v.flat && s.Elems() == k:
		w.KH, w.KW = s.H, s.W
		c.readsSize()
		like.flat = false
		like.axes = [3]int{last, -1, -1}
	case !v.flat && v.axes[axisC] == last && int64(s.C) == k:
	default:
		return nil, refuse("its matrix has %d rows for an input of shape %v, whose channels are not its last dimension", k, v.dims)
	}
	if n < 1 || n > 1<<20 {
		return nil, refuse("%d outputs", n)
	}
	like.sole = false // its pad, if it has one, is not this layer's
	return c.convolution(like, weight, bias, w, 1, "")
}

func (c *call) gemm() error {
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	b, err := c.weight(1, 2)
	if err != nil {
		return err
	}
	if b == nil || len(v.dims) != 2 || c.int("transA", 0) != 0 {
		return refuse("only the product of a row and a constant matrix is run")
	}
	c.int("broadcast", 0)
	alpha, beta := c.float("alpha", 1), c.float("beta", 1)
	k, n := b.Dims[0], b.Dims[1]
	weight := b.Floats
	if c.int("transB", 0) != 0 {
		k, n = n, k
	} else {
		weight = turned(weight, int(k), int(n))
	}
	if alpha != 1 {
		weight = apply(weight, func(x float32) float32 { return alpha * x })
	}
	bias := make([]float32, n)
	add, err := c.weight(2, -1)
	if err != nil {
		return err
	}
	if add != nil {
		if s, ok := add.scalar(); ok {
			bias = repeat(s, int(n))
		} else if add.Len() == int(n) {
			bias = add.Floats
		} else {
			return refuse("its input %q of shape %v is no row of %d", c.n.In[2], add.Dims, n)
		}
		bias = apply(bias, func(x float32) float32 { return beta * x })
	}
	return c.result(c.dense(v, weight, bias, n, k, v.dims, 1))
}

// turned is the transpose of a matrix of k rows of n.
func turned(m []float32, k, n int) []float32 {
	out := make([]float32, len(m))
	for i := range k {
		for j := range n {
			out[j*k+i] = m[i*n+j]
		}
	}
	return out
}

func (c *call) matMul() error {
	if c.arg(0) != nil && c.arg(0).con != nil {
		return refuse("its left operand is a constant; only its right one may be")
	}
	v, err := c.plane(0)
	if err != nil {
		return err
	}
	if w := c.arg(1); w != nil && w.con == nil {
		return refuse("it multiplies two matrices that depend on the picture, as attention does: that needs whole planes and is not run")
	}
	b, err := c.weight(1, 2)
	if err != nil {
		return err
	}
	if b == nil || len(v.dims) < 1 {
		return refuse("only the product of rows and a constant matrix is run")
	}
	k, n := b.Dims[0], b.Dims[1]
	return c.result(c.dense(v, turned(b.Floats, int(k), int(n)), make([]float32, n), n, k, v.dims, len(v.dims)-1))
}
