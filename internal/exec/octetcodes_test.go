package exec_test

import (
	"os"
	"testing"

	"enhance/conv"
	"enhance/conv/octets"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/modeltest"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
)

// emulatedCodes is plainOctets with the emulated algorithm of codes, by one warpgroup: those of a work-group
// would have to have as many strips each, as they wait for each other where barriers are emulated.
type emulatedCodes struct {
	plainOctets
	codes conv.Algo
}

func (m emulatedCodes) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	if s.Codes && s.Octets {
		c.MaxWorkGroup = 128
		return m.codes.New(c, s, p)
	}
	return m.plainOctets.New(c, s, p)
}

// blockGraph has a residual block of codes and a convolution of codes behind it, between convolutions of samples.
func blockGraph(pad model.PadMode) *model.Graph {
	g := &model.Graph{}
	add := func(n model.Node, in ...int) int {
		n.In = in
		if n.Op == model.OpConv || n.Op == model.OpQuantConv {
			n.Weight, n.Bias, n.Pad = n.Name+".w", n.Name+".b", pad
		}
		if n.Op == model.OpQuantConv {
			n.Scales = n.Name + ".s"
		}
		g.Nodes = append(g.Nodes, n)
		return len(g.Nodes) - 1
	}
	x := add(model.Node{Name: "in", Op: model.OpInput, C: 8})
	x = add(model.Node{Name: "stem", Op: model.OpConv, C: 16, K: 3}, x)
	y := add(model.Node{Name: "q1", Op: model.OpQuantize, Step: 0.02, Zero: 100}, x)
	y = add(model.Node{Name: "a", Op: model.OpQuantConv, C: 24, K: 3}, y)
	y = add(model.Node{Name: "relu", Op: model.OpLeakyReLU, Slope: 0.1}, y)
	y = add(model.Node{Name: "q2", Op: model.OpQuantize, Step: 0.03, Zero: -90, Signed: true}, y)
	y = add(model.Node{Name: "b", Op: model.OpQuantConv, C: 16, K: 3}, y)
	x = add(model.Node{Name: "sum", Op: model.OpAdd}, y, x)
	y = add(model.Node{Name: "q3", Op: model.OpQuantize, Step: 0.02, Zero: 128}, x)
	y = add(model.Node{Name: "c", Op: model.OpQuantConv, C: 16, K: 1}, y)
	y = add(model.Node{Name: "relu2", Op: model.OpLeakyReLU, Slope: 0.1}, y)
	y = add(model.Node{Name: "sum2", Op: model.OpAdd}, y, x)
	g.Out = add(model.Node{Name: "last", Op: model.OpConv, C: 3, K: 3}, y)
	return g
}

// TestCodesOfOctetsEmulated runs a network of codes that convolutions make of octets themselves under several
// plans: the bytes are the same under all, and within what fp16 allows of the definition.
func TestCodesOfOctetsEmulated(t *testing.T) {
	var texts [2]string
	for i, name := range []string{"emulated_test.cl", "codesemulated_test.cl"} {
		text, err := os.ReadFile("../../conv/octets/" + name)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	algo := emulatedCodes{plainOctets{naive{granule: 1}}, convtest.Emulated(octets.Codes(), octets.CodesInstructions(), texts[0]+texts[1])}
	for _, pad := range []model.PadMode{model.PadReflect, model.PadZero} {
		if testing.Short() && pad == model.PadZero {
			continue
		}
		const h, w = 19, 75
		p := &picture{TB: t, name: "block", m: modeltest.Model("block", blockGraph(pad)), info: convtest.Device(t).Info(), in: &tensor{c: 8, h: h, w: w, v: model.FormulaTensor("block", "in", 8*h*w)}}
		p.opt = exec.Options{Poison: true, Precision: planar.FP16, Units: conv.Units{Octets: true, Warpgroup: true}, Algo: func(string, conv.Shape) conv.Algo { return algo }}
		job, err := exec.Prepare(p.m, h, w, p.info, p.opt)
		if err != nil {
			t.Fatal(err)
		}
		blocks, alone := 0, 0
		for i, s := range job.Program.Steps {
			switch {
			case !s.Integer():
			case job.Program.Tensors[s.Src[0].Tensor].Storage != fuse.Octets:
				t.Errorf("%s reads no octets", s.Name)
			case s.Inner != nil:
				blocks++
			default:
				alone++
			}
			t.Logf("%s: %s", s.Name, job.Algo(i))
		}
		if blocks != 1 || alone != 1 {
			t.Errorf("%d blocks and %d convolutions alone", blocks, alone)
		}
		least, err := exec.Minimum(p.m, h, w, p.info, p.opt)
		if err != nil {
			t.Fatal(err)
		}
		p.run("free", func(*exec.Options) {})
		p.run("whole planes", func(o *exec.Options) { o.WholePlanes = true })
		p.run("1 row", func(o *exec.Options) { o.Rows = 1 })
		p.run("5 rows", func(o *exec.Options) { o.Rows = 5 })
		p.run("the least budget", func(o *exec.Options) { o.Budget = memplan.Limit(least) })
		if !p.close() {
			t.Error("not compared")
		}
	}
}
