package exec_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/amx"
	"enhance/conv/mma"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/modeltest"
	"enhance/internal/planar"
	"enhance/model"
	"enhance/model/ref"
)

// codesGraph is a random chain of convolutions of codes with what networks have beside them: activations that the host
// computes to the bit, residual sums, codes that several nodes read, and codes as samples.
func codesGraph(rng *rand.Rand, pad model.PadMode) *model.Graph {
	b := &model.Graph{Nodes: []model.Node{{Name: "in", Op: model.OpInput, C: 1 + rng.IntN(9)}}}
	add := func(n model.Node, in ...int) int {
		n.In, n.Name = in, fmt.Sprintf("%s%d", n.Op, len(b.Nodes))
		if n.Op == model.OpQuantConv {
			n.Weight, n.Bias, n.Scales = n.Name+".w", n.Name+".b", n.Name+".s"
		}
		b.Nodes = append(b.Nodes, n)
		return len(b.Nodes) - 1
	}
	quantize := func(in int) int {
		n := model.Node{Op: model.OpQuantize, Step: 0.01 * (1 + rng.Float32()), Signed: rng.IntN(2) == 0}
		if n.Zero = rng.IntN(256); n.Signed {
			n.Zero -= 128
		}
		return add(n, in)
	}
	x, c := 0, b.Nodes[0].C
	codes := quantize(x)
	var kept, keptC int
	for range 2 + rng.IntN(3) {
		n := model.Node{Op: model.OpQuantConv, C: 1 + rng.IntN(24), K: []int{1, 3, 3, 3, 5}[rng.IntN(5)], Pad: pad}
		if rng.IntN(3) == 0 {
			n.C = c
		}
		from, fromC := x, c
		x, c = add(n, codes), n.C
		act := rng.IntN(4)
		switch act {
		case 0:
			x = add(model.Node{Op: model.OpLeakyReLU, Slope: 0.2}, x)
		case 1:
			x = add(model.Node{Op: model.OpLeakyReLU}, x)
		}
		if from > 0 && fromC == c && rng.IntN(2) == 0 {
			x = add(model.Node{Op: model.OpAdd}, x, from)
			if act > 1 && rng.IntN(3) > 0 {
				x = add(model.Node{Op: model.OpLeakyReLU}, x)
			}
		}
		codes = quantize(x)
		if kept == 0 && rng.IntN(3) == 0 {
			kept, keptC = add(model.Node{Op: model.OpDequantize, Step: 0.02, Zero: 5}, codes), c
		}
	}
	last := add(model.Node{Op: model.OpQuantConv, C: 1 + rng.IntN(7), K: 3, Pad: pad}, codes)
	switch {
	case kept != 0 && keptC == b.Nodes[last].C:
		last = add(model.Node{Op: model.OpAdd}, last, kept)
	case kept != 0:
		last = add(model.Node{Op: model.OpConcat}, last, kept)
	case rng.IntN(2) == 0:
		last = quantize(last)
	}
	b.Out = last
	return b
}

// hasUnits reports whether a device has the units that probe looks for.
func hasUnits(t *testing.T, dev *clrt.Device, probe func(*clrt.Context) (bool, error)) bool {
	t.Helper()
	ctx, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer ctx.Close()
	return convtest.Has(t, probe, ctx)
}

// TestCodes runs random networks of codes under every kind of plan, by the kernels of CPUs and of others. Sums
// are of integers and everything else is rounded as the definition says, so that in float32 the result is the
// host's to the bit.
func TestCodes(t *testing.T) {
	dev := convtest.Device(t)
	vnni, matrix, tiles := convtest.VNNI(t, dev), hasUnits(t, dev, mma.Probe), hasUnits(t, dev, amx.Probe)
	n := uint64(7)
	if testing.Short() {
		n = 2
	}
	for seed := range n {
		rng := rand.New(rand.NewPCG(seed, 31))
		pad := model.PadMode(seed % 3)
		g := codesGraph(rng, pad)
		h, w := 1+rng.IntN(40), 1+rng.IntN(90)
		c := g.Nodes[0].C
		t.Run(fmt.Sprintf("seed %d, %dx%d", seed, h, w), func(t *testing.T) {
			p := &picture{TB: t, name: fmt.Sprintf("seed %d, %dx%d", seed, h, w), m: modeltest.Model("codes", g), info: dev.Info(),
				in: &tensor{c: c, h: h, w: w, v: model.FormulaTensor("codes", fmt.Sprint(seed), c*h*w)}}
			p.opt = exec.Options{Poison: true, Units: conv.Units{VNNI: vnni && seed%4 == 0, Matrix: matrix && seed%5 > 0, Tiles: tiles && seed%3 > 0}}
			if seed%2 == 1 {
				p.info.Type, p.info.Unified = clrt.Accelerator, false
			}
			if seed%4 == 2 {
				p.opt.Precision = planar.FP16 // whose residuals are rounded: bytes agree between plans, and roughly with the host
			}
			p.plans(rng)
			if p.first == nil || p.opt.Precision == planar.FP16 {
				return
			}
			want, s, err := ref.Run(context.Background(), p.m, p.in.v, h, w, ref.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i := range want {
				if p.first.v[i] != want[i] {
					t.Fatalf("sample %d of %v is %v, want %v", i, s, p.first.v[i], want[i])
				}
			}
		})
	}
}
