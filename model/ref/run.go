package ref

import (
	"context"
	"fmt"

	"enhance/model"
)

// executor runs one graph once.
type executor[T sample] struct {
	conv func(ctx context.Context, p *pool, dst, src []T, s model.Shape, weight, bias []float32, k int, pad model.PadMode) error
	dump func(node string, shape model.Shape, data []T)

	m      *model.Model
	shapes []model.Shape
	pool   *pool
	values [][]T // of every node, nil once no longer needed
	last   []int // the last node that reads each value; len(nodes) for the result
}

func (e *executor[T]) run(ctx context.Context, m *model.Model, in []T, h, w int, o Options) ([]T, model.Shape, error) {
	var none model.Shape
	if err := m.Validate(); err != nil {
		return nil, none, err
	}
	g := m.Graph
	shapes, err := g.Shapes(h, w)
	if err != nil {
		return nil, none, err
	}
	if int64(len(in)) != shapes[0].Elems() {
		return nil, none, fmt.Errorf("input has %d samples, %s wants %d", len(in), shapes[0], shapes[0].Elems())
	}
	needed := g.Needed()
	total := int64(0)
	for i := range needed {
		needed[i] = needed[i] || e.dump != nil
		if needed[i] {
			total += g.NodeFLOPs(i, shapes)
		}
	}
	e.m, e.shapes, e.pool = m, shapes, newPool(o, total)
	e.values = make([][]T, len(g.Nodes))
	e.last = lastReaders(g, needed)
	for i := range g.Nodes {
		if !needed[i] {
			continue
		}
		if err := e.step(ctx, i, in); err != nil {
			return nil, none, fmt.Errorf("node %q: %w", g.Nodes[i].Name, err)
		}
	}
	return e.values[g.Out], shapes[g.Out], nil
}

// lastReaders gives for each value the last node that reads it.
func lastReaders(g *model.Graph, needed []bool) []int {
	last := make([]int, len(g.Nodes))
	for i := range g.Nodes {
		last[i] = i
		if needed[i] {
			for _, in := range g.Nodes[i].In {
				last[in] = i
			}
		}
	}
	last[g.Out] = len(g.Nodes)
	return last
}

// step makes the value of node i and drops those that nothing reads any more.
func (e *executor[T]) step(ctx context.Context, i int, in []T) error {
	n := &e.m.Graph.Nodes[i]
	if n.Op == model.OpInput {
		e.values[i] = append([]T(nil), in...) // a node may overwrite it
	} else if err := e.compute(ctx, i, n); err != nil {
		return err
	}
	if e.dump != nil {
		e.dump(n.Name, e.shapes[i], e.values[i])
	}
	for _, in := range n.In {
		if e.last[in] == i {
			e.values[in] = nil
		}
	}
	if e.last[i] == i {
		e.values[i] = nil
	}
	return nil
}

func (e *executor[T]) param(name string) []float32 { return e.m.Params[name].Data }

// target gives the samples node i writes. An operation that works sample by
// sample overwrites its first input if nothing reads that later.
func (e *executor[T]) target(i int, n *model.Node) []T {
	switch n.Op {
	case model.OpLeakyReLU, model.OpSigmoid, model.OpAdd, model.OpInstanceNorm, model.OpMap, model.OpPReLU, model.OpAffine, model.OpQuantize, model.OpDequantize:
		if e.last[n.In[0]] == i {
			return e.values[n.In[0]]
		}
	}
	return make([]T, e.shapes[i].Elems())
}

func (e *executor[T]) compute(ctx context.Context, i int, n *model.Node) error {
	s, first := e.shapes[i], e.shapes[n.In[0]]
	src, dst := e.values[n.In[0]], e.target(i, n)
	e.values[i] = dst
	area, from := s.H*s.W, first.H*first.W
	plane := func(c int) []T { return dst[c*area:][:area] }
	source := func(c int) []T { return src[c*from:][:from] }

	var task func(c int) // makes plane c
	switch n.Op {
	case model.OpConv:
		if n.K == 0 {
			return windowConv(ctx, e.pool, dst, src, first, s, e.param(n.Weight), e.param(n.Bias), n)
		}
		return e.conv(ctx, e.pool, dst, src, first, e.param(n.Weight), e.param(n.Bias), n.K, n.Pad)
	case model.OpQuantConv:
		return e.quantConv(ctx, dst, src, first, n)
	case model.OpQuantize:
		task = func(c int) { quantize(plane(c), source(c), n) }
	case model.OpDequantize:
		task = func(c int) { dequantize(plane(c), source(c), n) }
	case model.OpConcat:
		for _, in := range n.In {
			dst = dst[copy(dst, e.values[in]):]
		}
		return ctx.Err()
	case model.OpLeakyReLU:
		task = func(c int) { leakyReLU(plane(c), source(c), n.Slope) }
	case model.OpSigmoid:
		task = func(c int) { sigmoid(plane(c), source(c)) }
	case model.OpAdd:
		other := e.values[n.In[1]]
		task = func(c int) { add(plane(c), source(c), other[c*area:][:area]) }
	case model.OpInstanceNorm:
		weight, bias := e.param(n.Weight), e.param(n.Bias)
		task = func(c int) { instanceNorm(plane(c), source(c), weight[c], bias[c], n.Eps) }
	case model.OpMaxPool:
		task = func(c int) { maxPool(plane(c), source(c), first.H, first.W) }
	case model.OpUpsample:
		rows, cols := upsampleTaps(first.H, n.AlignCorners), upsampleTaps(first.W, n.AlignCorners)
		task = func(c int) { upsample(plane(c), source(c), first.W, rows, cols) }
	case model.OpPixelShuffle:
		task = func(c int) { pixelShuffle(plane(c), src[4*c*from:], first.H, first.W) }
	default:
		if task = e.foreign(n, s, first, dst, src); task == nil {
			return fmt.Errorf("operation %s cannot be run", n.Op)
		}
	}
	return e.pool.each(ctx, s.C, func(_, c int) { task(c) })
}
