package model

import (
	"fmt"
	"maps"
	"slices"
)

// An ensemble answers with the mean of a network's answers to a mosaic that was mirrored and transposed
// (Lim et al., Enhanced Deep Residual Networks for Single Image Super-Resolution, 2017, section 3.3, where it is called
// geometric self-ensemble). Mirroring the mosaic, running the network and mirroring its answer back is the
// same as running the network with mirrored kernels. So an ensemble is a network of its own, whose branches have
// the same shapes, and plans, budgets and kernels need not know of it.
//
// A mirrored Bayer mosaic has its red samples in other places of the quads. The branch then takes quads that begin a sample
// earlier, of a mosaic that reflection makes larger.

// orientation is one way to look at a mosaic: rows and columns are mirrored first, then transposed.
type orientation struct{ rows, columns, transposed bool }

// orientations are those of ensembles of 2, 4 and 8. Two that share no axis and the four rotations raise the PSNR more
// than others of their number do (docs/quality.md).
var orientations = map[int][]orientation{
	2: {{}, {true, true, true}},
	4: {{}, {false, true, true}, {true, false, true}, {true, true, false}},
	8: {{}, {false, false, true}, {false, true, false}, {false, true, true},
		{true, false, false}, {true, false, true}, {true, true, false}, {true, true, true}},
}

// EnsembleSizes are the numbers of answers that Ensemble takes the mean of.
func EnsembleSizes() []int { return slices.Sorted(maps.Keys(orientations)) }

// Ensemble is the network whose answer is the mean of n answers of m to its input in different orientations.
// n is one of EnsembleSizes. Of the program's networks it takes pynet-m, of samples.
func (m *Model) Ensemble(n int) (*Model, error) {
	all := orientations[n]
	if all == nil {
		return nil, fmt.Errorf("an ensemble of %d: want %v", n, EnsembleSizes())
	}
	c := &m.Convention
	if m.Arch != "pynet-m" {
		return nil, fmt.Errorf("an ensemble of %s is not known: want a pynet-m, as the built-in fast, best, max and any are", m.Arch)
	}
	if c.Samples == SamplesQuad && c.Pack != [4][2]int{{0, 0}, {0, 1}, {1, 0}, {1, 1}} {
		return nil, fmt.Errorf("an ensemble of a network whose planes are in the order %v is not known", c.Pack)
	}
	if m.Graph.Nodes[m.Graph.Out].Op != OpPixelShuffle {
		return nil, fmt.Errorf("it is an ensemble already")
	}
	for i := range m.Graph.Nodes {
		if op := m.Graph.Nodes[i].Op; op == OpQuantConv {
			return nil, fmt.Errorf("an ensemble of a network of 8-bit codes is not known: take the weights that it was quantised from")
		}
	}
	e := &ensemble{of: m, params: map[string]*Tensor{}, scale: 1 / float32(n)} // a power of two, so that halves stay as exact
	e.b = NewBuilder(m.inputs())
	e.assemble(all)
	made := *m
	made.Graph, made.Params = e.b.mustGraph(e.out), e.params
	return &made, made.Validate()
}

// ensemble is one that is being made.
type ensemble struct {
	of     *Model
	b      *Builder
	params map[string]*Tensor
	scale  float32
	out    int
}

// assemble adds the branches, each of which adds its answer to the sum of those before: nothing
// else of one is needed by the next, so that a plan may hold one at a time.
func (e *ensemble) assemble(all []orientation) {
	for i, o := range all {
		answer := e.picture(i, o, e.branch(e.moved(i, o), i, o))
		if i > 0 {
			answer = e.b.Add(fmt.Sprintf("ensemble.%d+", i), e.out, answer)
		}
		e.out = answer
	}
}

// begin says whether quads begin a row, and a column, earlier than the mosaic.
func (e *ensemble) begin(o orientation) [2]bool {
	if e.of.Convention.Samples == SamplesMasked { // whose quads begin anywhere
		return [2]bool{}
	}
	return [2]bool{o.rows, o.columns}
}

// edges are by how much the mosaic is larger on each side. What quads that begin earlier add
// keeps the sides multiples of what the network takes.
func (e *ensemble) edges(o orientation) (w Window) {
	more := 2 * e.of.Convention.Multiple
	begin := e.begin(o)
	if begin[0] {
		w.Top, w.Bottom = 1, more-1
	}
	if begin[1] {
		w.Left, w.Right = 1, more-1
	}
	return w
}

// moved adds the input whose quads begin where the orientation wants.
func (e *ensemble) moved(i int, o orientation) int {
	w := e.edges(o)
	if w == (Window{}) {
		return 0
	}
	name := fmt.Sprintf("ensemble.%d.", i)
	x := e.b.PixelShuffle(name+"mosaic", 0)
	x = e.b.add(Node{Name: name + "reflected", Op: OpPad, In: []int{x}, Window: w, Pad: PadReflect})
	return e.b.add(Node{Name: name + "quads", Op: OpSpaceToDepth, In: []int{x}, Factor: 2, CRD: true})
}

// picture adds what makes of an answer, twelve planes, a picture that begins with the mosaic.
func (e *ensemble) picture(i int, o orientation, x int) int {
	name := fmt.Sprintf("ensemble.%d.", i)
	x = e.b.PixelShuffle(name+"picture", x)
	if w := e.edges(o); w != (Window{}) {
		w.StrideH, w.StrideW = 1, 1
		x = e.b.add(Node{Name: name + "cropped", Op: OpCrop, In: []int{x}, Window: w})
	}
	return x
}

// branch adds the network up to its last PixelShuffle, with the kernels of orientation i, and returns the answer.
func (e *ensemble) branch(input, i int, o orientation) int {
	g := e.of.Graph
	last := g.Nodes[g.Out].In[0]
	at := make([]int, len(g.Nodes))
	at[0] = input
	answers := e.answers(last)
	for k := 1; k <= last; k++ {
		n := g.Nodes[k]
		if i > 0 {
			n.Name = fmt.Sprintf("ensemble.%d.%s", i, n.Name)
		}
		n.In = slices.Clone(n.In)
		if n.Op == OpConv {
			e.kernel(&n, i, o, n.In[0] == 0, answers[k])
		}
		for j := range n.In {
			n.In[j] = at[n.In[j]]
		}
		at[k] = e.b.add(n)
	}
	return at[last]
}

// answers marks the convolutions whose sum is the answer.
func (e *ensemble) answers(last int) []bool {
	g := e.of.Graph
	mark := make([]bool, len(g.Nodes))
	mark[last] = true
	for k := last; k > 0; k-- {
		if mark[k] && g.Nodes[k].Op == OpAdd {
			for _, in := range g.Nodes[k].In {
				mark[in] = true
			}
		}
	}
	return mark
}

// kernel gives a convolution the parameters of orientation i: taps in other places and, where it reads the input or makes
// the answer, planes of other places in the quads. The answer is of the mean's size.
func (e *ensemble) kernel(n *Node, i int, o orientation, reads, answers bool) {
	w, b := e.of.Params[n.Weight], e.of.Params[n.Bias]
	if i > 0 {
		n.Weight, n.Bias = fmt.Sprintf("ensemble.%d.%s", i, n.Weight), fmt.Sprintf("ensemble.%d.%s", i, n.Bias)
	}
	outs, ins, k := w.Shape[0], w.Shape[1], w.Shape[2]
	weight := &Tensor{Shape: w.Shape, Data: make([]float32, len(w.Data))}
	bias := &Tensor{Shape: b.Shape, Data: make([]float32, len(b.Data))}
	scale := float32(1)
	if answers {
		scale = e.scale
	}
	for from := range outs {
		to := o.plane(from, answers)
		bias.Data[to] = b.Data[from] * scale
		for in := range ins {
			src := w.Data[(from*ins+in)*k*k:]
			dst := weight.Data[(to*ins+o.plane(in, reads))*k*k:]
			for y := range k {
				for x := range k {
					toY, toX := o.place(y, x, k)
					dst[toY*k+toX] = src[y*k+x] * scale
				}
			}
		}
	}
	e.params[n.Weight], e.params[n.Bias] = weight, bias
}

// place is where row y and column x of a square of n as the network sees it are in the mosaic.
func (o orientation) place(y, x, n int) (int, int) {
	if o.transposed {
		y, x = x, y
	}
	if o.rows {
		y = n - 1 - y
	}
	if o.columns {
		x = n - 1 - x
	}
	return y, x
}

// plane is the number of plane p if planes are those of a quad's places, four in a row; otherwise p.
func (o orientation) plane(p int, places bool) int {
	if !places {
		return p
	}
	y, x := o.place(p%4/2, p%2, 2)
	return p/4*4 + 2*y + x
}
