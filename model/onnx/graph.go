package onnx

import "fmt"

// Graph is a list of nodes in an order in which they can be run, and the constants they use.
type Graph struct {
	Name            string
	Nodes           []*Node
	Inputs, Outputs []*Value
	Initializers    map[string]*Tensor
}

// Value is the name and type of an input or an output.
type Value struct {
	Name string
	Type Type // 0 if it is no tensor or the file does not say
	// Dims has a number for each dimension, or -1 and in Symbols its name, which may be "".
	// Ranked says that the file tells how many there are.
	Ranked  bool
	Dims    []int64
	Symbols []string
}

// Node is one operation.
type Node struct {
	Name, Op, Domain string
	In, Out          []string // "" is an input or output that is left out
	Attrs            map[string]*Attr
	Index            int // in the graph
}

// String names the node for errors.
func (n *Node) String() string {
	op := n.Op
	if n.Domain != "" && n.Domain != "ai.onnx" {
		op = n.Domain + "." + op
	}
	if n.Name == "" {
		return fmt.Sprintf("node %d (%s)", n.Index, op)
	}
	return fmt.Sprintf("node %d %q (%s)", n.Index, n.Name, op)
}

// Attr is an attribute of a node. Kind says which of the values it has.
type Attr struct {
	Kind    AttrKind
	F       float32
	I       int64
	S       string
	T       *Tensor
	Floats  []float32
	Ints    []int64
	Strings []string
}

// AttrKind is AttributeProto's type.
type AttrKind int64

const (
	AttrFloat   AttrKind = 1
	AttrInt     AttrKind = 2
	AttrString  AttrKind = 3
	AttrTensor  AttrKind = 4
	AttrGraph   AttrKind = 5 // control flow: not read
	AttrFloats  AttrKind = 6
	AttrInts    AttrKind = 7
	AttrStrings AttrKind = 8
)

func (p *parser) graph(b []byte) (*Graph, error) {
	g := &Graph{Initializers: map[string]*Tensor{}}
	err := fields("graph", b, func(d field) error {
		switch d.num {
		case 1:
			b, err := d.message("graph")
			if err != nil {
				return err
			}
			n, err := p.node(b, len(g.Nodes))
			g.Nodes = append(g.Nodes, n)
			return err
		case 2:
			return d.text("graph", &g.Name)
		case 5:
			return p.initializer(d, g)
		case 11:
			return p.value(d, &g.Inputs)
		case 12:
			return p.value(d, &g.Outputs)
		case 15:
			return formatError("sparse initializers are not read; save the network with dense ones")
		}
		return nil
	})
	return g, err
}

func (p *parser) initializer(d field, g *Graph) error {
	b, err := d.message("initializer")
	if err != nil {
		return err
	}
	t, err := p.tensor(b)
	if err != nil {
		return err
	}
	if t.Name == "" {
		return formatError("an initializer has no name")
	}
	if g.Initializers[t.Name] != nil {
		return formatError("two initializers are named %q", t.Name)
	}
	g.Initializers[t.Name] = t
	return nil
}

func (p *parser) node(b []byte, index int) (*Node, error) {
	n := &Node{Attrs: map[string]*Attr{}, Index: index}
	what := fmt.Sprintf("node %d", index)
	if err := p.count(what); err != nil {
		return n, err
	}
	return n, fields(what, b, func(d field) error {
		switch d.num {
		case 1, 2:
			var name string
			if err := d.text(what, &name); err != nil {
				return err
			}
			if d.num == 1 {
				n.In = append(n.In, name)
			} else {
				n.Out = append(n.Out, name)
			}
			return p.count(what)
		case 3:
			return d.text(what, &n.Name)
		case 4:
			return d.text(what, &n.Op)
		case 5:
			b, err := d.message(what)
			if err != nil {
				return err
			}
			return p.attr(b, n)
		case 7:
			return d.text(what, &n.Domain)
		}
		return nil
	})
}

func (p *parser) attr(b []byte, n *Node) error {
	a, name, what := &Attr{}, "", n.String()
	err := fields(what, b, func(d field) error {
		switch d.num {
		case 1:
			return d.text(what, &name)
		case 2:
			var f []float32
			if err := d.floats(what, &f); err != nil || len(f) == 0 {
				return err
			}
			a.F = f[len(f)-1]
		case 3:
			return d.integer(what, &a.I)
		case 4:
			return d.text(what, &a.S)
		case 5:
			b, err := d.message(what)
			if err != nil {
				return err
			}
			a.T, err = p.tensor(b)
			return err
		case 6, 11:
			a.Kind = AttrGraph
		case 7:
			return d.floats(what, &a.Floats)
		case 8:
			return d.integers(what, &a.Ints)
		case 9:
			var s string
			if err := d.text(what, &s); err != nil {
				return err
			}
			a.Strings = append(a.Strings, s)
			return p.count(what)
		case 20:
			return d.integer(what, (*int64)(&a.Kind))
		}
		return nil
	})
	if err != nil {
		return err
	}
	if n.Attrs[name] != nil {
		return formatError("%s has the attribute %q twice", what, name)
	}
	n.Attrs[name] = a
	return p.count(what)
}

func (p *parser) value(d field, to *[]*Value) error {
	const what = "input or output"
	b, err := d.message(what)
	if err != nil {
		return err
	}
	v := &Value{}
	*to = append(*to, v)
	if err := p.count(what); err != nil {
		return err
	}
	return fields(what, b, func(d field) error {
		switch d.num {
		case 1:
			return d.text(what, &v.Name)
		case 2:
			return nested(d, what, func(d field) error {
				if d.num != 1 { // sequences, maps: no tensors
					return nil
				}
				return nested(d, what, func(d field) error {
					switch d.num {
					case 1:
						return d.integer(what, (*int64)(&v.Type))
					case 2:
						v.Ranked = true
						return nested(d, what, func(d field) error { return p.dim(d, v) })
					}
					return nil
				})
			})
		}
		return nil
	})
}

// nested reads the message in a field.
func nested(d field, what string, do func(field) error) error {
	b, err := d.message(what)
	if err != nil {
		return err
	}
	return fields(what, b, do)
}

// maxRank bounds the dimensions of a tensor.
const maxRank = 32

func (p *parser) dim(d field, v *Value) error {
	if d.num != 1 {
		return nil
	}
	size, symbol := int64(-1), ""
	err := nested(d, v.Name, func(d field) error {
		switch d.num {
		case 1:
			return d.integer(v.Name, &size)
		case 2:
			return d.text(v.Name, &symbol)
		}
		return nil
	})
	if size < 0 {
		size = -1
	}
	v.Dims, v.Symbols = append(v.Dims, size), append(v.Symbols, symbol)
	if err == nil && len(v.Dims) > maxRank {
		err = formatError("%q has more than %d dimensions", v.Name, maxRank)
	}
	return err
}
