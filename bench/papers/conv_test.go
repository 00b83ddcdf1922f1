package papers_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/mma"
	"enhance/internal/convtest"
	"enhance/internal/peak"
	"enhance/internal/planar"
	"enhance/model"
	"enhance/winograd"
)

func TestSuites(t *testing.T) {
	for name, want := range map[string]int{"snu": 35, "snu-split": 7, "ui": 16, "polito": 6} {
		s, err := papers.FindSuite(name)
		if err != nil || len(s.Cases) != want {
			t.Errorf("%s: %v, %v, want %d cases", name, s, err, want)
			continue
		}
		seen := map[string]bool{}
		for _, c := range s.Cases {
			if seen[c.String()] {
				t.Errorf("%s: %s is there twice", name, c)
			}
			seen[c.String()] = true
			if c.K%2 == 0 || c.K > 2*planar.Rim+1 || c.C < 1 || c.OutC < 1 {
				t.Errorf("%s: %s cannot be run", name, c)
			}
		}
	}
	if _, err := papers.FindSuite("nist"); err == nil {
		t.Error("an unknown suite was found")
	}
}

// TestSNUIsPyNET: every shape of the paper's table but one is a convolution of
// PyNET on a 12 MP photo.
func TestSNUIsPyNET(t *testing.T) {
	g := model.PyNET(model.PyNETOptions{InstanceNorm: true, InstanceNormLevel1: true, SideOutputs: true})
	shapes, err := g.Shapes(1440, 1984)
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for i, n := range g.Nodes {
		if n.Op == model.OpConv {
			have[papers.Case{C: shapes[n.In[0]].C, H: shapes[i].H, W: shapes[i].W, K: n.K, OutC: n.C}.String()] = true
		}
	}
	s, err := papers.FindSuite("snu")
	if err != nil {
		t.Fatal(err)
	}
	var missing []string
	for _, c := range s.Cases {
		if !have[c.String()] {
			missing = append(missing, c.Name)
		}
	}
	if len(missing) != 1 || missing[0] != "32" { // 16 to 16 channels; the network has 32 to 16
		t.Errorf("cases %q are not convolutions of the network, want 32 alone", missing)
	}
}

func TestScaled(t *testing.T) {
	c := papers.Case{C: 4, H: 1440, W: 1985, K: 3, OutC: 8}
	if s := c.Scaled(4); s.H != 360 || s.W != 497 || s.C != 4 || s.OutC != 8 {
		t.Errorf("scaled to %s", s)
	}
	for _, side := range []int{1, 9, 16, 20} {
		if s := (papers.Case{H: side, W: side}).Scaled(8); s.H != min(side, 16) {
			t.Errorf("side %d scaled to %d", side, s.H)
		}
	}
	if c.FLOPs(2) != 2*9*4*8*2*1985 {
		t.Errorf("%d operations", c.FLOPs(2))
	}
}

// wrong is an algorithm whose kernels read other weights than they should.
type wrong struct{ conv.Algo }
type wrongImpl struct{ conv.Impl }

func (wrong) Name() string { return "wrong" }
func (w wrong) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	impl, err := w.Algo.New(c, s, p)
	return wrongImpl{impl}, err
}
func (w wrongImpl) Pack(weights, bias []float32) []float32 {
	other := append([]float32(nil), weights...)
	other[0], other[len(other)-1] = 100, -100
	return w.Impl.Pack(other, bias)
}

// lazy writes only the first row of what it is asked for.
type lazy struct{ conv.Algo }
type lazyImpl struct{ conv.Impl }

func (lazy) Name() string { return "lazy" }
func (l lazy) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	impl, err := l.Algo.New(c, s, p)
	return lazyImpl{impl}, err
}
func (l lazyImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, a *conv.Args) error {
	b := *a
	b.Y1 = b.Y0 + 1
	return l.Impl.Launch(q, k, packed, &b)
}

type refusing struct{}

func (refusing) Name() string { return "refusing" }
func (refusing) New(conv.Caps, conv.Shape, planar.Precision) (conv.Impl, error) {
	return nil, errors.New("refusing: does nothing")
}

func TestConv(t *testing.T) {
	dev := convtest.Device(t)
	direct := conv.Direct(conv.CapsOf(dev.Info()))
	for _, p := range []planar.Precision{planar.FP32, planar.FP16} {
		cl, err := clrt.NewContext(dev)
		if err != nil {
			t.Fatal(err)
		}
		defer cl.Close()
		c := papers.Case{Name: "small", C: 6, H: 37, W: 45, K: 5, OutC: 9}
		told := 0
		o := papers.Options{Precision: p, Repeat: 2, Limit: time.Second, Transfers: true, Done: func(papers.Case, *papers.Measurement) { told++ }}
		row, err := papers.Conv(context.Background(), cl, conv.CapsOf(dev.Info()), c, []papers.Way{direct, wrong{direct}, lazy{direct}, refusing{}, papers.HostIm2col}, peak.Units{FMA: 1e12}, o)
		if err != nil {
			t.Fatal(err)
		}
		if live := cl.Live(); live != 0 {
			t.Errorf("%d bytes are left on the device", live)
		}
		if len(row.Results) != 5 || told != 5 {
			t.Fatalf("%d results, told of %d, want 5", len(row.Results), told)
		}
		good := row.Results[0]
		limit := map[planar.Precision]float64{planar.FP32: 1e-6, planar.FP16: 1e-3}[p]
		if good.Refused != "" || good.Rows != c.H || len(good.Runs) == 0 || !(good.GFLOPs > 0) || !(good.TransferSeconds > 0) ||
			!(good.RelError > 0 && good.RelError < limit) || good.MaxError < good.RelError || good.Weights == 0 {
			t.Errorf("%v: direct: %+v", p, good)
		}
		if row.Winner != good.Algo {
			t.Errorf("%v: %q won: a wrong one must not", p, row.Winner)
		}
		if want := float64(c.FLOPs(c.H)) / good.Seconds / 1e9; good.GFLOPs != want || math.Abs(good.PeakShare-want/1e3) > 1e-12 {
			t.Errorf("%v: %g GFLOP/s, %g of the peak, want %g", p, good.GFLOPs, good.PeakShare, want)
		}
		if m := row.Results[4]; m.Refused != "" || m.Clock != "host" || m.Scratch <= 0 || !(m.TransferSeconds > m.Seconds) || !(m.RelError < limit) {
			t.Errorf("%v: the split between host and device: %+v", p, m)
		}
		for i, want := range []string{"wrong result", "wrong result", "does nothing"} {
			if m := row.Results[1+i]; !strings.Contains(m.Refused, want) || m.GFLOPs != 0 {
				t.Errorf("%v: %s: refused for %q at %g GFLOP/s, want %q", p, m.Algo, m.Refused, m.GFLOPs, want)
			}
		}
	}
}

// TestIdle: an algorithm that does none of the cases says why, once; a report of which
// nothing was measured says so.
func TestIdle(t *testing.T) {
	caps := conv.Caps{CPU: true, Vector: 8, LocalMem: 32 << 10, MaxWorkGroup: 64}
	cases := []papers.Case{{Name: "a", C: 4, H: 16, W: 16, K: 5, OutC: 4}, {Name: "b", C: 4, H: 16, W: 16, K: 3, OutC: 4}}
	algos := []papers.Way{mma.Algo(mma.FP32), conv.Rows{}, winograd.Algo(winograd.V4x3), winograd.Algo(winograd.V6x9)}
	got := papers.Idle(caps, cases, algos, planar.FP32)
	if len(got) != 2 || !strings.HasPrefix(got[0], "mma-3xtf32 needs matrix units") || got[1] != "winograd-f6x9 does 9x9 kernels, not 5x5" {
		t.Errorf("%q", got)
	}
	r := &papers.ConvReport{Rows: []papers.ConvRow{{Case: cases[0], Results: []papers.Measurement{{Algo: "mma", Refused: "no units"}}}}}
	if why := r.Nothing(); why != "mma on case a: no units" {
		t.Errorf("nothing was measured because %q", why)
	}
	r.Rows = append(r.Rows, papers.ConvRow{Case: cases[1], Results: []papers.Measurement{{Algo: "direct-rows", GFLOPs: 1}}})
	if why := r.Nothing(); why != "" {
		t.Errorf("nothing was measured because %q", why)
	}
}

// TestConvLimit: where a whole plane takes too long, part of it is run.
func TestConvLimit(t *testing.T) {
	dev := convtest.Device(t)
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	c := papers.Case{Name: "big", C: 16, H: 512, W: 512, K: 9, OutC: 16}
	row, err := papers.Conv(context.Background(), cl, conv.CapsOf(dev.Info()), c, []papers.Way{conv.Direct(conv.CapsOf(dev.Info()))}, peak.Units{}, papers.Options{Limit: time.Microsecond, Repeat: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := row.Results[0]
	if m.Refused != "" || m.Rows < 1 || m.Rows > 32 || !(m.RelError < 1e-6) {
		t.Errorf("%+v: want at most 32 of 512 rows", m)
	}
	if got := float64(c.FLOPs(m.Rows)) / m.Seconds / 1e9; math.Abs(got-m.GFLOPs) > 1e-9*got {
		t.Errorf("%g GFLOP/s of what was run, %g reported", got, m.GFLOPs)
	}
	c.H = 20 // too few rows for a share of them to tell of the whole
	row, err = papers.Conv(context.Background(), cl, conv.CapsOf(dev.Info()), c, []papers.Way{conv.Direct(conv.CapsOf(dev.Info()))}, peak.Units{}, papers.Options{Limit: time.Microsecond, Repeat: 1})
	if err != nil || row.Results[0].Rows != c.H {
		t.Errorf("%v: %+v: want all of 20 rows", err, row)
	}
}

func TestConvStops(t *testing.T) {
	dev := convtest.Device(t)
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := papers.Conv(ctx, cl, conv.CapsOf(dev.Info()), papers.Case{C: 1, H: 4, W: 4, K: 3, OutC: 1}, []papers.Way{conv.Simple{}}, peak.Units{}, papers.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestRatios(t *testing.T) {
	row := func(a, b, c float64) papers.ConvRow {
		return papers.ConvRow{Results: []papers.Measurement{{Algo: "a", GFLOPs: a}, {Algo: "b", GFLOPs: b}, {Algo: "c", GFLOPs: c}}}
	}
	rows := []papers.ConvRow{row(10, 20, 0), row(10, 80, 5), row(0, 100, 100)} // a did not do the last
	got := papers.Ratios(rows, "a")
	want := []papers.Ratio{
		{Algo: "b", Baseline: "a", Mean: 4, Least: 2, Most: 8, Cases: 2},
		{Algo: papers.Best, Baseline: "a", Mean: 4, Least: 2, Most: 8, Cases: 2},
		{Algo: "a", Baseline: "a", Mean: 1, Least: 1, Most: 1, Cases: 2},
		{Algo: "c", Baseline: "a", Mean: 0.5, Least: 0.5, Most: 0.5, Cases: 1},
	}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, w := range want {
		g := got[i]
		if g.Algo != w.Algo || g.Cases != w.Cases || math.Abs(g.Mean-w.Mean) > 1e-12 || math.Abs(g.Least-w.Least) > 1e-12 || math.Abs(g.Most-w.Most) > 1e-12 {
			t.Errorf("%d: %+v, want %+v", i, g, w)
		}
	}
	for i := range rows {
		rows[i].Results[1].Algo, rows[i].Results[2].Algo = "winograd-x", "winograd-y"
	}
	for _, r := range papers.Ratios(rows, "a") {
		if r.Algo == papers.BestWinograd && (r.Cases != 2 || math.Abs(r.Mean-4) > 1e-12) {
			t.Errorf("the best of Winograd's: %+v", r)
		}
	}
	if len(papers.Ratios(rows, "nobody")) != 0 {
		t.Error("ratios to an algorithm that did nothing")
	}
}

func TestReportText(t *testing.T) {
	r := &papers.ConvReport{Suite: "ui", Scale: 4, Precision: "fp32", Device: &clrt.DeviceInfo{Name: "a device"}, Peaks: peak.Units{FMA: 5e11, MMA: 8e12, TF32: 4e12}}
	c := papers.Case{Name: "plane 32", C: 4, H: 16, W: 16, K: 5, OutC: 4}
	r.Rows = []papers.ConvRow{{Case: c, Winner: "direct-rows", Automatic: "slow", Results: []papers.Measurement{
		{Algo: "direct-rows", Rows: 16, Seconds: 0.001, GFLOPs: 1.5, PeakShare: 0.003, RelError: 1e-7},
		{Algo: "slow", Rows: 8, Seconds: 0.002, GFLOPs: 0.5, Scratch: 1 << 21},
		{Algo: "picky", Refused: "does 3x3 only"}}}}
	r.Ratios = papers.Ratios(r.Rows, "slow")
	var b strings.Builder
	if err := r.WriteText(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"suite ui, planes 1/4, fp32, on a device, measured peaks: 500 GFLOP/s of FMA, 8000 of MMA on fp16, 4000 on tf32",
		"direct-rows *   1.000      1.5  0.3 %       1e-07        0", "~4.000     ~0.5", "2.0 MiB", "picky       -        -", "best",
		"direct-rows      1.5  0.3 % FMA              slow          3.00"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in\n%s", want, b.String())
		}
	}
	chart := r.Chart()
	if len(chart.Groups) != 1 || len(chart.Series) != 3 || chart.Values[0][0] != 1.5 || chart.Values[0][2] != 0 {
		t.Errorf("chart %+v", chart)
	}
}
