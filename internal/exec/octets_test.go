package exec_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/octets"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/fuse"
	"enhance/internal/kerneltext"
	"enhance/internal/modeltest"
	"enhance/internal/planar"
	"enhance/memplan"
	"enhance/model"
)

// plainOctets is naive, which does convolutions of octets too, and adds up their products in the same order.
type plainOctets struct{ naive }

func (m plainOctets) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	if !s.Octets { // without statistics of its own, whose tiles are others than the rows of those of octets
		impl, err := m.naive.New(c, s, p)
		return struct{ conv.Impl }{impl}, err
	}
	plain := s
	plain.Octets, plain.OctetsOut = false, false
	impl, err := m.Simple.New(c, plain, p)
	if err != nil {
		return nil, err
	}
	if s.K > 5 {
		return nil, errors.New("a large kernel")
	}
	return &plainOctetsImpl{Impl: impl, shape: s}, nil
}

type plainOctetsImpl struct {
	conv.Impl
	shape conv.Shape
}

// plainOctetsCL makes an octet of outputs in a work-item.
const plainOctetsCL = `
__kernel void NAME(__global const octet_t *src0, ring_t r0, __global const octet_t *src1, ring_t r1, __global const octet_t *src2, ring_t r2, __global const octet_t *src3, ring_t r3,
                   __global const float *weights, int bias_at, __global const void *res, ring_t rres, __global void *dst, ring_t rdst, int y0, int act, float slope, int4 channels, int outs) {
    const int x = get_global_id(0), o = get_global_id(1), y = y0 + (int)get_global_id(2), w = R_W(rdst), h = R_H(rdst);
    const int all = channels.s0 + channels.s1 + channels.s2 + channels.s3;
    float v[8];
    for (int e = 0; e < 8; e++) {
        const int k = 8 * o + e;
        v[e] = 0.0f;
        if (k >= outs) continue;
        __global const float *wt = weights + (size_t)k * all * (KS * KS);
        float sum = weights[bias_at + k];
        for (int s = 0; s < 4; s++) {
            __global const octet_t *src = s == 0 ? src0 : s == 1 ? src1 : s == 2 ? src2 : src3;
            const ring_t r = s == 0 ? r0 : s == 1 ? r1 : s == 2 ? r2 : r3;
            const int n = s == 0 ? channels.s0 : s == 1 ? channels.s1 : s == 2 ? channels.s2 : channels.s3;
            for (int c = 0; c < n; c++)
                for (int ky = 0; ky < KS; ky++) {
                    const int yy = y + ky - KS / 2;
                    if (OUTSIDE(yy, h)) {
                        wt += KS;
                        continue;
                    }
                    __global const octet_t *line = src + octets_row(r, pad_index(yy, h)) + (size_t)(c / 8) * R_PITCH(r) + x - KS / 2;
                    for (int kx = 0; kx < KS; kx++, wt++) sum = fma(*wt, LD1((__global const half *)(line + kx), c % 8), sum);
                }
        }
        __global const half *add = res;
#ifdef OUT_OCTETS
        if (res) add = (__global const half *)((__global const octet_t *)res + octets_row(rres, y) + (size_t)o * R_PITCH(rres) + x);
        v[e] = finished(sum, add, e, act, SLOPE_OF(slope, weights, k));
#else
        if (res) add += ring_row(rres, y) + (size_t)k * R_PITCH(rres) + x;
        v[e] = finished(sum, add, 0, act, SLOPE_OF(slope, weights, k));
        put((__global half *)dst + ring_row(rdst, y) + (size_t)k * R_PITCH(rdst), x, w, v[e]);
#endif
    }
#ifdef OUT_OCTETS
    octets_put((__global octet_t *)dst + octets_row(rdst, y) + (size_t)o * R_PITCH(rdst), x, w, octet_of(vload8(0, v)));
#endif
}
`

func (m *plainOctetsImpl) Kernels() []conv.Kernel {
	name := fmt.Sprintf("test_octets_k%d_%v", m.shape.K, m.shape.OctetsOut)
	defs := []any{"NAME", name, "KS", m.shape.K}
	if m.shape.OctetsOut {
		defs = append(defs, "OUT_OCTETS", 1)
	}
	return []conv.Kernel{{Name: name, Source: planar.OctetsSource() + kerneltext.Define(plainOctetsCL, defs...)}}
}

func (m *plainOctetsImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	s := m.shape
	var c [conv.MaxSources]int
	copy(c[:], s.SrcC)
	for i, r := range append(slices.Clone(a.Src), a.Dst, a.Res) {
		if want := i < len(a.Src) || s.OctetsOut; r.Buf != nil && r.Octets != want {
			return fmt.Errorf("tensor %d of a convolution of octets %+v is of octets: %v", i, s, r.Octets)
		}
	}
	args := new(conv.KernelArgs).Sources(a).Buffer(packed).Int(m.PackedLen()-s.OutC).Residual(a).Ring(a.Dst).Int(a.Y0, int(s.Act)).Float(a.Slope).Int4(c[0], c[1], c[2], c[3]).Int(s.OutC)
	return args.Launch(q, k[0], []int{s.W, planar.Octets(s.OutC), a.Y1 - a.Y0}, []int{1, 1, 1})
}

// octetsPicture is a random network some of whose tensors are octets, at least so many.
func octetsPicture(t *testing.T, seed uint64, least int) (p *picture, rng *rand.Rand, steps []fuse.Step) {
	t.Helper()
	rng = rand.New(rand.NewPCG(seed, 77))
	for range 1000 {
		g := modeltest.Graph(rng, modeltest.Options{Steps: 3 + rng.IntN(7), Kernels: []int{1, 3, 3, 5, 7}, Channels: []int{3, 8, 8, 16, 16, 20, 24}})
		for i := range g.Nodes {
			if g.Nodes[i].Op == model.OpConv {
				g.Nodes[i].Pad = model.PadMode(seed % 3)
			}
		}
		h, w := modeltest.Sides(rng, g, 40, 30)
		p = &picture{TB: t, name: fmt.Sprintf("seed %d (%dx%d)", seed, h, w), m: modeltest.Model("octets", g), info: convtest.Device(t).Info(),
			in: &tensor{c: g.Nodes[0].C, h: h, w: w, v: model.FormulaTensor("octets", fmt.Sprint(seed), g.Nodes[0].C*h*w)}}
		p.opt = exec.Options{Poison: true, Precision: planar.FP16, Units: conv.Units{Octets: true}, Algo: func(string, conv.Shape) conv.Algo { return plainOctets{naive{granule: 1}} }}
		if seed%2 == 1 { // a device with memory of its own, whose plans may spill
			p.info.Type, p.info.Unified = clrt.Accelerator, false
		}
		job, err := exec.Prepare(p.m, h, w, p.info, p.opt)
		if err != nil {
			t.Fatal(err)
		}
		steps = slices.DeleteFunc(slices.Clone(job.Program.Steps), func(s fuse.Step) bool { return job.Program.Tensors[s.Dst.Tensor].Storage != fuse.Octets })
		if len(steps) >= least {
			return p, rng, steps
		}
	}
	t.Fatalf("no network has %d tensors of octets", least)
	return nil, nil, nil
}

// TestOctets runs random networks with activations stored as octets under every kind of plan. They give the bytes that
// planes give, as the convolutions add up in the same order.
func TestOctets(t *testing.T) {
	n := uint64(convtest.Cases(8))
	if testing.Short() {
		n = 4
	}
	kinds := map[fuse.Kind]int{}
	for seed := range n {
		p, rng, steps := octetsPicture(t, seed, 3)
		for _, s := range steps {
			kinds[s.Kind]++
		}
		p.opt.Octets = false
		p.run("planes", func(*exec.Options) {})
		p.opt.Octets = true
		p.plans(rng)
		p.spills(rng)
		if slices.ContainsFunc(p.first.v, func(v float32) bool { return math.IsNaN(float64(v)) }) {
			t.Errorf("%s: NaN", p.name)
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("steps that store octets: %v", kinds)
	for _, k := range []fuse.Kind{fuse.Conv, fuse.Convert, fuse.Upsample, fuse.Pointwise, fuse.MaxPool} {
		if kinds[k] == 0 && !testing.Short() {
			t.Errorf("no step of kind %s stores octets", k)
		}
	}
}

// emulatedOctets is the algorithm of octets by instructions emulated in OpenCL C, and naive for planes.
type emulatedOctets struct {
	naive
	units conv.Algo
}

func (m emulatedOctets) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	if !s.Octets {
		return m.naive.New(c, s, p)
	}
	return m.units.New(c, s, p)
}

// TestOctetsEmulated runs whole networks by conv/octets with its instructions emulated, under several plans,
// within what fp16 allows of the definition.
func TestOctetsEmulated(t *testing.T) {
	text, err := os.ReadFile("../../conv/octets/emulated_test.cl")
	if err != nil {
		t.Fatal(err)
	}
	units := convtest.Emulated(octets.Algo(), octets.Instructions(), string(text))
	chain := func(pad model.PadMode, c int) *model.Graph {
		b := model.NewBuilder(3)
		x := b.LeakyReLU("a", b.Conv("first", "first", 0, c, 3), 0.1)
		y := b.LeakyReLU("b", b.Conv("second", "second", x, c, 3), 0.1)
		y = b.Add("sum", b.Conv("third", "third", y, c, 3), x)
		g, err := b.Graph(b.Add("out", b.Conv("last", "last", y, 3, 3), 0))
		if err != nil {
			t.Fatal(err)
		}
		for i := range g.Nodes {
			if g.Nodes[i].Op == model.OpConv {
				g.Nodes[i].Pad = pad
			}
		}
		return g
	}
	normed := func() *model.Graph { // two branches of a block of PyNET, on what was pooled, enlarged again
		b := model.NewBuilder(4)
		x := b.LeakyReLU("a", b.Conv("first", "first", 0, 32, 3), 0.2)
		low := b.MaxPool("pool", x)
		branch := func(name string, k int) int {
			y := low
			for _, half := range []string{name + "a", name + "b"} {
				y = b.LeakyReLU(half+".act", b.InstanceNorm(half+".norm", half+".norm", b.Conv(half, half, y, 16, k), 1e-5), 0.2)
			}
			return y
		}
		y := b.Add("block", b.Concat("cat", branch("three", 3), branch("seven", 7)), low)
		y = b.LeakyReLU("up.act", b.Conv("up", "up", b.Upsample("enlarge", y, true), 32, 3), 0.2)
		g, err := b.Graph(b.Conv("last", "last", b.Concat("both", y, x), 3, 3))
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	tiny, err := model.Load("pynet-m-random:7,size=tiny")
	if err != nil {
		t.Fatal(err)
	}
	most := convtest.Cases(3) // a CPU's compiler takes seconds for each kernel
	if testing.Short() {
		most = 1
	}
	for i, c := range []struct {
		name string
		m    *model.Model
		h, w int
	}{{"norms", modeltest.Model("norms", normed()), 16, 74}, {"zeros", modeltest.Model("zeros", chain(model.PadZero, 16)), 13, 39}, {"tiny", tiny, 16, 24}, {"reflected", modeltest.Model("reflected", chain(model.PadReflect, 20)), 7, 70}} {
		if i >= most {
			break
		}
		t.Run(c.name, func(t *testing.T) {
			in := c.m.Graph.Nodes[0].C
			p := &picture{TB: t, name: c.name, m: c.m, info: convtest.Device(t).Info(), in: &tensor{c: in, h: c.h, w: c.w, v: model.FormulaTensor("octets", c.name, in*c.h*c.w)}}
			p.opt = exec.Options{Poison: true, Precision: planar.FP16, Units: conv.Units{Octets: true, Warpgroup: true}, Algo: func(string, conv.Shape) conv.Algo { return emulatedOctets{naive{granule: 1}, units} }}
			job, err := exec.Prepare(p.m, c.h, c.w, p.info, p.opt)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, s := range job.Program.Steps {
				if s.Kind == fuse.Conv && job.Program.Tensors[s.Src[0].Tensor].Storage == fuse.Octets {
					n++
				}
			}
			if n < 4 {
				t.Errorf("%d convolutions of octets", n)
			}
			least, err := exec.Minimum(p.m, c.h, c.w, p.info, p.opt)
			if err != nil {
				t.Fatal(err)
			}
			p.run("free", func(*exec.Options) {})
			p.run("whole planes", func(o *exec.Options) { o.WholePlanes = true })
			p.run("5 rows", func(o *exec.Options) { o.Rows = 5 })
			p.run("the least budget", func(o *exec.Options) { o.Budget = memplan.Limit(least) })
			if !p.close() {
				t.Error("not compared")
			}
		})
	}
}
