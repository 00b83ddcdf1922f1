package onnximport

import (
	"slices"

	"enhance/model"
)

// matMul imports products of matrices: the last two dimensions of each operand, for every place in the others.
// Of a single dimension a row or a column is made, which the result does not have.
func (c *call) matMul() error {
	if len(c.in) != 2 || c.in[0] == nil || c.in[1] == nil {
		return refuse("it has not two operands")
	}
	left, right := c.in[0], c.in[1]
	a, b := left.dims, right.dims
	if len(a) == 0 || len(b) == 0 {
		return refuse("it multiplies shapes %v and %v", a, b)
	}
	row, column := len(a) == 1, len(b) == 1
	if row {
		left = c.withDims(left, []int64{1, a[0]})
	}
	if column {
		right = c.withDims(right, []int64{b[0], 1})
	}
	if n := len(left.dims); left.dims[n-1] != right.dims[len(right.dims)-2] {
		return refuse("it multiplies shapes %v and %v", a, b)
	}
	var out *value
	var err error
	switch {
	case right.con != nil:
		out, err = c.timesConstant(left, right.con, false)
	case left.con != nil:
		out, err = c.timesConstant(right, left.con, true)
	default:
		out, err = c.product(left, right)
	}
	if err != nil {
		return err
	}
	var gone []int
	if row {
		gone = append(gone, len(out.dims)-2)
	}
	if column {
		gone = append(gone, len(out.dims)-1)
	}
	return c.set(0, dropped(out, gone))
}

// withDims is a value of as many elements with other dimensions, by which size 1 are added alone.
func (c *call) withDims(v *value, dims []int64) *value {
	if v.con != nil {
		k := *v.con
		k.Dims = dims
		return &value{con: &k, dims: dims}
	}
	l, _ := layoutOf(v).regroup(dims)
	return l.apply(v)
}

// timesConstant is the product of a plane and a constant, which stands left if swapped: a convolution whose channels are the
// dimension that is summed, in groups where the constant differs from matrix to matrix.
func (c *call) timesConstant(v *value, k *constant, swapped bool) (*value, error) {
	if !k.Real {
		return nil, refuse("its constant operand holds integers")
	}
	v = c.deepened(v, len(k.Dims))
	rank := len(v.dims)
	rows, columns := k.Dims[len(k.Dims)-2], k.Dims[len(k.Dims)-1]
	sum, made, at := rows, columns, rank-1
	if swapped {
		sum, made, at = columns, rows, rank-2
	}
	var along []int
	var sizes []int64
	groups, matrices := int64(1), int64(1)
	for i, n := range k.Dims[:len(k.Dims)-2] {
		d := i + rank - len(k.Dims)
		if n == 1 {
			continue
		}
		if v.dims[d] != n && v.dims[d] != 1 || matrices > 1 && (groups > 1) != (v.dims[d] == n) || n > 1<<20/matrices {
			return nil, refuse("it multiplies matrices of shapes %v and %v", v.dims, k.Dims)
		}
		matrices *= n
		if v.dims[d] == n {
			groups *= n
		}
		along, sizes = append(along, d), append(sizes, n)
	}
	weight := k.Floats
	if !swapped {
		weight = make([]float32, 0, len(k.Floats))
		for m := range int(matrices) {
			weight = append(weight, turned(k.Floats[m*int(rows*columns):][:rows*columns], int(rows), int(columns))...)
		}
	}
	if matrices == 1 && !swapped {
		return c.dense(v, weight, make([]float32, made), made, sum)
	}
	if made < 1 || made > 1<<20/matrices {
		return nil, refuse("%d times %d outputs", matrices, made)
	}
	from := []int{at}
	if groups > 1 {
		from = append(slices.Clone(along), at)
	}
	v, err := c.channelsFrom(v, from)
	if err != nil {
		return nil, err
	}
	like := *v.withChannels(append(along, at), append(sizes, made))
	like.node, like.sole = v.node, false
	w := model.Window{KH: 1, KW: 1, StrideH: 1, StrideW: 1, DilationH: 1, DilationW: 1}
	return c.convolution(&like, weight, make([]float32, made*matrices), w, int(groups), "")
}

// product is the product of two planes, whose rows are the matrices (model.OpMatMul).
func (c *call) product(a, b *value) (*value, error) {
	rank := max(len(a.dims), len(b.dims))
	a, b = c.deepened(a, rank), c.deepened(b, rank)
	matrices := upTo(rank - 2)
	for _, d := range matrices {
		if a.dims[d] != b.dims[d] {
			return nil, refuse("it multiplies matrices of shapes %v and %v, of which one would be repeated", a.dims, b.dims)
		}
	}
	left, err := c.place(a, [3][]int{{rank - 1}, matrices, {rank - 2}})
	if err != nil {
		return nil, err
	}
	right, err := c.place(b, [3][]int{{rank - 1}, matrices, {rank - 2}})
	if err != nil {
		return nil, err
	}
	return c.emit(model.Node{Op: model.OpMatMul, In: []int{left.node, right.node}}, "", left.withChannels([]int{rank - 1}, []int64{b.dims[rank-1]}))
}
