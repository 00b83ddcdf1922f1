package main

import (
	"fmt"

	"enhance/bench"
	"enhance/bench/gemm"
	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/conv"
)

var benchGEMMCommand = &command{name: "bench gemm", summary: "time matrix products as papers did",
	usage: []string{"bench gemm --suite edinburgh|ui [--scale N] [--json] [--svg FILE]"}, run: runBenchGEMM,
	about: `Times products of square float32 matrices as papers did; docs/papers.md compares the
figures. Suite edinburgh has sides 96 to 2880; ui has sides 64 to 1024 and also times the
way to the device and back. Both run every kernel 10 times: in rows, in columns, in Morton
order of 4x2 and 4x4 blocks, A in rows by B in columns (rows-x-columns), and both in tiles
that stand in rows and columns (tiles-4-2, tiles-4-4; R 2 4 R has tiles of 2x4, rows inside,
in rows). The host computes the same by Gonum's matrix product on all cores (host-gemm) and
in plain loops on one (host-loops), by its own clock. - marks what would pass --limit at the
rate of the product before (--json gives the reason).`}

func runBenchGEMM(c *call) error {
	b := &benchRun{call: c}
	if err := b.check(); err != nil {
		return err
	}
	s, err := papers.FindGEMMSuite(b.suite, b.scale)
	if err != nil {
		return usagef("bench gemm: give a suite: --suite %s", alternatives(papers.GEMMSuiteNames))
	}
	if !b.given["repeat"] {
		b.opt.Repeat = s.Repeat
	}
	b.opt.Transfers = s.Transfers
	r, err := b.gemm(s)
	if err != nil {
		return err
	}
	return c.report(r, r.WriteText)
}

func (b *benchRun) gemm(s *papers.GEMMSuite) (*papers.GEMMReport, error) {
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
	variants := gemm.Variants(conv.CapsOf(dev.Info()))
	rates := map[string]float64{}
	for _, c := range s.Cases {
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
	return r, b.draw(out, r.Chart())
}
