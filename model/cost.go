package model

// FLOPs is the work of the convolutions and matrix products a valid graph's result needs, for an
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

// NodeFLOPs is the work of one node, 0 if it is neither a convolution nor a matrix product; shapes are
// those of Shapes.
func (g *Graph) NodeFLOPs(i int, shapes []Shape) int64 {
	n := &g.Nodes[i]
	if n.Op == OpMatMul {
		return 2 * int64(shapes[n.In[0]].C) * shapes[i].Elems()
	}
	if !n.Op.Convolves() {
		return 0
	}
	k := n.kernelShape(shapes[n.In[0]].C)
	return 2 * int64(k[1]*k[2]*k[3]) * shapes[i].Elems()
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

// PeakActivations is the most samples that are alive at once when a graph is run
// node by node for an input of h×w, and the node where that is. Operations that
// work sample by sample overwrite an input that nothing else needs, a
// concatenation takes no memory of its own (its inputs were written into place),
// padding none, and nodes that the result does not need are not run.
func (g *Graph) PeakActivations(h, w int) (samples int64, node string, err error) {
	shapes, err := g.Shapes(h, w)
	if err != nil {
		return 0, "", err
	}
	l := newLiveness(g, shapes)
	for i := range g.Nodes {
		if l.needed[i] {
			l.place(i)
		}
	}
	// Sum up what is alive at each node from where storages begin and end.
	change := make([]int64, len(g.Nodes)+1)
	for _, s := range l.storages {
		change[s.begin] += s.samples
		change[s.end+1] -= s.samples
	}
	alive := int64(0)
	for i := range g.Nodes {
		if alive += change[i]; alive > samples {
			samples, node = alive, g.Nodes[i].Name
		}
	}
	return samples, node, nil
}

// storage is memory that one node writes first and node end reads last.
type storage struct {
	begin, end int
	samples    int64
}

// liveness finds which storages the value of each node lies in.
type liveness struct {
	g        *Graph
	shapes   []Shape
	needed   []bool
	last     []int   // the last node that reads each value
	where    [][]int // the storages of each value
	storages []storage
}

func newLiveness(g *Graph, shapes []Shape) *liveness {
	l := &liveness{g: g, shapes: shapes, needed: g.Needed(), last: make([]int, len(g.Nodes)), where: make([][]int, len(g.Nodes))}
	for i := range g.Nodes {
		l.last[i] = i
		if l.needed[i] {
			for _, in := range g.Nodes[i].In {
				l.last[in] = i
			}
		}
	}
	l.last[g.Out] = len(g.Nodes) - 1
	return l
}

// place decides where node i's value lies; those before it are placed.
func (l *liveness) place(i int) {
	n := &l.g.Nodes[i]
	switch n.Op {
	case OpConcat:
		for _, in := range n.In {
			l.where[i] = append(l.where[i], l.where[in]...)
		}
	case OpLeakyReLU, OpSigmoid, OpInstanceNorm, OpAdd, OpMap, OpPReLU, OpAffine, OpLayerNorm, OpGroupNorm, OpSoftmax, OpQuantize, OpDequantize:
		for _, in := range n.In {
			if l.where[i] == nil && l.ends(in, i) {
				l.where[i] = l.where[in]
			}
		}
	}
	if l.where[i] == nil {
		l.storages = append(l.storages, storage{begin: i, samples: l.shapes[i].Elems()})
		l.where[i] = []int{len(l.storages) - 1}
	}
	for _, s := range l.where[i] {
		l.storages[s].end = max(l.storages[s].end, l.last[i])
	}
}

// ends says whether nothing after node i reads what value lies in.
func (l *liveness) ends(value, i int) bool {
	for _, s := range l.where[value] {
		if l.storages[s].end > i {
			return false
		}
	}
	return true
}
