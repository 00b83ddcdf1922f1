package model

import "fmt"

// Grower makes a graph node by node for an input of one size, and knows the shape of every
// value as it goes. It serves importers, which must know shapes before the graph is whole.
type Grower struct {
	g        Graph
	channels []int
	scales   []scale
	shapes   []Shape
	names    map[string]int
}

// NewGrower starts a graph whose input, node 0, has the shape s.
func NewGrower(s Shape) (*Grower, error) {
	w := &Grower{names: map[string]int{}}
	if err := checkSides(s.H, s.W); err != nil {
		return nil, err
	}
	if _, err := w.Add(Node{Name: "input", Op: OpInput, C: s.C}); err != nil {
		return nil, err
	}
	w.shapes[0] = s
	return w, nil
}

// Add appends a node and returns its index. An error says what makes the node impossible; the
// node is then not added.
func (w *Grower) Add(n Node) (int, error) {
	i := len(w.g.Nodes)
	if _, dup := w.names[n.Name]; dup || n.Name == "" {
		return 0, fmt.Errorf("the name %q of a node is empty or taken", n.Name)
	}
	if err := n.checkFields(i); err != nil {
		return 0, err
	}
	c, s, err := w.g.flow(&n, w.channels, w.scales)
	if err == nil && !s.bounded() {
		err = fmt.Errorf("its side would be %v of the input's", s)
	}
	if err != nil {
		return 0, err
	}
	shape := Shape{C: c, H: 1, W: 1}
	if n.Op != OpInput {
		if shape.H, shape.W, err = w.g.sides(&n, w.shapes); err != nil {
			return 0, err
		}
	}
	if err := checkSides(shape.H, shape.W); err != nil {
		return 0, err
	}
	w.names[n.Name] = i
	w.g.Nodes = append(w.g.Nodes, n)
	w.channels, w.scales, w.shapes = append(w.channels, c), append(w.scales, s), append(w.shapes, shape)
	return i, nil
}

// Shape is the shape of node i's value.
func (w *Grower) Shape(i int) Shape { return w.shapes[i] }

// Node is node i. Its parameters' names may be changed, and nothing else.
func (w *Grower) Node(i int) *Node { return &w.g.Nodes[i] }

// Named reports whether a node has the name.
func (w *Grower) Named(name string) bool {
	_, ok := w.names[name]
	return ok
}

// Graph is the graph whose result is node out.
func (w *Grower) Graph(out int) (*Graph, error) {
	g := &Graph{Nodes: w.g.Nodes, Out: out}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return g, nil
}

func checkSides(h, w int) error {
	if h < 1 || w < 1 || h > maxSide || w > maxSide {
		return fmt.Errorf("a plane of %dx%d: want sides of 1..%d", h, w, maxSide)
	}
	return nil
}
