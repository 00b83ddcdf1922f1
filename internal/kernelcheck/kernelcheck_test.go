package kernelcheck

import (
	"context"
	"os"
	"strings"
	"testing"

	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/octets"
	"enhance/internal/convtest"
	"enhance/internal/exec"
	"enhance/internal/planar"
	"enhance/model"
)

func load(t *testing.T) *model.Model {
	t.Helper()
	m, err := model.Load(model.Default)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestRight: a device and the host executor pass.
func TestRight(t *testing.T) {
	for _, d := range []*clrt.Device{nil, convtest.Device(t)} {
		rep, err := Run(context.Background(), Options{Device: d, Model: load(t)})
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range rep.Kernels {
			t.Logf("%-30s %s %.2g of %.2g, %d plans, %.2f s, %.1f ms %s", k.Name, k.Precision, k.Error, k.Allowed, k.Plans, k.Opening, k.Running*1e3, k.Problem)
		}
		if rep.Wrong != 0 || len(rep.Kernels) < 10 {
			t.Errorf("%d of %d kernels are wrong", rep.Wrong, len(rep.Kernels))
		}
	}
}

// spoiled is an algorithm that is wrong in a chosen way.
type spoiled struct {
	conv.Simple
	way string
}

func (s spoiled) New(c conv.Caps, shape conv.Shape, p planar.Precision) (conv.Impl, error) {
	impl, err := s.Simple.New(c, shape, p)
	return spoiledImpl{impl, s.way}, err
}

type spoiledImpl struct {
	conv.Impl
	way string
}

// Pack swaps two weights that differ.
func (s spoiledImpl) Pack(weights, bias []float32) []float32 {
	v := s.Impl.Pack(weights, bias)
	if s.way == "weights" {
		v[1], v[7] = v[7], v[1]
	}
	return v
}

func (s spoiledImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	b := *a
	switch {
	case s.way == "unwritten" && b.Y0 == 0: // poison stays
		b.Y0++
	case s.way == "strips" && b.Y1-b.Y0 == 3: // by an ulp or so
		b.Slope *= 1.000001
	}
	if b.Y0 == b.Y1 {
		return nil
	}
	return s.Impl.Launch(q, k, packed, &b)
}

// TestWrong: kernels that are wrong are found, and how is said.
func TestWrong(t *testing.T) {
	d, err := open(convtest.Device(t))
	if err != nil {
		t.Fatal(err)
	}
	defer d.ctx.Close()
	b := model.NewBuilder(4)
	g, err := b.Graph(b.LeakyReLU("leaky", b.Conv("conv", "conv", 0, 6, 3), 0.2))
	if err != nil {
		t.Fatal(err)
	}
	for way, want := range map[string]string{"": "", "weights": " is right", "unwritten": "is NaN", "strips": "strips of 3 rows: sample"} {
		c := &testCase{kernel: "spoiled", graph: g, h: 15, w: 33, algo: spoiled{way: way}}
		k := d.run(context.Background(), c)
		if want == "" && k.Problem != "" || !strings.Contains(k.Problem, want) {
			t.Errorf("%q: %q, want %q", way, k.Problem, want)
		}
		if n := d.ctx.Live(); n != 0 {
			t.Fatalf("%q: %d bytes are left", way, n)
		}
	}
}

// TestOctets: the networks of octets pass with the algorithm's instructions emulated.
func TestOctets(t *testing.T) {
	text, err := os.ReadFile("../../conv/octets/emulated_test.cl")
	if err != nil {
		t.Fatal(err)
	}
	check, err := open(convtest.Device(t))
	if err != nil {
		t.Fatal(err)
	}
	defer check.ctx.Close()
	check.units.Warpgroup, check.units.Octets, check.octets = true, true, convtest.Emulated(octets.Algo(), octets.Instructions(), string(text))
	cases, err := octetOperations(check.octets)
	if err != nil {
		t.Fatal(err)
	}
	g, err := octetConvolution(conv.Shape{K: 3, SrcC: []int{20}, OutC: 20, OctetsOut: true})
	if err != nil {
		t.Fatal(err)
	}
	cases = append(cases, testCase{kernel: "octets 3x3", arith: conv.Arithmetic{Precision: planar.FP16}, graph: g, h: smallH, w: smallW, algo: check.octets, octets: true, inexact: true})
	if testing.Short() {
		cases = cases[:1]
	}
	for i := range cases {
		if k := check.run(context.Background(), &cases[i]); k.Problem != "" {
			t.Errorf("%s: %s", k.Name, k.Problem)
		}
		m, _ := cases[i].network()
		o := exec.Options{Precision: planar.FP16, Units: check.units, Algo: func(_ string, s conv.Shape) conv.Algo { return cases[i].chosen(s) }}
		job, err := exec.Prepare(m, cases[i].h, cases[i].w, check.info, o)
		if err != nil {
			t.Fatal(err)
		}
		if !job.Program.HasOctets() {
			t.Errorf("%s: no octets", cases[i].kernel)
		}
	}
}
