package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"enhance/bench/papers"
	"enhance/pipeline"
)

const benchConvHelp = `enhance bench conv --suite snu|snu-split|ui|polito

Times convolutions as papers did (docs/papers.md sets the figures side by side):

snu        the 35 distinct convolutions of PyNET on a 12 MP photo
snu-split  its seven 5x5 layers by Winograd's F(4,5) with the scratch memory whole
           (base), in parts by rows of tiles (height/N), in parts by input channels
           (channel/N), and in pieces of 32 MiB as runs have it (default)
ui         5x5 convolutions, 10 runs, with transfers: planes of 32 to 512; planes of
           16x16 of 64 to 1024 channels; batches of 8 to 128 pictures
polito     pictures of 32x32 to 1600x1200 to 16 channels, 3x3

snu, ui and polito run every algorithm. Beside them ui and polito have the host
unfold and the device multiply (im2col-host), and the host alone: by Gonum's product
of matrices on all cores (host-gemm) and, in ui, in plain loops on one (host-loops).
Rates of the host's are by its clock, all others by the device's, with two operations
per multiply-add of the direct definition; the error is the root mean square against
float64 on a sample of outputs. * marks the device's winner, by speed and error as
enhance tune weighs them, ~ a rate measured on part of a plane, - an algorithm that does
not do the shape (--json says why).
`

func benchConv(e *env, args []string) int {
	b := &benchFlags{}
	f := newFlags("bench conv")
	b.declare(f, "shapes to run: "+strings.Join(papers.SuiteNames, ", "))
	f.BoolVar(&b.opt.Transfers, "transfers", false, "also time the way to the device and back (always with ui)")
	if code, done := e.begin(&b.netFlags, f, args, benchConvHelp); done {
		return code
	}
	r, err := b.conv(e, f)
	return b.finish(e, r, err)
}

// conv runs a suite and draws it.
func (b *benchFlags) conv(e *env, f *pflag.FlagSet) (*papers.ConvReport, error) {
	if b.suite == "" {
		return nil, usagef("bench conv: give a suite: --suite %s", strings.Join(papers.SuiteNames, ", "))
	}
	s, err := papers.FindSuite(b.suite)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if s.Repeat > 0 && !f.Changed("repeat") {
		b.opt.Repeat = s.Repeat
	}
	if err := b.check(f); err != nil {
		return nil, err
	}
	dev, err := b.device()
	if err != nil {
		return nil, err
	}
	e.compileApart(&b.set)
	o := papers.Order{Suite: s, Scale: b.scale, Algos: b.algos, Options: b.opt, Compiler: b.set.Compiler}
	if !b.quiet {
		o.Note = func(text string) { fmt.Fprintf(e.stderr, "%-8s%s\n", "note", text) }
		o.Done = func(c papers.Case, m *papers.Measurement) {
			e.rate(fmt.Sprintf("%-12s %-24s %-24s", c.Name, c, m.Algo), m.Refused, m.GFLOPs)
		}
	}
	x, err := o.On(dev)
	var bad *papers.OptionError
	if errors.As(err, &bad) {
		return nil, usagef("%v", err)
	}
	if err != nil {
		return nil, err
	}
	ctx, out, end, err := b.interruptible(e)
	if err != nil {
		return nil, err
	}
	defer end()
	r, err := x.Run(ctx)
	if err != nil {
		return nil, err
	}
	if why := r.Nothing(); why != "" {
		return nil, &pipeline.DeviceError{Selector: b.set.Device, Problem: "nothing could be measured: " + why}
	}
	return r, draw(out, r.Chart())
}

// rate tells of a measurement.
func (e *env) rate(what, refused string, gflops float64) {
	if refused != "" {
		fmt.Fprintf(e.stderr, "%s -\n", what)
		return
	}
	fmt.Fprintf(e.stderr, "%s %10.1f GFLOP/s\n", what, gflops)
}
