package main

import (
	"errors"
	"fmt"

	"enhance/bench/papers"
	"enhance/internal/devices"
)

var benchConvCommand = &command{name: "bench conv", summary: "time convolutions as papers did",
	usage: []string{"bench conv --suite NAME [--scale N] [--json] [--svg FILE]"}, run: runBenchConv,
	about: `Times convolutions as papers did; docs/papers.md compares the figures. The suites:

  snu        the 35 distinct convolutions of PyNET on a 12 MP photo
  snu-split  its seven 5x5 layers by Winograd's F(4,5), with the scratch memory
             whole (base), in parts by rows of tiles (height/N), in parts by
             input channels (channel/N), and in pieces of 32 MiB (default)
  ui         5x5 convolutions, 10 runs, with transfers: planes of 32 to 512;
             planes of 16x16 with 64 to 1024 channels; batches of 8 to 128
  polito     pictures of 32x32 to 1600x1200 to 16 channels, 3x3

snu, ui and polito run every algorithm. ui and polito also have the host unfold and the
device multiply (im2col-host), and the host alone: by Gonum's matrix product on all cores
(host-gemm) and, in ui, in plain loops on one core (host-loops).

The host's rates are by its clock, all others by the device's. Two operations count per
multiply-add of the direct definition. The error is the root mean square against float64
on a sample of outputs. * marks the device's winner, by speed and error as enhance tune
weighs them; ~ a rate measured on part of a plane; - an algorithm that does not do the
shape (--json gives the reason).`}

func runBenchConv(c *call) error {
	b := &benchRun{call: c}
	r, err := b.conv()
	if err != nil {
		return err
	}
	return c.report(r, r.WriteText)
}

// conv runs a suite and draws it.
func (b *benchRun) conv() (*papers.ConvReport, error) {
	if b.suite == "" {
		return nil, usagef("bench conv: give a suite: --suite %s", alternatives(papers.SuiteNames))
	}
	s, err := papers.FindSuite(b.suite)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if err := b.check(); err != nil {
		return nil, err
	}
	if s.Repeat > 0 && !b.given["repeat"] {
		b.opt.Repeat = s.Repeat
	}
	b.opt.Transfers = b.transfers
	dev, err := b.openDevice()
	if err != nil {
		return nil, err
	}
	b.compileApart()
	o := papers.Order{Suite: s, Scale: b.scale, Algos: b.algo, Options: b.opt, Compiler: b.set.Compiler}
	if !b.quiet {
		o.Note = func(text string) { item(b.stderr, "note", "%s", text) }
		o.Done = func(c papers.Case, m *papers.Measurement) {
			b.writeRate(fmt.Sprintf("%-12s %-24s %-24s", c.Name, c, m.Algo), m.Refused, m.GFLOPs)
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
	ctx, out, end, err := b.interruptible()
	if err != nil {
		return nil, err
	}
	defer end()
	r, err := x.Run(ctx)
	if err != nil {
		return nil, err
	}
	if why := r.Nothing(); why != "" {
		return nil, &devices.Error{Selector: b.set.Device, Problem: "nothing could be measured: " + why}
	}
	return r, b.draw(out, r.Chart())
}
