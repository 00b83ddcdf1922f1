package papers_test

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
	"enhance/internal/peak"
	"enhance/internal/planar"
	"enhance/winograd"
)

// TestWorkOfUI: the last case has as much work as plane 512, as the paper has it.
func TestWorkOfUI(t *testing.T) {
	s, err := papers.FindSuite("ui")
	if err != nil {
		t.Fatal(err)
	}
	work := map[string]int64{}
	for _, c := range s.Cases {
		work[c.Name] = c.FLOPs(c.H)
	}
	if a, b := work["plane 512"], work["as plane 512"]; a == 0 || a != b {
		t.Errorf("%d and %d operations", a, b)
	}
	if s.Repeat != 10 || !s.Transfers {
		t.Errorf("%d runs, transfers %v", s.Repeat, s.Transfers)
	}
}

// TestSplits holds the scratch memory of the split suite's layers against the paper's
// formula: of the whole, V and M in float32.
func TestSplits(t *testing.T) {
	gpu := conv.Caps{LocalMem: 48 << 10, MaxWorkGroup: 1024}
	s, err := papers.FindSuite("snu-split")
	if err != nil {
		t.Fatal(err)
	}
	tr, err := winograd.V4x5.Transform()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range s.Cases {
		rows, cols := (c.H+tr.M-1)/tr.M, (c.W+tr.M-1)/tr.M
		cols = (cols + 7) / 8 * 8 // lines of tiles are aligned
		v := int64(tr.N*tr.N) * int64(rows*cols) * int64(c.C) * 4
		m := v / int64(c.C) * int64(c.OutC)
		got := map[string]int64{}
		for _, w := range s.Ways {
			impl, err := w.(conv.Algo).New(gpu, c.Shape(), 0)
			if err != nil {
				t.Fatalf("%s: %s: %v", c, w.Name(), err)
			}
			got[w.Name()] = impl.Scratch(c.H)
		}
		part := func(n int) int64 { return (v + m) / int64(rows) * int64((rows+n-1)/n) }
		want := map[string]int64{"base": v + m, "height/2": part(2), "height/4": part(4), "channel/2": v/2 + m, "channel/4": v/4 + m}
		for name, n := range want {
			if got[name] != n {
				t.Errorf("%s: %s takes %d bytes of scratch, want %d", c, name, got[name], n)
			}
		}
		if n := got["default"]; n > winograd.TiledCap || n == 0 {
			t.Errorf("%s: default takes %d bytes", c, n)
		}
	}
}

// TestSplitsAgree: whatever the scratch is divided by, results are right.
func TestSplitsAgree(t *testing.T) {
	dev := convtest.Device(t)
	s, err := papers.FindSuite("snu-split")
	if err != nil {
		t.Fatal(err)
	}
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	c := papers.Case{Name: "small", C: 12, H: 37, W: 45, K: 5, OutC: 9}
	row, err := papers.Conv(context.Background(), cl, conv.CapsOf(dev.Info()), c, s.Ways, peak.Units{}, papers.Options{Repeat: 1, Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range row.Results {
		if m.Refused != "" || !(m.RelError < 1e-5) || m.Rows != c.H || m.LaunchRows != c.H {
			t.Errorf("%s: %+v", m.Algo, m)
		}
	}
}

// TestBatch: every picture of a batch is computed, and by the host's ways too.
func TestBatch(t *testing.T) {
	dev := convtest.Device(t)
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	c := papers.Case{Name: "batch", C: 3, H: 18, W: 21, K: 5, OutC: 7, Batch: 5}
	caps := conv.CapsOf(dev.Info())
	ways := []papers.Way{conv.Direct(caps), onlyFirst{conv.Direct(caps)}, papers.HostLoops, papers.HostGEMM, papers.HostIm2col}
	row, err := papers.Conv(context.Background(), cl, caps, c, ways, peak.Units{FMA: 1e12}, papers.Options{Repeat: 3, Transfers: true})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range row.Results {
		switch {
		case i == 1:
			if !strings.Contains(m.Refused, "wrong result") {
				t.Errorf("a batch of which only the first picture was made: %+v", m)
			}
			continue
		case m.Refused != "" || !(m.RelError < 1e-6) || len(m.Runs) != 3:
			t.Errorf("%s: %+v", m.Algo, m)
		}
		if host := i >= 2; host != (m.Clock == "host") || host && m.PeakShare != 0 {
			t.Errorf("%s: clock %q, share of a peak %g", m.Algo, m.Clock, m.PeakShare)
		}
	}
	if want := float64(5*2*25*3*7*18*21) / row.Results[0].Seconds / 1e9; math.Abs(want-row.Results[0].GFLOPs) > 1e-9*want {
		t.Errorf("%g GFLOP/s, want %g", row.Results[0].GFLOPs, want)
	}
	if row.Winner != conv.Direct(caps).Name() {
		t.Errorf("%q won: the host's ways have another clock", row.Winner)
	}
}

// onlyFirst leaves all pictures but the first of a buffer out.
type onlyFirst struct{ conv.Algo }
type onlyFirstImpl struct{ conv.Impl }

func (onlyFirst) Name() string { return "only-first" }
func (a onlyFirst) New(c conv.Caps, s conv.Shape, p planar.Precision) (conv.Impl, error) {
	impl, err := a.Algo.New(c, s, p)
	return onlyFirstImpl{impl}, err
}
func (a onlyFirstImpl) Launch(q *clrt.Queue, k []*clrt.Kernel, packed *clrt.Buffer, args *conv.Args) error {
	if args.Dst.Base > 0 {
		return nil
	}
	return a.Impl.Launch(q, k, packed, args)
}

// TestOrder runs a suite of the papers as the command does, and reads its tables.
func TestOrder(t *testing.T) {
	dev := convtest.Device(t)
	for name, o := range map[string]struct {
		algos string
		want  []string
	}{
		"polito": {"direct-rows,host-gemm", []string{"the paper's table", "ConvMM", "im2col-host", "1600x1200", "host-gemm"}},
		"ui":     {"direct-packed,host-loops", []string{"±", "batch 128", "4,16,16,5,128 x32", "naive CPU"}},
	} {
		s, err := papers.FindSuite(name)
		if err != nil {
			t.Fatal(err)
		}
		s.Cases = s.Cases[len(s.Cases)-3:]
		if name == "ui" {
			s.Cases = s.Cases[1:]
		}
		var notes []string
		x, err := papers.Order{Suite: s, Scale: 64, Algos: o.algos, Options: papers.Options{Repeat: 1, Limit: time.Millisecond},
			Note: func(s string) { notes = append(notes, s) }}.On(dev)
		if err != nil {
			t.Fatal(err)
		}
		r, err := x.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		var b strings.Builder
		if err := r.WriteText(&b); err != nil {
			t.Fatal(err)
		}
		for _, want := range o.want {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s: no %q in\n%s", name, want, b.String())
			}
		}
	}
	s, _ := papers.FindSuite("snu-split")
	if _, err := (papers.Order{Suite: s, Scale: 1, Algos: "direct-rows"}).On(dev); err == nil || !strings.Contains(err.Error(), "known are base, height/2") {
		t.Errorf("an algorithm that the suite has not: %v", err)
	}
}
