package main

import (
	"errors"

	"enhance/bench"
	"enhance/internal/tensorfile"
	"enhance/model"
	"enhance/pipeline"
)

var benchNetCommand = &command{name: "bench net", summary: "time a whole network",
	usage: []string{"bench net [-m MODEL] [--size WxH]"}, run: runBenchNet,
	about: `Runs a network on made-up samples of a mosaic, transfers included, and prints the median
time, the rate and the peak of device memory.`}

func runBenchNet(c *call) error {
	b, times := &benchRun{call: c}, &timeProfile{}
	if err := b.check(); err != nil {
		return err
	}
	if err := times.parse(c.profiling); err != nil {
		return err
	}
	r, err := b.net(times)
	if err != nil {
		return err
	}
	return c.report(r, r.WriteText)
}

func (b *benchRun) net(times *timeProfile) (r *bench.NetReport, err error) {
	cols, rows, err := tensorfile.ParseSize(b.size)
	if err != nil {
		return nil, err
	}
	dev, err := b.openDevice()
	if err != nil {
		return nil, err
	}
	b.tellNotices(false)
	b.compileApart()
	s, err := pipeline.NewSession(b.set)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	peaks, err := bench.Units(dev, false, false)
	if err != nil {
		return nil, err
	}
	ctx, stop := interruptible(b.env, s.Abandon)
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
	if err := times.open(b.overwrite); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, times.close(err == nil)) }()
	p := times.device(0, dev.String(), dev)
	if r, err = bench.Net(ctx, dev, s.Model(), name, h, w, opt, peaks.FMA, p, b.opt.Repeat); err != nil || p == nil {
		return r, err
	}
	if times.table || b.json {
		peaks, err := devicePeaks(dev)
		if err != nil {
			return nil, err
		}
		r.Profile = p.Report(peaks)
	}
	return r, nil
}
