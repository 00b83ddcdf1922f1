package model

import (
	"fmt"
	"math"
	"slices"
)

// maxChannels bounds the channels of one value, and maxKernel the side of a
// kernel: far above any network, low enough that sizes cannot overflow int64.
const (
	maxChannels = 1 << 20
	maxKernel   = 1 << 10
)

// Validate reports the first thing that makes g impossible to run: an unknown
// operation, a wrong number of inputs, an input that is not made earlier, a name
// used twice, a parameter asked for in two shapes, channel counts or scales that
// do not fit together, a field that is out of range or that the operation ignores.
// Nodes that Out does not depend on are allowed.
func (g *Graph) Validate() error {
	if len(g.Nodes) == 0 {
		return fmt.Errorf("graph: no nodes")
	}
	if g.Out < 0 || g.Out >= len(g.Nodes) {
		return fmt.Errorf("graph: output node %d is not one of its %d nodes", g.Out, len(g.Nodes))
	}
	seen := make(map[string]int, len(g.Nodes))
	for i := range g.Nodes {
		n := &g.Nodes[i]
		if n.Name == "" {
			return fmt.Errorf("graph: node %d (%s) has no name", i, n.Op)
		}
		if j, dup := seen[n.Name]; dup {
			return fmt.Errorf("graph: nodes %d and %d are both named %q", j, i, n.Name)
		}
		seen[n.Name] = i
		if err := n.checkFields(i); err != nil {
			return fmt.Errorf("graph: node %d %q (%s): %w", i, n.Name, n.Op, err)
		}
	}
	channels, err := g.checkFlow()
	if err != nil {
		return err
	}
	_, err = g.params(channels)
	return err
}

// arity gives the least and the most inputs an operation takes.
func (op Op) arity() (least, most int) {
	switch op {
	case OpInput:
		return 0, 0
	case OpConcat:
		return 1, math.MaxInt
	case OpAdd, OpMatMul:
		return 2, 2
	case OpBinary:
		return 1, 2
	}
	return 1, 1
}

// checkFields checks what can be said of node i without its inputs.
func (n *Node) checkFields(i int) error {
	if int(n.Op) >= len(opNames) {
		return fmt.Errorf("unknown operation")
	}
	if (n.Op == OpInput) != (i == 0) {
		return fmt.Errorf("node 0, and no other, must be the input")
	}
	least, most := n.Op.arity()
	if len(n.In) < least || len(n.In) > most {
		return fmt.Errorf("%d inputs do not fit this operation", len(n.In))
	}
	for _, in := range n.In {
		if in < 0 || in >= i {
			return fmt.Errorf("input %d is not made before it", in)
		}
	}
	return n.checkAttributes()
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// ParamSpec is a parameter that a graph asks for.
type ParamSpec struct {
	Name  string
	Shape []int // OIHW for the weight of a convolution, I those of one group; one number otherwise
}

// Params lists the parameters of a valid graph in the order of their first use:
// each once, even if several nodes share it. It panics if g is not valid.
func (g *Graph) Params() []ParamSpec {
	channels, err := g.checkFlow()
	if err != nil {
		panic("model: Params of an invalid graph: " + err.Error())
	}
	specs, err := g.params(channels)
	if err != nil {
		panic("model: Params of an invalid graph: " + err.Error())
	}
	return specs
}

func (g *Graph) params(channels []int) ([]ParamSpec, error) {
	var specs []ParamSpec
	at := make(map[string]int)
	add := func(node, name string, shape ...int) error {
		j, known := at[name]
		if !known {
			at[name] = len(specs)
			specs = append(specs, ParamSpec{Name: name, Shape: shape})
			return nil
		}
		if !slices.Equal(specs[j].Shape, shape) {
			return fmt.Errorf("graph: node %q wants parameter %q as %v, an earlier node as %v", node, name, shape, specs[j].Shape)
		}
		return nil
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		var err error
		if n.Weight != "" {
			shape := []int{channels[i]}
			if n.Op.Convolves() {
				shape = n.kernelShape(channels[n.In[0]])
			}
			err = add(n.Name, n.Weight, shape...)
		}
		if err == nil && n.Bias != "" {
			err = add(n.Name, n.Bias, channels[i])
		}
		if err == nil && n.Scales != "" {
			err = add(n.Name, n.Scales, channels[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return specs, nil
}
