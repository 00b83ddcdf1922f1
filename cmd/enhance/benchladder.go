package main

import (
	"fmt"

	"enhance/bench/papers"
)

var benchLadderCommand = &command{name: "bench ladder", summary: "time PyNET in the steps of a paper",
	usage: []string{"bench ladder [--scale N] [-m MODEL] [--json]"}, run: runBenchLadder,
	about: `Runs PyNET on a photo of 12 MP, its sides divided by --scale, transfers included, in the steps
of the paper that suite snu is from: every convolution direct and plain; by implicit GEMM;
3x3 and 5x5 by Winograd, with scratch memory for whole planes; with the scratch memory in
pieces; with F(4,3) in one kernel. Then come the algorithms that runs choose, the same with
fp16 storage, and the same within the smallest budget that works. On a CPU the tiles of
Winograd stay in the cache, so its scratch memory is not divided and its kernels are one.

The first step takes most of the time: minutes on a GPU. On a CPU, give --scale 32.`}

func runBenchLadder(c *call) error {
	b := &benchRun{call: c}
	if err := b.check(); err != nil {
		return err
	}
	dev, err := b.openDevice()
	if err != nil {
		return err
	}
	ctx, stop := interruptible(b.env, func() {})
	defer stop()
	l := papers.Ladder{Model: b.set.Model, Scale: b.scale, Repeat: b.opt.Repeat}
	if !b.quiet {
		l.Done = func(s *papers.LadderStep) {
			if s.Net == nil {
				fmt.Fprintf(b.stderr, "%-16s -\n", s.Name)
				return
			}
			fmt.Fprintf(b.stderr, "%-16s %10.4f s\n", s.Name, s.Net.Seconds)
		}
	}
	r, err := l.Run(ctx, dev)
	if err != nil {
		return err
	}
	return c.report(r, r.WriteText)
}
