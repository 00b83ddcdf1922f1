package onnximport

import (
	"enhance/model"
	"enhance/model/onnx"
)

// NewConstant reads a tensor's elements.
func NewConstant(t *onnx.Tensor) (*Constant, error) { return fromTensor(t) }

// Shape is the shape of the model's input: all inputs together.
func (n *Network) Shape() model.Shape {
	s := n.Inputs[0].shape()
	s.C = n.Model.Graph.Nodes[0].C
	return s
}

// shape is that of the port's planes.
func (p *Port) shape() model.Shape {
	if p.ordered {
		return p.planes
	}
	side := func(k int) int {
		if p.Axes[k] < 0 {
			return 1
		}
		return int(p.Dims[p.Axes[k]])
	}
	return model.Shape{C: p.C, H: side(axisH), W: side(axisW)}
}

// all calls do for every sample of a port whose planes have the order of the tensor.
func (p *Port) all(do func(plane, tensor int)) {
	for i := range p.planes.Elems() {
		do(int(i), int(i))
	}
}

// each calls do for every sample: its place in planes of channels, rows and columns, and its place in a
// row-major ONNX tensor.
func (p *Port) each(do func(plane, tensor int)) {
	if p.ordered {
		p.all(do)
		return
	}
	strides := make([]int, len(p.Dims))
	for i, s := len(p.Dims)-1, 1; i >= 0; i-- {
		strides[i] = s
		s *= int(p.Dims[i])
	}
	stride := func(k int) int {
		if p.Axes[k] < 0 {
			return 0
		}
		return strides[p.Axes[k]]
	}
	s, at := p.shape(), 0
	for c := range s.C {
		for y := range s.H {
			for x := range s.W {
				do(at, c*stride(axisC)+y*stride(axisH)+x*stride(axisW))
				at++
			}
		}
	}
}

// Planes puts the samples of a row-major ONNX tensor of the port's shape to the start of planes.
func (p *Port) Planes(planes, tensor []float32) { p.each(func(i, j int) { planes[i] = tensor[j] }) }

// Tensor gives the samples of planes as a row-major ONNX tensor of the port's shape.
func (p *Port) Tensor(planes []float32) []float32 {
	out := make([]float32, len(planes))
	p.each(func(i, j int) { out[j] = planes[i] })
	return out
}

// Planar reports whether the samples of the port have one order as planes and in ONNX: channels, rows, columns.
func (p *Port) Planar() bool {
	last := -1
	if p.ordered {
		return true
	}
	for _, a := range p.Axes {
		if a >= 0 && a < last {
			return false
		}
		last = max(last, a)
	}
	return true
}
