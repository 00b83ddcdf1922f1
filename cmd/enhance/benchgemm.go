package main

import (
	"fmt"

	"enhance/bench"
	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/conv/gemm"
)

var benchGEMMCommand = &command{name: "bench gemm", summary: "time matrix products",
	usage: []string{"bench gemm --suite edinburgh [--scale N] [--json] [--svg FILE]"}, run: runBenchGEMM,
	about: `Times products of square float32 matrices with sides 96 to 2880 by every kernel: in rows,
in columns, and in Morton order of 4x2 and 4x4 blocks. - marks a kernel that would pass
--limit at the rate of the product before (--json gives the reason).`}

func runBenchGEMM(c *call) error {
	b := &benchRun{call: c}
	if b.suite != "edinburgh" {
		return usagef("bench gemm: give a suite: --suite edinburgh")
	}
	if err := b.check(); err != nil {
		return err
	}
	r, err := b.gemm()
	if err != nil {
		return err
	}
	return c.report(r, r.WriteText)
}

func (b *benchRun) gemm() (*papers.GEMMReport, error) {
	dev, err := b.openDevice()
	if err != nil {
		return nil, err
	}
	ctx, out, end, err := b.interruptible()
	if err != nil {
		return nil, err
	}
	defer end()
	r := &papers.GEMMReport{Suite: b.suite, Scale: b.scale, Device: dev.Info()}
	u, err := bench.Units(dev, false, false)
	if err != nil {
		return nil, err
	}
	r.PeakFMA = u.FMA
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	i := dev.Info()
	variants := gemm.Variants(gemm.Caps{CPU: i.Type == clrt.CPU, Vector: i.NativeVectorFloat, LocalMem: i.LocalMem, MaxWorkGroup: i.MaxWorkGroup})
	rates := map[string]float64{}
	for _, c := range papers.Edinburgh(b.scale) {
		row, err := papers.GEMM(ctx, cl, c, variants, r.PeakFMA, rates, b.opt)
		if err != nil {
			return nil, err
		}
		r.Rows = append(r.Rows, *row)
		if b.quiet {
			continue
		}
		for _, m := range row.Results {
			b.writeRate(fmt.Sprintf("%-12s %-24s", c, m.Variant), m.Refused, m.GFLOPs)
		}
	}
	return r, draw(out, r.Chart())
}
