package ref

import (
	"context"
	"math"

	"enhance/model"
)

// This file defines the operations that imported networks bring, apart from resizing.

// windowConv is a convolution with any window: dst[o,y,x] = bias[o] + sum over the channels c of o's group, i and j of
// weight[o,c,i,j] times the source at the place that the window says.
func windowConv[T sample](ctx context.Context, p *pool, dst, src []T, from, to model.Shape, weight, bias []float32, n *model.Node) error {
	w, each := n.Window, from.C/n.Groups
	return p.each(ctx, to.C*to.H, func(_, task int) {
		o, y := task/to.H, task%to.H
		first := o / (to.C / n.Groups) * each
		for x := range to.W {
			sum := T(bias[o])
			for c := range each {
				for i := range w.KH {
					sy := outside(y*w.StrideH+i*w.DilationH-w.Top, from.H, n.Pad)
					for j := range w.KW {
						if sx := outside(x*w.StrideW+j*w.DilationW-w.Left, from.W, n.Pad); sy >= 0 && sx >= 0 {
							sum += T(weight[((o*each+c)*w.KH+i)*w.KW+j]) * src[((first+c)*from.H+sy)*from.W+sx]
						}
					}
				}
			}
			dst[task*to.W+x] = sum
		}
	})
}

// foreign gives what makes plane c of node n's value of shape s from src of shape first, nil if that is not known.
func (e *executor[T]) foreign(n *model.Node, s, first model.Shape, dst, src []T) func(c int) {
	area, from := s.H*s.W, first.H*first.W
	plane := func(c int) []T { return dst[c*area:][:area] }
	source := func(c int) []T { return src[c*from:][:from] }
	switch n.Op {
	case model.OpMap:
		return func(c int) { mapSamples(plane(c), source(c), n) }
	case model.OpPReLU:
		slopes := e.param(n.Weight)
		return func(c int) { leakyReLU(plane(c), source(c), slopes[c]) }
	case model.OpAffine:
		mul, add := e.param(n.Weight), e.param(n.Bias)
		return func(c int) {
			for i, v := range source(c) {
				plane(c)[i] = v*T(mul[c]) + T(add[c])
			}
		}
	case model.OpBinary:
		return e.binary(n, s, dst)
	case model.OpSlice:
		return func(c int) { copy(plane(c), source(n.First+c)) }
	case model.OpCrop, model.OpPad:
		return func(c int) { move(plane(c), source(c), s, first, n) }
	case model.OpDepthToSpace:
		return func(c int) { depthToSpace(plane(c), src, c, s, first, n) }
	case model.OpSpaceToDepth:
		return func(c int) { spaceToDepth(plane(c), src, c, s, first, n) }
	case model.OpRearrange:
		return e.rearrange(n, s, first, dst, src)
	case model.OpMatMul:
		right, shape := e.values[n.In[1]], e.shapes[n.In[1]]
		return func(c int) {
			for i := range area {
				sum, row := 0.0, right[(c*s.H+i/s.W)*shape.W:][:shape.W]
				for k, v := range row {
					sum += float64(src[k*from+i]) * float64(v)
				}
				plane(c)[i] = T(sum)
			}
		}
	case model.OpResize:
		rows := n.Resize.Taps(first.H, s.H, n.Resize.NumH, n.Resize.DenH, false)
		columns := n.Resize.Taps(first.W, s.W, n.Resize.NumW, n.Resize.DenW, true)
		return func(c int) { resample(plane(c), source(c), first.W, rows, columns, n.Resize.Outside) }
	case model.OpPool:
		return func(c int) { pool2(plane(c), source(c), s, first, n) }
	case model.OpGlobalPool:
		return func(c int) {
			dst[c] = T(reduce(n, len(source(c)), func(i int) float64 { return float64(source(c)[i]) }))
		}
	}
	return e.acrossChannels(n, s, dst, src)
}

// acrossChannels is foreign of operations whose samples depend on several channels.
func (e *executor[T]) acrossChannels(n *model.Node, s model.Shape, dst, src []T) func(c int) {
	area := s.H * s.W
	channels := len(src) / area
	at := func(c, i int) float64 { return float64(src[c*area+i]) }
	switch n.Op {
	case model.OpReduceChannels:
		return func(int) {
			for i := range area {
				dst[i] = T(reduce(n, channels, func(c int) float64 { return at(c, i) }))
			}
		}
	case model.OpLayerNorm:
		weight, bias := e.param(n.Weight), e.param(n.Bias)
		return func(c int) {
			for i := range area {
				mean, scale := meanAndScale(channels, n.Eps, func(c int) float64 { return at(c, i) })
				dst[c*area+i] = T((at(c, i)-mean)*scale*float64(weight[c]) + float64(bias[c]))
			}
		}
	case model.OpGroupNorm:
		weight, bias, each := e.param(n.Weight), e.param(n.Bias), channels/n.Groups
		return func(c int) {
			group := src[c/each*each*area:][:each*area]
			mean, scale := meanAndScale(len(group), n.Eps, func(i int) float64 { return float64(group[i]) })
			for i := range area {
				dst[c*area+i] = T((at(c, i)-mean)*scale*float64(weight[c]) + float64(bias[c]))
			}
		}
	case model.OpLRN:
		return func(c int) {
			for i := range area {
				sum := 0.0
				for k := max(0, c-(n.Size-1)/2); k <= min(channels-1, c+n.Size/2); k++ {
					sum += at(k, i) * at(k, i)
				}
				dst[c*area+i] = T(at(c, i) / math.Pow(float64(n.Beta)+float64(n.Alpha)/float64(n.Size)*sum, float64(n.Power)))
			}
		}
	case model.OpSoftmax:
		return func(c int) {
			for i := range area {
				largest, sum := math.Inf(-1), 0.0
				for k := range channels {
					largest = max(largest, at(k, i))
				}
				for k := range channels {
					sum += math.Exp(at(k, i) - largest)
				}
				dst[c*area+i] = T(math.Exp(at(c, i)-largest) / sum)
			}
		}
	}
	return nil
}

// meanAndScale gives the mean of n samples and 1/√(variance + eps), in two passes.
func meanAndScale(n int, eps float32, at func(int) float64) (mean, scale float64) {
	for i := range n {
		mean += at(i)
	}
	mean /= float64(n)
	squares := 0.0
	for i := range n {
		d := at(i) - mean
		squares += d * d
	}
	return mean, 1 / math.Sqrt(squares/float64(n)+float64(eps))
}

// reduce makes one of n samples. NaN wins over numbers.
func reduce(n *model.Node, count int, at func(int) float64) float64 {
	sum := 0.0
	switch n.Reduce {
	case model.ReduceMax, model.ReduceMin:
		best := at(0)
		for i := 1; i < count; i++ {
			if v := at(i); v != v || n.Reduce == model.ReduceMax && v > best || n.Reduce == model.ReduceMin && v < best {
				best = v
			}
		}
		return best
	case model.ReduceLP:
		for i := range count {
			sum += math.Pow(math.Abs(at(i)), float64(n.Power))
		}
		return math.Pow(sum, 1/float64(n.Power))
	}
	for i := range count {
		sum += at(i)
	}
	if n.Reduce == model.ReduceSum {
		return sum
	}
	return sum / float64(count)
}

// pool2 makes a plane of the reductions of a window.
func pool2[T sample](dst, src []T, to, from model.Shape, n *model.Node) {
	w := n.Window
	inside := make([]float64, 0, w.KH*w.KW)
	for y := range to.H {
		for x := range to.W {
			inside = inside[:0]
			padded := 0 // samples on the plane and its pads
			for i := range w.KH {
				for j := range w.KW {
					sy, sx := y*w.StrideH+i*w.DilationH-w.Top, x*w.StrideW+j*w.DilationW-w.Left
					if sy < from.H+w.Bottom && sx < from.W+w.Right {
						padded++
					}
					if sy >= 0 && sy < from.H && sx >= 0 && sx < from.W {
						inside = append(inside, float64(src[sy*from.W+sx]))
					}
				}
			}
			dst[y*to.W+x] = T(pooled(n, inside, padded))
		}
	}
}

// pooled reduces what a window reads on the plane.
func pooled(n *model.Node, inside []float64, padded int) float64 {
	switch {
	case n.Reduce == model.ReduceMeanPadded:
		sum := 0.0
		for _, v := range inside {
			sum += v
		}
		return sum / float64(padded)
	case len(inside) > 0:
		return reduce(n, len(inside), func(i int) float64 { return inside[i] })
	case n.Reduce == model.ReduceMax:
		return math.Inf(-1)
	}
	return 0
}

// move crops a plane, or pads it.
func move[T sample](dst, src []T, to, from model.Shape, n *model.Node) {
	w := n.Window
	for y := range to.H {
		for x := range to.W {
			sy, sx := y*w.StrideH+w.Top, x*w.StrideW+w.Left
			if n.Op == model.OpPad {
				sy, sx = outside(y-w.Top, from.H, n.Pad), outside(x-w.Left, from.W, n.Pad)
			}
			if sy < 0 || sx < 0 {
				dst[y*to.W+x] = T(n.Alpha)
			} else {
				dst[y*to.W+x] = src[sy*from.W+sx]
			}
		}
	}
}

// depthToSpace makes plane c of to from planes of src.
func depthToSpace[T sample](dst, src []T, c int, to, from model.Shape, n *model.Node) {
	f := n.Factor
	for y := range to.H {
		for x := range to.W {
			channel := (y%f*f+x%f)*to.C + c
			if n.CRD {
				channel = c*f*f + y%f*f + x%f
			}
			dst[y*to.W+x] = src[(channel*from.H+y/f)*from.W+x/f]
		}
	}
}

// spaceToDepth makes plane c of to from one plane of src.
func spaceToDepth[T sample](dst, src []T, c int, to, from model.Shape, n *model.Node) {
	f := n.Factor
	channel, place := c%from.C, c/from.C
	if n.CRD {
		channel, place = c/(f*f), c%(f*f)
	}
	for y := range to.H {
		for x := range to.W {
			dst[y*to.W+x] = src[(channel*from.H+y*f+place/f)*from.W+x*f+place%f]
		}
	}
}

// rearrange gives what makes plane c of s from a plane of shape first.
func (e *executor[T]) rearrange(n *model.Node, s, first model.Shape, dst, src []T) func(c int) {
	moves, err := n.Rearrange.Moves(first)
	if err != nil {
		return nil // Shapes found none
	}
	// offset is what index i of a side of the result adds to the place in the source.
	strides := [3]int{first.H * first.W, first.W, 1}
	offset := func(list []model.Move, i int) (at int) {
		for _, m := range list {
			at += i % m.Size * m.Stride * strides[m.Side]
			i /= m.Size
		}
		return at
	}
	return func(c int) {
		plane := dst[c*s.H*s.W:]
		for y := range s.H {
			for x := range s.W {
				plane[y*s.W+x] = src[offset(moves[0], c)+offset(moves[1], y)+offset(moves[2], x)]
			}
		}
	}
}

// binary gives what makes plane c of the values of two nodes, or of one and a constant.
func (e *executor[T]) binary(n *model.Node, s model.Shape, dst []T) func(c int) {
	area := s.H * s.W
	operand := func(in int) func(c, i int) float64 {
		v, shape := e.values[in], e.shapes[in]
		return func(c, i int) float64 {
			y, x := i/s.W, i%s.W
			return float64(v[(min(c, shape.C-1)*shape.H+min(y, shape.H-1))*shape.W+min(x, shape.W-1)])
		}
	}
	left := operand(n.In[0])
	var right func(c, i int) float64
	if len(n.In) == 2 {
		right = operand(n.In[1])
	} else {
		constant := e.param(n.Weight)
		right = func(c, _ int) float64 { return float64(constant[c]) }
		if n.Swapped {
			left, right = right, left
		}
	}
	return func(c int) {
		for i := range area {
			dst[c*area+i] = T(two(n.Binary, left(c, i), right(c, i)))
		}
	}
}

// two is a function of two samples. NaN wins over numbers.
func two(b model.Binary, x, y float64) float64 {
	switch b {
	case model.BinaryAdd:
		return x + y
	case model.BinarySub:
		return x - y
	case model.BinaryMul:
		return x * y
	case model.BinaryDiv:
		return x / y
	case model.BinaryPow:
		return math.Pow(x, y)
	case model.BinaryMin:
		return min(x, y)
	case model.BinaryMax:
		return max(x, y)
	}
	return (x + y) / 2
}
