package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"enhance/bench"
	"enhance/internal/tensorfile"
	"enhance/pipeline/facts"
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
	return c.report(r, func(w io.Writer) error { return writeTiming(w, r) })
}

func (b *benchRun) net(times *timeProfile) (r *facts.Timing, err error) {
	cols, rows, err := tensorfile.ParseSize(b.size)
	if err != nil {
		return nil, err
	}
	dev, err := b.openDevice()
	if err != nil {
		return nil, err
	}
	if err := times.open(b.overwrite); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, times.close(err == nil)) }()
	b.set.Profiler = times.profiler
	s, err := b.newSession(false)
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
	if r, err = s.Time(ctx, rows, cols, b.opt.Repeat); err != nil {
		return nil, err
	}
	r.Against(peaks.FMA)
	if times.table || b.json {
		profiles, err := times.reports()
		if err != nil {
			return nil, err
		}
		for _, p := range profiles {
			r.Profile = p
		}
	}
	return r, nil
}

// writeTiming writes it for people.
func writeTiming(w io.Writer, r *facts.Timing) error {
	item(w, "net", "%s, %s, %s to %s, %.3f TFLOP", r.Model, r.Precision, r.Input, r.Output, float64(r.FLOPs)/1e12)
	item(w, "device", "%s", r.Device.Name)
	item(w, "plan", "%s, %d launches", r.Strategy, r.Launches)
	if t := r.Tuning.String(); t != "" {
		item(w, "", "algorithms: %s", t)
	}
	for _, a := range r.Algos {
		item(w, "", "%d convolutions by %s, %.1f %% of the work", a.Steps, a.Algo, 100*a.Share)
	}
	of := "one run"
	if n := len(r.Runs); n > 1 {
		of = fmt.Sprintf("median of %d runs, %.4f to %.4f", n, slices.Min(r.Runs), slices.Max(r.Runs))
	}
	item(w, "time", "%.4f s (%s), after %.2f s to prepare", r.Seconds, of, r.Prepare)
	if r.CPUSeconds > 0 {
		item(w, "", "%.4f processor seconds", r.CPUSeconds)
	}
	share := ""
	if r.PeakShare > 0 {
		share = fmt.Sprintf(", %.1f %% of the %.0f GFLOP/s FMA peak measured", 100*r.PeakShare, r.PeakFMA/1e9)
	}
	item(w, "rate", "%.1f GFLOP/s%s", r.GFLOPs, share)
	item(w, "memory", "%d bytes of device memory at most (%s), %d planned", r.PeakBytes, bench.FormatBytes(r.PeakBytes), r.PlannedBytes)
	if r.PeakResident > 0 {
		item(w, "", "%d bytes (%s) resident in the process at most", r.PeakResident, bench.FormatBytes(r.PeakResident))
	}
	if r.NonFinite > 0 {
		item(w, "note", "%d samples of the result are NaN or infinite", r.NonFinite)
	}
	if r.Profile != nil {
		fmt.Fprintln(w)
		return r.Profile.WriteTable(w)
	}
	return nil
}
