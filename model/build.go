package model

// Builder makes a graph node by node. Every method appends one node and returns
// its index, to be used as input of later ones. Mistakes surface in Graph.
type Builder struct {
	// Pad is what convolutions see outside a plane.
	Pad   PadMode
	nodes []Node
}

// NewBuilder starts a graph whose input, node 0, has c channels.
func NewBuilder(c int) *Builder {
	return &Builder{nodes: []Node{{Name: "input", Op: OpInput, C: c}}}
}

func (b *Builder) add(n Node) int {
	b.nodes = append(b.nodes, n)
	return len(b.nodes) - 1
}

// Conv appends a k×k convolution to c channels with parameters params.weight and params.bias.
func (b *Builder) Conv(name, params string, in, c, k int) int {
	return b.add(Node{Name: name, Op: OpConv, In: []int{in}, C: c, K: k, Pad: b.Pad, Weight: params + ".weight", Bias: params + ".bias"})
}

// InstanceNorm appends an instance norm with parameters params.weight and params.bias.
func (b *Builder) InstanceNorm(name, params string, in int, eps float32) int {
	return b.add(Node{Name: name, Op: OpInstanceNorm, In: []int{in}, Eps: eps, Weight: params + ".weight", Bias: params + ".bias"})
}

// LeakyReLU appends a leaky rectifier.
func (b *Builder) LeakyReLU(name string, in int, slope float32) int {
	return b.add(Node{Name: name, Op: OpLeakyReLU, In: []int{in}, Slope: slope})
}

// MaxPool appends a 2×2 pooling.
func (b *Builder) MaxPool(name string, in int) int {
	return b.add(Node{Name: name, Op: OpMaxPool, In: []int{in}})
}

// Upsample appends a bilinear enlargement by two.
func (b *Builder) Upsample(name string, in int, alignCorners bool) int {
	return b.add(Node{Name: name, Op: OpUpsample, In: []int{in}, AlignCorners: alignCorners})
}

// Concat appends a concatenation on channels.
func (b *Builder) Concat(name string, in ...int) int {
	return b.add(Node{Name: name, Op: OpConcat, In: append([]int(nil), in...)})
}

// Add appends a sum of two values.
func (b *Builder) Add(name string, x, y int) int {
	return b.add(Node{Name: name, Op: OpAdd, In: []int{x, y}})
}

// PixelShuffle appends a rearrangement of 4c channels to c at twice the sides.
func (b *Builder) PixelShuffle(name string, in int) int {
	return b.add(Node{Name: name, Op: OpPixelShuffle, In: []int{in}})
}

// Sigmoid appends a logistic function.
func (b *Builder) Sigmoid(name string, in int) int {
	return b.add(Node{Name: name, Op: OpSigmoid, In: []int{in}})
}

// Graph finishes with node out as the result, or says why the graph is not valid.
func (b *Builder) Graph(out int) (*Graph, error) {
	g := &Graph{Nodes: b.nodes, Out: out}
	if err := g.Validate(); err != nil {
		return nil, err
	}
	return g, nil
}

// mustGraph is Graph for architectures whose options have been checked.
func (b *Builder) mustGraph(out int) *Graph {
	g, err := b.Graph(out)
	if err != nil {
		panic("model: built an invalid graph: " + err.Error())
	}
	return g
}
