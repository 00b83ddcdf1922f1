package model

// FLOPs is the work of the convolutions a valid graph's result needs, for an
// input of h×w: two per multiply-add, every tap counted, also those on padding.
func (g *Graph) FLOPs(h, w int) (int64, error) {
	shapes, err := g.Shapes(h, w)
	if err != nil {
		return 0, err
	}
	total := int64(0)
	for i, needed := range g.Needed() {
		if needed {
			total += g.NodeFLOPs(i, shapes)
		}
	}
	return total, nil
}

// NodeFLOPs is the work of one node, 0 if it is not a convolution; shapes are
// those of Shapes.
func (g *Graph) NodeFLOPs(i int, shapes []Shape) int64 {
	n := &g.Nodes[i]
	if n.Op != OpConv {
		return 0
	}
	return 2 * int64(n.K*n.K) * int64(shapes[n.In[0]].C) * shapes[i].Elems()
}

// Needed says of every node whether the result depends on it.
func (g *Graph) Needed() []bool {
	needed := make([]bool, len(g.Nodes))
	needed[g.Out] = true
	for i := len(g.Nodes) - 1; i > 0; i-- {
		if needed[i] {
			for _, in := range g.Nodes[i].In {
				needed[in] = true
			}
		}
	}
	return needed
}
