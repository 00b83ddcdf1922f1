package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"enhance/atomicfile"
	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/pipeline"
)

func init() {
	register(&command{name: "bench", summary: "time convolution algorithms, matrix products and whole networks", run: runBench})
}

const benchHelp = `enhance bench conv --suite snu|snu-split|ui|polito [--scale N] [--json] [--svg FILE]
enhance bench gemm --suite edinburgh [--scale N] [--json] [--svg FILE]
enhance bench net -m MODEL --size HxW [--json]
(enhance bench conv --help and so on say more)
`

func runBench(e *env, args []string) int {
	if len(args) > 0 {
		switch args[0] {
		case "conv":
			return benchConv(e, args[1:])
		case "gemm":
			return benchGEMM(e, args[1:])
		case "net":
			return benchNet(e, args[1:])
		case "-h", "--help":
			fmt.Fprint(e.stdout, benchHelp)
			return exitOK
		}
		return e.fail(usagef("bench %s: want conv, gemm or net: see enhance bench --help", args[0]), "")
	}
	return e.fail(usagef("bench: want conv, gemm or net: see enhance bench --help"), "")
}

// benchFlags are what all benchmarks take.
type benchFlags struct {
	netFlags
	suite, svg, algos string
	scale             int
	opt               papers.Options
	limit             float64 // seconds
	quiet, overwrite  bool
}

func (b *benchFlags) declare(f *pflag.FlagSet, suites string) {
	if suites != "" {
		f.StringVar(&b.suite, "suite", "", suites)
		f.IntVar(&b.scale, "scale", 1, "divide the sides of planes or matrices by `N`")
		f.Float64Var(&b.limit, "limit", 2, "`seconds` for the runs of one measurement; planes are cut to what fits")
		f.StringVar(&b.svg, "svg", "", "also draw the rates side by side in `FILE`")
		f.BoolVarP(&b.overwrite, "overwrite", "y", false, "replace a drawing that exists")
		f.StringVar(&b.algos, "algo", "", "only these, separated by commas, * for any characters")
		f.StringVarP(&b.set.Device, "device", "g", "", "index, platform:device or part of a name (enhance --list-devices)")
		f.IntVarP(&b.set.Cores, "jobs", "j", 0, coresUsage)
		f.StringVar(&b.precision, "precision", "fp32", "how samples are stored on the device: fp32 or fp16")
	}
	f.IntVar(&b.opt.Repeat, "repeat", 5, "runs that count, after one that does not")
	f.BoolVarP(&b.quiet, "quiet", "q", false, "do not say how far it is")
	b.declareReport(f)
}

// device opens what -g names; benchmarks of the host executor make no sense.
func (b *benchFlags) device() (*clrt.Device, error) {
	c, err := pipeline.ChooseCores(b.set.Device, b.set.Cores)
	if err != nil {
		return nil, err
	}
	if c.Device == nil {
		return nil, &pipeline.DeviceError{Selector: b.set.Device, Problem: "benchmarks need an OpenCL device"}
	}
	return c.Device, nil
}

func (b *benchFlags) check(f *pflag.FlagSet) error {
	switch {
	case f.NArg() > 0:
		return usagef("%s: %q: want flags only", strings.TrimPrefix(f.Name(), "enhance "), f.Arg(0))
	case b.opt.Repeat < 1 || b.opt.Repeat > 1000:
		return usagef("--repeat: %d: want 1 to 1000", b.opt.Repeat)
	case b.suite != "" && b.set.Precision != pipeline.FP32 && b.set.Precision != pipeline.FP16:
		return usagef("--precision: %s: want fp32, which has the tf32 algorithms too, or fp16", b.set.Precision)
	case b.suite != "" && (b.scale < 1 || b.scale > 64):
		return usagef("--scale: %d: want 1 to 64", b.scale)
	case b.suite != "" && !(b.limit > 0 && b.limit <= 3600):
		return usagef("--limit: %g: want seconds, at most 3600", b.limit)
	}
	b.opt.Limit, b.opt.Precision = time.Duration(b.limit*float64(time.Second)), b.set.Precision.Storage()
	return nil
}

// finish writes a benchmark's report.
func (b *benchFlags) finish(e *env, r interface{ WriteText(io.Writer) error }, err error) int {
	switch {
	case err != nil:
		return e.fail(err, "")
	case b.json:
		return e.putJSON(r)
	}
	if err := r.WriteText(e.stdout); err != nil {
		return e.fail(err, "")
	}
	return exitOK
}

// interruptible opens the file for a chart, nil if none is asked for: that it cannot be
// made is found before the work. It gives up the file when the work is interrupted, and
// when end is called, unless it was completed.
func (b *benchFlags) interruptible(e *env) (ctx context.Context, out *atomicfile.File, end func(), err error) {
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
	ctx, stop := interruptible(e, abandon)
	return ctx, out, func() { stop(); abandon() }, nil
}

// draw completes it.
func draw(f *atomicfile.File, c *papers.Chart) error {
	if f == nil {
		return nil
	}
	if err := c.WriteSVG(f); err != nil {
		return err
	}
	return f.Commit()
}
