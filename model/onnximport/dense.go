package onnximport

import (
	"enhance/model"
)

// dense emits a fully connected layer with weights of n outputs by k inputs along the last dimension: a convolution
// whose kernel is a sample, or all of a plane that was flattened.
func (c *call) dense(v *value, weight, bias []float32, n, k int64) (*value, error) {
	last, s := len(v.dims)-1, c.shapeOf(v)
	w := model.Window{KH: 1, KW: 1, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1}
	if n < 1 || n > 1<<20 {
		return nil, refuse("%d outputs", n)
	}
	if v.dims[last] != k {
		return nil, refuse("its matrix has %d rows for an input of shape %v", k, v.dims)
	}
	like := v
	if v.mixed != nil && s.Elems() == k && v.mixed.ordered() {
		w.KH, w.KW = s.H, s.W
		c.readsSize()
		like = v.withChannels([]int{last}, []int64{n})
	} else if v.mixed != nil || v.axes[axisC] != last {
		var err error
		if v, err = c.channelsFrom(v, []int{last}); err != nil {
			return nil, err
		}
		like = v.withChannels([]int{last}, []int64{n})
	}
	made := *like
	made.node, made.sole = v.node, false // its pad, if it has one, is not this layer's
	return c.convolution(&made, weight, bias, w, 1, "")
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
	if b == nil || len(v.dims) != 2 {
		return refuse("only the product of a matrix and a constant one is run")
	}
	if c.int("transA", 0) != 0 {
		l := layoutOf(v).clone()
		l.dims[0], l.dims[1] = l.dims[1], l.dims[0]
		v = l.apply(v)
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
	var after *constant // that varies along the rows
	if add != nil {
		scaled := &constant{Dims: add.Dims, Real: true, Floats: apply(add.Floats, func(x float32) float32 { return beta * x })}
		if s, ok := scaled.scalar(); ok {
			bias = repeat(s, int(n))
		} else if add.Len() == int(n) && dimFromEnd(add.Dims, 0) == n {
			bias = scaled.Floats
		} else {
			after = scaled
		}
	}
	out, err := c.dense(v, weight, bias, n, k)
	if err != nil || after == nil {
		return c.result(out, err)
	}
	out, bias, err = c.channelValues(after, out)
	if err != nil {
		return err
	}
	return c.result(c.affine(out, repeat(1, len(bias)), bias))
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
