package model

import "fmt"

// maxSide bounds the sides of every value, so that the element count of any
// value (maxChannels·maxSide²) fits an int64.
const maxSide = 1 << 20

// Shapes gives the shape of every node's value for an input of h rows and w
// columns, in node order. It fails for an invalid graph, for sides outside
// 1..2^20, for a plane too small to be pooled, and where planes of different
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
			first := shapes[n.In[0]]
			s.H, s.W = first.H, first.W
		}
		switch n.Op {
		case OpMaxPool:
			s.H, s.W = s.H/2, s.W/2
		case OpUpsample, OpPixelShuffle:
			s.H, s.W = s.H*2, s.W*2
		case OpConcat, OpAdd:
			for _, in := range n.In[1:] {
				if o := shapes[in]; o.H != s.H || o.W != s.W {
					return nil, fmt.Errorf("graph: node %q joins planes of %d×%d and %d×%d: the input of %d×%d is not a multiple of what its poolings need",
						n.Name, s.H, s.W, o.H, o.W, h, w)
				}
			}
		}
		if s.H < 1 || s.W < 1 || s.H > maxSide || s.W > maxSide {
			return nil, fmt.Errorf("graph: node %q would be %s for an input of %d×%d: sides must stay within 1..%d", n.Name, s, h, w, maxSide)
		}
		shapes[i] = s
	}
	return shapes, nil
}
