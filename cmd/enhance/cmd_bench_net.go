package main

import (
	"errors"

	"enhance/bench"
	"enhance/model"
	"enhance/pipeline"
)

const benchNetHelp = `enhance bench net -m MODEL --size HxW

Runs a network on the formula input for a mosaic of HxW, transfers included, and
prints the median time, the rate and the peak of device memory.
`

func benchNet(e *env, args []string) int {
	b, size, profile := &benchFlags{}, "", profileFlag{}
	f := newFlags("bench net")
	f.StringVar(&size, "size", "2880x3968", "`HxW`, rows x columns of the mosaic")
	profile.declare(f)
	b.declareModel(f)
	b.declareDevice(f)
	withoutHost(f)
	b.declare(f, "")
	if code, done := e.begin(&b.netFlags, f, args, benchNetHelp); done {
		return code
	}
	if err := b.check(f); err != nil {
		return e.fail(err, "")
	}
	r, err := b.net(e, size, &profile)
	return b.finish(e, r, err)
}

func (b *benchFlags) net(e *env, size string, profile *profileFlag) (r *bench.NetReport, err error) {
	rows, cols, err := pipeline.ParseSize(size)
	if err != nil {
		return nil, err
	}
	dev, err := b.device()
	if err != nil {
		return nil, err
	}
	tellTuning(&b.set, e.stderr, b.quiet, false)
	e.compileApart(&b.set)
	s, err := pipeline.NewSession(b.set)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	peaks, err := bench.Units(dev, false, false)
	if err != nil {
		return nil, err
	}
	ctx, stop := interruptible(e, s.Abandon)
	defer stop()
	opt, h, w, err := s.EngineOptions(ctx, rows, cols)
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil { // the benchmark has contexts of its own
		return nil, err
	}
	name := b.set.Model
	if name == "" {
		name = model.Default
	}
	if err := profile.open(b.overwrite); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, profile.close(err == nil)) }()
	p := profile.device(0, dev.String(), dev)
	if r, err = bench.Net(ctx, dev, s.Model(), name, h, w, opt, peaks.FMA, p, b.opt.Repeat); err != nil || p == nil {
		return r, err
	}
	if profile.table || b.json {
		peaks, err := devicePeaks(dev)
		if err != nil {
			return nil, err
		}
		r.Profile = p.Report(peaks)
	}
	return r, nil
}
