package papers_test

import (
	"context"
	"strings"
	"testing"

	"enhance/bench/gemm"
	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/conv"
	"enhance/internal/convtest"
)

func TestGEMM(t *testing.T) {
	dev := convtest.Device(t)
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	caps := conv.CapsOf(dev.Info())
	variants := gemm.Variants(caps)
	rates := map[string]float64{variants[0].Name: 1} // one operation a second
	c := papers.GEMMCase{M: 37, N: 50, K: 21}
	row, err := papers.GEMM(context.Background(), cl, c, variants, 1e12, rates, papers.Options{Repeat: 2, Transfers: true})
	if err != nil {
		t.Fatal(err)
	}
	if live := cl.Live(); live != 0 {
		t.Errorf("%d bytes are left on the device", live)
	}
	if len(row.Results) != len(variants)+2 {
		t.Fatalf("%d results of %d variants and the host's two", len(row.Results), len(variants))
	}
	for i, m := range row.Results {
		if i == 0 {
			if !strings.Contains(m.Refused, "would take about") {
				t.Errorf("a product of %d operations was tried at one a second", c.FLOPs())
			}
			continue
		}
		if m.Refused != "" || !(m.GFLOPs > 0) || !(m.RelError < 1e-6) || rates[m.Variant] != m.GFLOPs*1e9 {
			t.Errorf("%+v", m)
		}
		if host := i >= len(variants); host != (m.Clock == "host") || host != (m.TransferSeconds == 0) || host != (m.PeakShare == 0) {
			t.Errorf("%s: clock %q, %g s with transfers, %g of the peak", m.Variant, m.Clock, m.TransferSeconds, m.PeakShare)
		}
	}
	r := &papers.GEMMReport{Suite: "edinburgh", Scale: 1, Device: dev.Info(), PeakFMA: 1e12, Rows: []papers.GEMMRow{*row}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "37x50x21") || !strings.Contains(b.String(), "R 4 4 R x C 4 4 C") || !strings.Contains(b.String(), "with transfers") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if chart := r.Chart(); len(chart.Series) != len(variants)+2 || chart.Values[0][0] != 0 {
		t.Errorf("chart %+v", chart)
	}
}

func TestGEMMSuites(t *testing.T) {
	for name, want := range map[string]struct {
		cases, first, last, scaledFirst, scaledLast int
	}{"edinburgh": {13, 96, 2880, 2, 45}, "ui": {5, 64, 1024, 1, 16}} {
		s, err := papers.FindGEMMSuite(name, 1)
		if err != nil || len(s.Cases) != want.cases || s.Cases[0].M != want.first || s.Cases[want.cases-1].K != want.last || s.Transfers != (name == "ui") {
			t.Errorf("%s: %+v, %v", name, s, err)
		}
		if s, err = papers.FindGEMMSuite(name, 64); err != nil || s.Cases[0].N != want.scaledFirst || s.Cases[len(s.Cases)-1].N != want.scaledLast {
			t.Errorf("%s scaled: %+v, %v", name, s, err)
		}
	}
	if _, err := papers.FindGEMMSuite("snu", 1); err == nil {
		t.Error("an unknown suite was found")
	}
}
