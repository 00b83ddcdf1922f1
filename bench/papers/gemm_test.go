package papers_test

import (
	"context"
	"strings"
	"testing"

	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/gemm"
)

func TestGEMM(t *testing.T) {
	dev := device(t)
	cl, err := clrt.NewContext(dev)
	if err != nil {
		t.Fatal(err)
	}
	defer cl.Close()
	caps := conv.CapsOf(dev.Info())
	variants := gemm.Variants(gemm.Caps{CPU: caps.CPU, Vector: caps.Vector, LocalMem: caps.LocalMem, MaxWorkGroup: caps.MaxWorkGroup})
	rates := map[string]float64{variants[0].Name: 1} // one operation a second
	c := papers.GEMMCase{M: 37, N: 50, K: 21}
	row, err := papers.GEMM(context.Background(), cl, c, variants, 1e12, rates, papers.Options{Repeat: 2})
	if err != nil {
		t.Fatal(err)
	}
	if live := cl.Live(); live != 0 {
		t.Errorf("%d bytes are left on the device", live)
	}
	if len(row.Results) != len(variants) {
		t.Fatalf("%d results of %d variants", len(row.Results), len(variants))
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
	}
	r := &papers.GEMMReport{Suite: "edinburgh", Scale: 1, Device: dev.Info(), PeakFMA: 1e12, Rows: []papers.GEMMRow{*row}}
	var b strings.Builder
	if err := r.WriteText(&b); err != nil || !strings.Contains(b.String(), "37x50x21") || !strings.Contains(b.String(), "morton-4x4") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if chart := r.Chart(); len(chart.Series) != len(variants) || chart.Values[0][0] != 0 {
		t.Errorf("chart %+v", chart)
	}
}

func TestEdinburgh(t *testing.T) {
	cs := papers.Edinburgh(1)
	if cs[0].M != 96 || cs[len(cs)-1].K != 2880 {
		t.Errorf("from %s to %s", cs[0], cs[len(cs)-1])
	}
	if cs := papers.Edinburgh(64); cs[0].N != 2 || cs[len(cs)-1].N != 45 {
		t.Errorf("scaled: %v", cs)
	}
}
