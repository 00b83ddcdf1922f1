package main

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"enhance/pipeline"
)

func init() {
	register(&command{name: "tune", summary: "measure which convolution algorithms are fastest on a device, for later runs", run: runTune})
}

const tuneHelp = `enhance tune [-g DEVICE] [-m MODEL] [--precision KIND] [--size HxW]

Measures the convolution algorithms that make sense for each kind of convolution of
a network, checks each against the plain definition, and keeps the best ones in the
cache folder, where later runs find them. A wrong one cannot win, an inexact one
only by being much faster. Without --precision all that the device offers are
measured. Results hold for photos of about the size given, on this device, driver
and version of the program. --no-tune has a run ignore them.
Ctrl-C ends it and keeps what was measured until then.
`

func runTune(e *env, args []string) int {
	n, size, limit, quiet, verbose := &netFlags{}, "", 0.0, false, false
	f := newFlags("tune")
	n.declareModel(f)
	f.StringVarP(&n.set.Device, "device", "g", "", "index, platform:device or part of a name (enhance --list-devices)")
	f.StringVar(&n.precision, "precision", "auto", "fp32, tf32 or fp16; auto measures all that the device offers")
	f.StringVar(&size, "size", "2880x3968", "`HxW`, rows x columns of the mosaic")
	f.StringVar(&n.mem, "mem", "", "most bytes of device memory, such as 256M")
	f.Float64Var(&limit, "limit", 0, "stop each precision after so many `seconds`; what was not measured by then stays as it was")
	f.BoolVarP(&quiet, "quiet", "q", false, "do not say how far it is")
	f.BoolVarP(&verbose, "verbose", "v", false, "print every candidate")
	n.declareReport(f)
	if code, done := e.begin(n, f, args, tuneHelp); done {
		return code
	}
	var rows, cols int
	var err error
	switch {
	case f.NArg() > 0:
		err = usagef("tune: %q: want flags only: see enhance tune --help", f.Arg(0))
	case !(limit >= 0 && limit <= 86400):
		err = usagef("--limit: %g: want seconds, at most 86400", limit)
	default:
		rows, cols, err = pipeline.ParseSize(size)
	}
	if err != nil {
		return e.fail(err, "")
	}
	tellTuning(&n.set, e.stderr, quiet, true)
	e.compileApart(&n.set)
	s, err := pipeline.NewSession(n.set)
	if err != nil {
		return e.fail(err, "")
	}
	ctx, stop := interruptible(e, s.Abandon)
	defer stop()
	defer s.Close()
	r, err := s.Tune(ctx, rows, cols, time.Duration(limit*float64(time.Second)))
	if err != nil {
		return e.fail(err, "")
	}
	if n.json {
		return e.putJSON(r)
	}
	if err := writeTuning(e.stdout, r, verbose); err != nil {
		return e.fail(err, "")
	}
	return exitOK
}

// writeTuning prints a line for each convolution, or one for each candidate.
func writeTuning(w io.Writer, r *pipeline.TuneReport, all bool) error {
	fmt.Fprintf(w, "%s on %s, %dx%d packed: %.1f s, kept in %s\n", r.Model.Name, deviceName(&r.Device), r.Packed[0], r.Packed[1], r.Seconds, r.File)
	for _, p := range r.Findings {
		fmt.Fprintf(w, "\n%s, choices %s\n", p.Precision, p.Hash)
		t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(t, "C,H,W,k,K\tGFLOP/s\ttimes default\terror\ttried\t  algorithm\t  default")
		for i := range p.Outcomes {
			o := &p.Outcomes[i]
			c := &o.Choice
			if !c.Measured() {
				fmt.Fprintf(t, "%s\t-\t-\t-\t-\t  %s\t  not measured: %s\n", pipeline.ConvolutionName(o), c.Algo, o.Problem)
				continue
			}
			fmt.Fprintf(t, "%s\t%.1f\t%.2f\t%.1e\t%d\t  %s\t  %s\n", pipeline.ConvolutionName(o), c.GFLOPs, c.Gain(), c.Error, c.Tried, c.Algo, c.Default)
			for _, x := range o.Results {
				switch {
				case !all:
				case x.Problem != "":
					fmt.Fprintf(t, "\t-\t-\t-\t\t    %s\t  %s\n", x.Algo, oneLine(x.Problem))
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
