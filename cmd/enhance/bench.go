package main

import (
	"context"
	"fmt"
	"time"

	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/internal/atomicfile"
	"enhance/internal/devices"
	"enhance/internal/planar"
	"enhance/pipeline"
)

// benchRun is what a benchmark is asked for.
type benchRun struct {
	*call
	opt papers.Options
}

// openDevice opens the device that -g names, which cannot be the host executor.
func (b *benchRun) openDevice() (*clrt.Device, error) {
	c, err := devices.ChooseCores(b.set.Device, b.set.Cores)
	if err != nil {
		return nil, err
	}
	if c.Device == nil {
		return nil, &devices.Error{Selector: b.set.Device, Problem: "benchmarks need an OpenCL device"}
	}
	return c.Device, nil
}

// check reads the flags that benchmarks share.
func (b *benchRun) check() error {
	if err := b.wantNoArguments(); err != nil {
		return err
	}
	suite := b.cmd.name == "bench conv" || b.cmd.name == "bench gemm"
	switch {
	case b.repeat < 1 || b.repeat > 1000:
		return usagef("--repeat: %d: want 1 to 1000", b.repeat)
	case suite && b.set.Precision != pipeline.FP32 && b.set.Precision != pipeline.FP16:
		return usagef("--precision: %s: want fp32 (the tf32 algorithms are in it) or fp16", b.set.Precision)
	case b.cmd.name != "bench net" && (b.scale < 1 || b.scale > 64):
		return usagef("--scale: %d: want 1 to 64", b.scale)
	case suite && !(b.limit > 0 && b.limit <= 3600):
		return usagef("--limit: %g: want seconds, at most 3600", b.limit)
	}
	b.opt.Repeat, b.opt.Limit = b.repeat, time.Duration(b.limit*float64(time.Second))
	if b.set.Precision == pipeline.FP16 {
		b.opt.Precision = planar.FP16
	}
	return nil
}

// interruptible opens the file for a chart, nil if none is asked for: that it cannot be
// made is found before the work. It gives up the file when the work is interrupted, and
// when end is called, unless it was completed.
func (b *benchRun) interruptible() (ctx context.Context, out *atomicfile.File, end func(), err error) {
	if b.svg != "" {
		if out, err = atomicfile.Create(b.svg, atomicfile.Options{Overwrite: b.overwrite}); err != nil {
			return nil, nil, nil, err
		}
	}
	abandon := func() {
		if out != nil {
			out.Abort()
		}
	}
	ctx, stop := interruptible(b.env, abandon)
	return ctx, out, func() { stop(); abandon() }, nil
}

// writeRate prints a measurement as it comes.
func (b *benchRun) writeRate(what, refused string, gflops float64) {
	if refused != "" {
		fmt.Fprintf(b.stderr, "%s -\n", what)
		return
	}
	fmt.Fprintf(b.stderr, "%s %10.1f GFLOP/s\n", what, gflops)
}

// draw completes it.
func (b *benchRun) draw(f *atomicfile.File, c *papers.Chart) error {
	if f == nil {
		return nil
	}
	if err := c.WriteSVG(f); err != nil {
		return err
	}
	if err := f.Commit(); err != nil {
		return err
	}
	b.wrote(b.stderr, b.svg, "the chart")
	return nil
}
