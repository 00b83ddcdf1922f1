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
	case OpAdd:
		return 2, 2
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

func (n *Node) checkAttributes() error {
	used := Node{Name: n.Name, Op: n.Op, In: n.In}
	switch n.Op {
	case OpInput, OpConv:
		used.C = n.C
		if n.C < 1 || n.C > maxChannels {
			return fmt.Errorf("%d channels: want 1..%d", n.C, maxChannels)
		}
	case OpLeakyReLU:
		used.Slope = n.Slope
		if !finite(n.Slope) {
			return fmt.Errorf("slope is not finite")
		}
	case OpUpsample:
		used.AlignCorners = n.AlignCorners
	case OpInstanceNorm:
		used.Eps = n.Eps
		if !finite(n.Eps) || n.Eps <= 0 {
			return fmt.Errorf("epsilon %g: want a finite number above 0", n.Eps)
		}
	}
	if n.Op == OpConv {
		used.K = n.K
		if n.K < 1 || n.K > maxKernel || n.K%2 == 0 {
			return fmt.Errorf("kernel of %d×%d: want an odd side of 1..%d", n.K, n.K, maxKernel)
		}
	}
	if n.Op == OpConv || n.Op == OpInstanceNorm {
		used.Weight, used.Bias = n.Weight, n.Bias
		if n.Weight == "" || n.Bias == "" || n.Weight == n.Bias {
			return fmt.Errorf("weight %q and bias %q: want two different names", n.Weight, n.Bias)
		}
	}
	if n.C != used.C || n.K != used.K || n.Slope != used.Slope || n.AlignCorners != used.AlignCorners ||
		n.Eps != used.Eps || n.Weight != used.Weight || n.Bias != used.Bias {
		return fmt.Errorf("a field that this operation does not use is not zero")
	}
	return nil
}

func finite(x float32) bool { return !math.IsNaN(float64(x)) && !math.IsInf(float64(x), 0) }

// checkFlow gives the channels of every value after checking that the values
// meeting in one node have fitting channels and the same scale (a power of two
// relative to the input).
func (g *Graph) checkFlow() ([]int, error) {
	channels := make([]int, len(g.Nodes))
	scale := make([]int, len(g.Nodes)) // log2 of the side relative to the input's
	for i := range g.Nodes {
		n := &g.Nodes[i]
		bad := func(format string, args ...any) error {
			return fmt.Errorf("graph: node %d %q (%s): %s", i, n.Name, n.Op, fmt.Sprintf(format, args...))
		}
		if n.Op == OpInput {
			channels[i] = n.C
			continue
		}
		first := n.In[0]
		channels[i], scale[i] = channels[first], scale[first]
		for _, in := range n.In[1:] {
			if scale[in] != scale[first] {
				return nil, bad("%q and %q differ in scale (2^%d and 2^%d of the input)",
					g.Nodes[first].Name, g.Nodes[in].Name, scale[first], scale[in])
			}
		}
		switch n.Op {
		case OpConv:
			channels[i] = n.C
		case OpConcat:
			for _, in := range n.In[1:] {
				channels[i] += channels[in]
				if channels[i] > maxChannels {
					return nil, bad("more than %d channels", maxChannels)
				}
			}
		case OpAdd:
			if a, b := channels[first], channels[n.In[1]]; a != b {
				return nil, bad("adds %d channels to %d", b, a)
			}
		case OpMaxPool:
			scale[i]--
		case OpUpsample:
			scale[i]++
		case OpPixelShuffle:
			if channels[i]%4 != 0 {
				return nil, bad("%d channels are not a multiple of 4", channels[i])
			}
			channels[i] /= 4
			scale[i]++
		}
	}
	return channels, nil
}

// ParamSpec is a parameter that a graph asks for.
type ParamSpec struct {
	Name  string
	Shape []int // OIHW for the weight of a convolution, one number otherwise
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
		switch n.Op {
		case OpConv:
			err = add(n.Name, n.Weight, n.C, channels[n.In[0]], n.K, n.K)
		case OpInstanceNorm:
			err = add(n.Name, n.Weight, channels[i])
		default:
			continue
		}
		if err == nil {
			err = add(n.Name, n.Bias, channels[i])
		}
		if err != nil {
			return nil, err
		}
	}
	return specs, nil
}
