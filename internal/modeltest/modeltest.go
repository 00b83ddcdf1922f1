// Package modeltest makes small random networks for property tests: every
// operation of package model, in the arrangements that executors treat
// specially (parallel convolutions joined, residual sums, nested joins, operands
// used twice) and in arbitrary ones.
package modeltest

import (
	"fmt"
	"math/rand/v2"

	"enhance/model"
)

// Options bound a random graph; zero values take the defaults.
type Options struct {
	Steps    int   // how many arrangements are strung together; 6
	Kernels  []int // sides of convolutions; 1, 3, 5, 7, 9
	Channels []int // channels of convolutions; 1 to 6
}

// maxChannels bounds joined values, so that arithmetic stays cheap.
const maxChannels = 24

// Graph makes a valid graph that depends on rng alone.
func Graph(rng *rand.Rand, o Options) *model.Graph {
	if o.Steps == 0 {
		o.Steps = 6
	}
	if o.Kernels == nil {
		o.Kernels = []int{1, 3, 5, 7, 9}
	}
	if o.Channels == nil {
		o.Channels = []int{1, 2, 3, 4, 5, 6}
	}
	in := 1 + rng.IntN(4)
	g := &generator{Builder: model.NewBuilder(in), o: o, rng: rng, vals: []value{{0, in, 0}}}
	for range o.Steps {
		g.arrangement()
	}
	out := g.last()
	if rng.IntN(8) == 0 { // leaves nodes that the result does not need
		out = g.vals[rng.IntN(len(g.vals))]
	}
	graph, err := g.Graph(out.node)
	if err != nil {
		panic("modeltest: made an invalid graph: " + err.Error())
	}
	return graph
}

// Model is g with formula weights and a convention that changes nothing.
func Model(seed string, g *model.Graph) *model.Model {
	return &model.Model{
		Arch:   "random",
		Graph:  g,
		Params: model.FormulaParams(seed, g),
		Convention: model.Convention{Pack: [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}}, Gamma: 1, Divisor: 1,
			Multiple: 1, MinSide: 1, ScaleNum: 1, ScaleDen: 1},
	}
}

// Sides picks an input size with sides of at most most (at least 1) that g can
// run: any one that fits, so odd ones where nothing pooled is joined again.
func Sides(rng *rand.Rand, g *model.Graph, mostH, mostW int) (h, w int) {
	for range 20 {
		h, w = 1+rng.IntN(mostH), 1+rng.IntN(mostW)
		if _, err := g.Shapes(h, w); err == nil {
			return h, w
		}
	}
	for m := 2; ; m *= 2 { // multiples of what the poolings need always fit
		h, w = m*(1+rng.IntN(max(1, mostH/m))), m*(1+rng.IntN(max(1, mostW/m)))
		if _, err := g.Shapes(h, w); err == nil {
			return h, w
		}
	}
}

// value is a node's value: its channels, and its sides as a power of two of the
// input's.
type value struct{ node, c, scale int }

type generator struct {
	*model.Builder
	o    Options
	rng  *rand.Rand
	vals []value
	n    int
}

func (g *generator) name(op string) string {
	g.n++
	return fmt.Sprintf("n%d_%s", g.n, op)
}

func (g *generator) keep(node, c, scale int) value {
	v := value{node, c, scale}
	g.vals = append(g.vals, v)
	return v
}

func (g *generator) last() value { return g.vals[len(g.vals)-1] }

// pick prefers recent values.
func (g *generator) pick() value {
	if g.rng.IntN(3) > 0 {
		return g.last()
	}
	return g.vals[g.rng.IntN(len(g.vals))]
}

// like lists the values of v's sides, and with channels, of v's channels.
func (g *generator) like(v value, channels bool) []value {
	var vs []value
	for _, u := range g.vals {
		if u.scale == v.scale && (!channels || u.c == v.c) {
			vs = append(vs, u)
		}
	}
	return vs
}

func (g *generator) choose(list []int) int { return list[g.rng.IntN(len(list))] }

func (g *generator) arrangement() {
	v := g.pick()
	switch g.rng.IntN(12) {
	case 0, 1:
		g.layer(v, g.choose(g.o.Channels))
	case 2, 3:
		g.block(v)
	case 4:
		if v.scale > -3 {
			v = g.keep(g.MaxPool(g.name("pool"), v.node), v.c, v.scale-1)
			g.layer(v, g.choose(g.o.Channels))
		}
	case 5, 6:
		if v.scale < 1 {
			g.keep(g.Upsample(g.name("up"), v.node, g.rng.IntN(2) == 0), v.c, v.scale+1)
		}
	case 7:
		g.join(v)
	case 8:
		same := g.like(v, true)
		u := same[g.rng.IntN(len(same))]
		g.keep(g.Add(g.name("add"), v.node, u.node), v.c, v.scale)
	case 9:
		if v.scale < 1 {
			c := 4 * (1 + g.rng.IntN(2))
			conv := g.conv(v, c)
			g.keep(g.PixelShuffle(g.name("shuffle"), conv), c/4, v.scale+1)
		}
	case 10:
		g.keep(g.InstanceNorm(g.name("norm"), fmt.Sprintf("p%d", g.n), v.node, 1e-2), v.c, v.scale)
	case 11:
		g.activation(v)
	}
}

func (g *generator) conv(v value, c int) int {
	n := g.name("conv")
	return g.Conv(n, n, v.node, c, g.choose(g.o.Kernels))
}

func (g *generator) activation(v value) value {
	if g.rng.IntN(3) == 0 {
		return g.keep(g.Sigmoid(g.name("sigmoid"), v.node), v.c, v.scale)
	}
	return g.keep(g.LeakyReLU(g.name("lrelu"), v.node, float32(g.rng.IntN(5))/8), v.c, v.scale)
}

// layer is a convolution with any of norm, activation and residual, and perhaps an activation behind that.
func (g *generator) layer(v value, c int) {
	same := g.like(value{c: c, scale: v.scale}, true)
	norm, act := g.rng.IntN(3) == 0, g.rng.IntN(3)
	out := g.branch(v, c, norm, act)
	if len(same) > 0 && g.rng.IntN(2) == 0 {
		sum := g.residual(out, same[g.rng.IntN(len(same))])
		if !norm && act == 0 { // as ResNet has it; nobody else reads the sum
			g.vals[len(g.vals)-1].node = g.LeakyReLU(g.name("lrelu"), sum.node, 0.25)
		}
		return
	}
	g.keep(out.node, out.c, out.scale)
}

func (g *generator) residual(a, b value) value {
	x, y := a.node, b.node
	if g.rng.IntN(2) == 0 {
		x, y = y, x
	}
	return g.keep(g.Add(g.name("add"), x, y), a.c, a.scale)
}

// branch is a convolution of v, normalised if norm, and with activation act (0
// none, 1 leaky ReLU, 2 sigmoid). Its value is not kept for others to read.
func (g *generator) branch(v value, c int, norm bool, act int) value {
	x := g.conv(v, c)
	if norm {
		x = g.InstanceNorm(g.name("norm"), fmt.Sprintf("p%d", g.n), x, 1e-2)
	}
	switch act {
	case 1:
		x = g.LeakyReLU(g.name("lrelu"), x, 0.2)
	case 2:
		x = g.Sigmoid(g.name("sigmoid"), x)
	}
	return value{x, c, v.scale}
}

// block is parallel branches joined in any order, perhaps with another join
// around it, and a residual.
func (g *generator) block(v value) {
	norm, act := g.rng.IntN(3) == 0, g.rng.IntN(3)
	make1 := func() value { return g.branch(v, g.choose(g.o.Channels), norm, act) }
	branches := []value{make1(), make1()}
	if g.rng.IntN(3) == 0 {
		branches = append(branches, make1())
	}
	if g.rng.IntN(6) == 0 { // one branch unlike the others
		branches[0] = g.branch(v, g.choose(g.o.Channels), !norm, act)
	}
	g.rng.Shuffle(len(branches), func(i, j int) { branches[i], branches[j] = branches[j], branches[i] })
	out := g.concat(branches)
	if g.rng.IntN(4) == 0 && out.c+6 <= maxChannels { // nested: join the join with one more branch
		outer := []value{out, make1()}
		if g.rng.IntN(2) == 0 {
			outer[0], outer[1] = outer[1], outer[0]
		}
		out = g.concat(outer)
	}
	same := g.like(out, true)
	if len(same) > 0 && g.rng.IntN(2) == 0 {
		g.residual(out, same[g.rng.IntN(len(same))])
		return
	}
	out = g.keep(out.node, out.c, out.scale)
	if g.rng.IntN(3) == 0 { // the shape of a residual block
		first := g.branch(out, 1, norm, act)
		if out.c > 1 {
			first = g.concat([]value{first, g.branch(out, out.c-1, norm, act)})
		}
		g.residual(first, out)
	}
}

func (g *generator) concat(vs []value) value {
	nodes, c := []int{}, 0
	for _, v := range vs {
		nodes, c = append(nodes, v.node), c+v.c
	}
	return value{g.Concat(g.name("cat"), nodes...), c, vs[0].scale}
}

// join concatenates one to six values of v's sides, some perhaps twice.
func (g *generator) join(v value) {
	same := g.like(v, false)
	vs := []value{v}
	for c := v.c; len(vs) < 6 && g.rng.IntN(4) > 0; {
		u := same[g.rng.IntN(len(same))]
		if c += u.c; c > maxChannels {
			break
		}
		vs = append(vs, u)
	}
	out := g.concat(vs)
	g.keep(out.node, out.c, out.scale)
}
