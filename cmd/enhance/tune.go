package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"enhance/internal/printable"
	"enhance/internal/tensorfile"
	"enhance/pipeline/facts"
)

var tuneCommand = &command{name: "tune", summary: "measure the fastest convolution algorithms of a device",
	usage: []string{"tune [-g DEVICE] [-m MODEL] [--precision KIND] [--size WxH]"}, run: runTune,
	about: `Measures convolution algorithms for each kind of convolution of a network, checks each
against the plain definition, and keeps the best in the cache directory for later runs.
A wrong algorithm cannot win, and an inexact one only by being much faster. The results
hold for photos of about the given size, this device, driver and version of enhance.
Ctrl-C ends the measurements and keeps what was measured.`}

func runTune(c *call) error {
	if err := c.wantNoArguments(); err != nil {
		return err
	}
	if !(c.limit >= 0 && c.limit <= 86400) {
		return usagef("--limit: %g: want seconds, at most 86400", c.limit)
	}
	w, h, err := tensorfile.ParseSize(c.size)
	if err != nil {
		return err
	}
	s, err := c.newSession(true)
	if err != nil {
		return err
	}
	ctx, stop := interruptible(c.env, s.Abandon)
	defer stop()
	defer s.Close()
	r, err := s.Tune(ctx, h, w, time.Duration(c.limit*float64(time.Second)))
	if err != nil {
		return err
	}
	return c.report(r, func(w io.Writer) error { return writeTuning(w, r, c.verbose) })
}

// writeTuning prints a line for each convolution, or one for each candidate.
func writeTuning(w io.Writer, r *facts.TuneReport, all bool) error {
	fmt.Fprintf(w, "%s on %s, %s packed: %.1f s, kept in %s\n", printable.Text(r.Model.Name), deviceName(&r.Device), sizeOf(r.Packed), r.Seconds, printable.Text(r.File))
	for _, p := range r.Findings {
		fmt.Fprintf(w, "\n%s, choices %s\n", p.Precision, p.Hash)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "C,H,W,k,K\tGFLOP/s\ttimes default\terror\ttried\t  algorithm\t  default")
		for i := range p.Outcomes {
			o := &p.Outcomes[i]
			c := &o.Choice
			if !c.Measured() {
				fmt.Fprintf(t, "%s\t-\t-\t-\t-\t  %s\t  not measured: %s\n", o.Name, c.Algo, o.Problem)
				continue
			}
			fmt.Fprintf(t, "%s\t%.1f\t%.2f\t%.1e\t%d\t  %s\t  %s\n", o.Name, c.GFLOPs, c.Gain(), c.Error, c.Tried, c.Algo, c.Default)
			for _, x := range o.Results {
				switch {
				case !all:
				case x.Problem != "":
					fmt.Fprintf(t, "\t-\t-\t-\t\t    %s\t  %s\n", x.Algo, printable.Line(x.Problem))
				default:
					fmt.Fprintf(t, "\t%.1f\t%.2f\t%.1e\t\t    %s\t\n", x.GFLOPs, c.Before/x.Seconds, x.Error, x.Algo)
				}
			}
		}
		if err := t.Flush(); err != nil {
			return err
		}
	}
	return nil
}
