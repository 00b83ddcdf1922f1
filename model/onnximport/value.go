package onnximport

import (
	"slices"

	"enhance/model"
)

// value is what an ONNX name stands for: a constant, or the value of a node of the model's graph.
type value struct {
	con  *constant // nil: a plane
	node int
	dims []int64 // in ONNX
	// axes are the dimensions that are the channels, rows and columns, or -1 where there is none
	// and the plane has one. All other dimensions are 1.
	axes [3]int
	// mixed is the layout of a plane whose channels, rows or columns are no single dimension; nil if axes says all.
	mixed *layout
	// sole says that one node alone reads the graph's node, which may then be changed.
	sole bool
}

const (
	axisC = iota
	axisH
	axisW
)

// standard is the layout of a tensor of so many dimensions: batch, channels, rows, columns.
func standard(rank int) [3]int {
	switch rank {
	case 1:
		return [3]int{0, -1, -1}
	case 2:
		return [3]int{1, -1, -1}
	case 3:
		return [3]int{1, -1, 2}
	}
	return [3]int{1, 2, 3}
}

// extents are a shape's sizes in the order of axes.
func extents(s model.Shape) [3]int64 { return [3]int64{int64(s.C), int64(s.H), int64(s.W)} }

// dimsOf gives the ONNX dimensions of a plane of shape s laid out as v.
func (v *value) dimsOf(s model.Shape) ([]int64, error) {
	dims := make([]int64, len(v.dims))
	for i := range dims {
		dims[i] = 1
	}
	if l := v.mixed; l != nil {
		for k, n := range extents(s) {
			if n != l.size(l.axes[k]) {
				return nil, refuse("its value of shape %v mixes channels, rows and columns", v.dims)
			}
		}
		return v.dims, nil
	}
	for k, n := range extents(s) {
		switch a := v.axes[k]; {
		case a >= 0:
			dims[a] = n
		case n != 1:
			return nil, refuse("its value of shape %v has no place for %s", v.dims, [...]string{"channels", "rows", "columns"}[k])
		}
	}
	return dims, nil
}

// alias is the same plane under other dimensions.
func (v *value) alias(dims []int64, axes [3]int) *value {
	a := *v
	a.dims, a.axes = dims, axes
	return &a
}

// axis brings a dimension counted from the end to one from the start.
func axis(a int64, rank int) (int, error) {
	if a < 0 {
		a += int64(rank)
	}
	if a < 0 || a >= int64(rank) {
		return 0, refuse("axis %d of %d dimensions", a, rank)
	}
	return int(a), nil
}

// axisList is axis of a list without repetition, ascending.
func axisList(list []int64, rank int) ([]int, error) {
	var out []int
	for _, a := range list {
		i, err := axis(a, rank)
		if err != nil {
			return nil, err
		}
		if slices.Contains(out, i) {
			return nil, refuse("axis %d twice", i)
		}
		out = append(out, i)
	}
	slices.Sort(out)
	return out, nil
}
