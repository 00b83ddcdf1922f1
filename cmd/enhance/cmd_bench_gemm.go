package main

import (
	"fmt"

	"enhance/bench"
	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/conv/gemm"
)

const benchGEMMHelp = `enhance bench gemm --suite edinburgh

Times products of square float32 matrices with sides 96 to 2880 by every kernel: in rows,
in columns, and in Morton order of 4x2 and 4x4 blocks. A kernel that would pass the limit
at the rate of the product before has - (--json says so).
`

func benchGEMM(e *env, args []string) int {
	b := &benchFlags{}
	f := newFlags("bench gemm")
	b.declare(f, "products to run: edinburgh")
	f.Lookup("precision").Hidden, f.Lookup("algo").Hidden = true, true
	if code, done := e.begin(&b.netFlags, f, args, benchGEMMHelp); done {
		return code
	}
	switch {
	case b.suite != "edinburgh":
		return e.fail(usagef("bench gemm: give a suite: --suite edinburgh"), "")
	case f.Changed("precision") || f.Changed("algo"):
		return e.fail(usagef("bench gemm: runs every kernel in fp32: leave --precision and --algo out"), "")
	}
	if err := b.check(f); err != nil {
		return e.fail(err, "")
	}
	r, err := b.gemm(e)
	return b.finish(e, r, err)
}

func (b *benchFlags) gemm(e *env) (*papers.GEMMReport, error) {
	dev, err := b.device()
	if err != nil {
		return nil, err
	}
	ctx, out, end, err := b.interruptible(e)
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
			rate := "         -"
			if m.Refused == "" {
				rate = fmt.Sprintf("%10.1f GFLOP/s", m.GFLOPs)
			}
			fmt.Fprintf(e.stderr, "%-12s %-24s %s\n", c, m.Variant, rate)
		}
	}
	return r, draw(out, r.Chart())
}
