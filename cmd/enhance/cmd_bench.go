package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"enhance/atomicfile"
	"enhance/bench"
	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/peak"
	"enhance/exec"
	"enhance/model"
	"enhance/pipeline"
)

func init() {
	register(&command{name: "bench", summary: "time convolution algorithms, matrix products and whole networks", run: runBench})
}

const benchHelp = `enhance bench conv --suite snu|ui|polito [--scale N] [--json] [--svg FILE]
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
	opt               bench.Options
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

const benchConvHelp = `enhance bench conv --suite snu|ui|polito

Times every convolution algorithm on the suite's shapes: snu has the 35 distinct
convolutions of PyNET on a 12 MP photo; ui 5x5 convolutions of 4 channels on planes of
32 to 512, and of 64 to 1024 channels on planes of 16x16, with and without transfers;
polito 16 pictures of 3 channels from 32x32 to 1600x1200, filtered 3x3 to 32 channels and
9x9 to 3; both also by im2col on the host's cores (im2col-host, by the host's clock, its
input in the host's memory). Other rates are by the device's clock, two operations per multiply-add of the direct
definition; the error is the root mean square against float64 on a sample of outputs.
* marks the winner, by speed and error as enhance tune weighs them, and the second
table says what it reaches of its unit's measured peak; ~ a rate measured on part of a plane, - an algorithm that does not
do the shape (--json says why).
`

func benchConv(e *env, args []string) int {
	b := &benchFlags{}
	f := newFlags("bench conv")
	b.declare(f, "shapes to run: snu, ui or polito")
	f.BoolVar(&b.opt.Transfers, "transfers", false, "also time the way to the device and back (always with ui)")
	if code, done := e.begin(&b.netFlags, f, args, benchConvHelp); done {
		return code
	}
	r, err := b.convSuite(e, f)
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

// convSuite finds out what to run, runs and draws it.
func (b *benchFlags) convSuite(e *env, f *pflag.FlagSet) (*bench.ConvReport, error) {
	if b.suite == "" {
		return nil, usagef("bench conv: give a suite: --suite %s", strings.Join(bench.SuiteNames, ", "))
	}
	cases, err := bench.Suite(b.suite)
	if err != nil {
		return nil, usagef("%v", err)
	}
	if err := b.check(f); err != nil {
		return nil, err
	}
	dev, err := b.device()
	if err != nil {
		return nil, err
	}
	b.opt.Transfers = b.opt.Transfers || b.suite == "ui"
	caps, err := bench.Caps(dev)
	if err != nil {
		return nil, err
	}
	// On planes of 12 MP the unfolded matrix is tens of gigabytes: only the suites
	// of the papers that split the work have it.
	b.opt.HostSplit = b.suite != "snu"
	algos, err := b.pickAlgos(caps)
	if err != nil {
		return nil, err
	}
	out, err := b.drawing()
	if err != nil {
		return nil, err
	}
	abandon := func() {
		if out != nil {
			out.Abort()
		}
	}
	defer abandon()
	ctx, stop := interruptible(e, abandon)
	defer stop()
	r, err := b.conv(ctx, e, dev, caps, cases, algos)
	if err != nil {
		return nil, err
	}
	return r, draw(out, r.Chart())
}

func (b *benchFlags) conv(ctx context.Context, e *env, dev *clrt.Device, caps conv.Caps, cases []bench.Case, algos []conv.Algo) (*bench.ConvReport, error) {
	r := &bench.ConvReport{Suite: b.suite, Scale: b.scale, Precision: b.opt.Precision.String(), Device: dev.Info()}
	var err error
	if r.Peaks, err = units(dev, caps); err != nil {
		return nil, err
	}
	b.opt.Done = b.sayTo(e)
	cases = slices.Clone(cases)
	for i := range cases {
		cases[i] = cases[i].Scaled(b.scale)
	}
	if err := b.compile(e, dev, caps, cases, algos); err != nil {
		return nil, err
	}
	for _, c := range cases {
		row, err := convCase(ctx, dev, caps, c, algos, r.Peaks, b.opt)
		if err != nil {
			return nil, err
		}
		// What runs take: tf32 is a precision of its own there.
		exact := caps
		exact.TF32 = false
		chosen, _ := exec.AutoAlgo(exact, row.Shape(), b.opt.Precision)
		row.Automatic = chosen.Name()
		r.Rows = append(r.Rows, *row)
	}
	for _, base := range baselines(b.suite, caps) {
		r.Ratios = append(r.Ratios, bench.Ratios(r.Rows, base)...)
	}
	return r, nil
}

// units measures what the device's units do at most.
func units(dev *clrt.Device, caps conv.Caps) (peak.Units, error) {
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return peak.Units{}, err
	}
	defer cl.Close()
	return peak.Measure(cl, caps.Matrix, caps.Warpgroup)
}

// compile fills the cache, where there is one and drivers compile whole kernels, as
// those of GPUs do: on CPUs they wait for the size of work-groups.
func (b *benchFlags) compile(e *env, dev *clrt.Device, caps conv.Caps, cases []bench.Case, algos []conv.Algo) error {
	if dev.Info().Type == clrt.CPU || clrt.CacheDir("programs") == "" {
		return nil
	}
	e.compileApart(&b.set)
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return err
	}
	defer cl.Close()
	if k := b.set.Compiler; k != nil {
		cl.CompileWith(k)
		defer k.Rest(true) // a process holds memory of the device
	}
	start := time.Now()
	n := bench.Compile(cl, caps, cases, algos, b.opt.Precision)
	if !b.quiet {
		fmt.Fprintf(e.stderr, "compiled %d programs in %.1f s, or found them in the cache\n", n, time.Since(start).Seconds())
	}
	return nil
}

// convCase has a context of its own, so that nothing of a case outlives it.
func convCase(ctx context.Context, dev *clrt.Device, caps conv.Caps, c bench.Case, algos []conv.Algo, peaks peak.Units, o bench.Options) (*bench.ConvRow, error) {
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return bench.Conv(ctx, cl, caps, c, algos, peaks, o)
}

// baselines are what averages compare with, as the suite's paper does: the plain
// direct algorithm, the device's own, and products of matrices.
func baselines(suite string, c conv.Caps) []string {
	own, implicit, explicit := conv.Direct(c).Name(), conv.ImplicitGEMM{}.Name(), conv.Im2col{}.Name()
	if suite == "snu" {
		return []string{conv.Simple{}.Name(), own, implicit}
	}
	return []string{own, explicit, conv.HostIm2colName}
}

func (b *benchFlags) sayTo(e *env) func(bench.Case, *bench.Measurement) {
	if b.quiet {
		return nil
	}
	return func(c bench.Case, m *bench.Measurement) {
		if m.Refused != "" {
			fmt.Fprintf(e.stderr, "%-12s %-24s %-24s -\n", c.Name, c, m.Algo)
			return
		}
		fmt.Fprintf(e.stderr, "%-12s %-24s %-24s %10.1f GFLOP/s\n", c.Name, c, m.Algo, m.GFLOPs)
	}
}

// pickAlgos takes the algorithms that --algo names, all without it.
func (b *benchFlags) pickAlgos(c conv.Caps) ([]conv.Algo, error) {
	if b.algos == "" {
		return exec.Algorithms(c), nil
	}
	patterns := strings.Split(b.algos, ",")
	rest := slices.DeleteFunc(slices.Clone(patterns), func(p string) bool { return p == conv.HostIm2colName })
	b.opt.HostSplit = len(rest) < len(patterns)
	if len(rest) == 0 {
		return nil, nil
	}
	picked, err := exec.FindAlgos(c, strings.Join(rest, ","))
	if err != nil {
		return nil, usagef("--algo: %v, %s", err, conv.HostIm2colName)
	}
	return picked, nil
}

// drawing opens the file for a chart, nil if none is asked for. That it cannot be
// made is found before the work.
func (b *benchFlags) drawing() (*atomicfile.File, error) {
	if b.svg == "" {
		return nil, nil
	}
	return atomicfile.Create(b.svg, atomicfile.Options{Overwrite: b.overwrite})
}

// draw completes it.
func draw(f *atomicfile.File, c *bench.Chart) error {
	if f == nil {
		return nil
	}
	if err := c.WriteSVG(f); err != nil {
		return err
	}
	return f.Commit()
}

const benchNetHelp = `enhance bench net -m MODEL --size HxW

Runs a network on the formula input for a mosaic of HxW, transfers included, and
prints the median time, the rate and the peak of device memory.
`

func benchNet(e *env, args []string) int {
	b, size, profile := &benchFlags{}, "", profileFlag{}
	f := newFlags("bench net")
	f.StringVar(&size, "size", "2880x3968", "rows x columns of the mosaic")
	profile.declare(f)
	b.declareModel(f)
	b.declareDevice(f)
	b.declare(f, "")
	if code, done := e.begin(&b.netFlags, f, args, benchNetHelp); done {
		return code
	}
	if err := b.check(f); err != nil {
		return e.fail(err, "")
	}
	r, err := b.net(e, size, &profile)
	if err != nil {
		return e.fail(err, "")
	}
	if b.json {
		return e.putJSON(r)
	}
	if err := r.WriteText(e.stdout); err != nil {
		return e.fail(err, "")
	}
	return exitOK
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
	peak, err := peakFMA(dev)
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
	if r, err = bench.Net(ctx, dev, s.Model(), name, h, w, opt, peak, p, b.opt); err != nil || p == nil {
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
