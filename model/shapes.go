package model

import "fmt"

// maxSide bounds the sides of every value, so that the element count of any
// value (maxChannels·maxSide²) fits an int64.
const maxSide = 1 << 20

// Shapes gives the shape of every node's value for an input of h rows and w
// columns, in node order. It fails for an invalid graph, for sides outside
// 1..2^20, for a plane too small for a kernel, and where planes of different
// sizes meet (an odd side was pooled and enlarged again).
func (g *Graph) Shapes(h, w int) ([]Shape, error) {
	if err := g.Validate(); err != nil {
		return nil, err
	}
	if h < 1 || w < 1 || h > maxSide || w > maxSide {
		return nil, fmt.Errorf("graph: input of %d rows and %d columns: want 1..%d each", h, w, maxSide)
	}
	channels, err := g.checkFlow()
	if err != nil {
		return nil, err
	}
	shapes := make([]Shape, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		s := Shape{C: channels[i], H: h, W: w}
		if n.Op != OpInput {
			s.H, s.W, err = g.sides(n, shapes)
		}
		if err != nil {
			return nil, fmt.Errorf("graph: node %q %w: the input of %dx%d is not what its poolings, strides and kernels need", n.Name, err, h, w)
		}
		if s.H < 1 || s.W < 1 || s.H > maxSide || s.W > maxSide {
			return nil, fmt.Errorf("graph: node %q would be %s for an input of %dx%d: sides must stay within 1..%d", n.Name, s, h, w, maxSide)
		}
		shapes[i] = s
	}
	return shapes, nil
}

// sides gives the sides of n's value.
func (g *Graph) sides(n *Node, shapes []Shape) (h, w int, err error) {
	first := shapes[n.In[0]]
	h, w = first.H, first.W
	switch n.Op {
	case OpMaxPool:
		return h / 2, w / 2, nil
	case OpUpsample, OpPixelShuffle:
		return h * 2, w * 2, nil
	case OpConcat, OpAdd:
		for _, in := range n.In[1:] {
			if o := shapes[in]; o.H != h || o.W != w {
				return 0, 0, fmt.Errorf("joins planes of %dx%d and %dx%d", h, w, o.H, o.W)
			}
		}
	case OpBinary:
		second := shapes[n.In[len(n.In)-1]]
		if h != second.H && min(h, second.H) != 1 || w != second.W && min(w, second.W) != 1 {
			return 0, 0, fmt.Errorf("joins planes of %dx%d and %dx%d", h, w, second.H, second.W)
		}
		return max(h, second.H), max(w, second.W), nil
	case OpMatMul:
		if second := shapes[n.In[1]]; second.H != h || second.W != first.C {
			return 0, 0, fmt.Errorf("multiplies %d matrices of %d columns by %d of %d rows", h, first.C, second.H, second.W)
		}
	case OpRearrange:
		out, err := n.Rearrange.Out(first)
		return out.H, out.W, err
	case OpConv:
		if n.K == 0 {
			h, w = n.Window.Out(h, w)
		}
	case OpPool:
		h, w = n.Window.Out(h, w)
	case OpGlobalPool:
		return 1, 1, nil
	case OpDepthToSpace:
		return h * n.Factor, w * n.Factor, nil
	case OpSpaceToDepth:
		if h%n.Factor != 0 || w%n.Factor != 0 {
			return 0, 0, fmt.Errorf("cuts a plane of %dx%d into blocks of %dx%d", h, w, n.Factor, n.Factor)
		}
		return h / n.Factor, w / n.Factor, nil
	case OpResize:
		h, w = n.Resize.sides(h, w)
	case OpPad:
		h, w = h+n.Window.Top+n.Window.Bottom, w+n.Window.Left+n.Window.Right
		if n.Pad == PadReflect && max(n.Window.Top, n.Window.Bottom) >= first.H || n.Pad == PadReflect && max(n.Window.Left, n.Window.Right) >= first.W {
			return 0, 0, fmt.Errorf("reflects more of a plane of %dx%d than it has", first.H, first.W)
		}
	case OpCrop:
		h, w = h-n.Window.Top-n.Window.Bottom, w-n.Window.Left-n.Window.Right
		h, w = (h+n.Window.StrideH-1)/n.Window.StrideH, (w+n.Window.StrideW-1)/n.Window.StrideW
	}
	return h, w, nil
}
