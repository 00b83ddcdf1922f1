package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"enhance/bench"
	"enhance/bench/papers"
	"enhance/clrt"
	"enhance/conv"
	"enhance/conv/peak"
	"enhance/exec"
	"enhance/pipeline"
)

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
func (b *benchFlags) convSuite(e *env, f *pflag.FlagSet) (*papers.ConvReport, error) {
	if b.suite == "" {
		return nil, usagef("bench conv: give a suite: --suite %s", strings.Join(papers.SuiteNames, ", "))
	}
	cases, err := papers.Suite(b.suite)
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
	for i := range cases {
		cases[i] = cases[i].Scaled(b.scale)
	}
	algos, err := b.pickAlgos(caps)
	if err == nil {
		err = b.refuseIdle(e, caps, cases, algos)
	}
	if err != nil {
		return nil, err
	}
	ctx, out, end, err := b.interruptible(e)
	if err != nil {
		return nil, err
	}
	defer end()
	r, err := b.conv(ctx, e, dev, caps, cases, algos)
	if err != nil {
		return nil, err
	}
	if why := r.Nothing(); why != "" {
		return nil, &pipeline.DeviceError{Selector: b.set.Device, Problem: "nothing could be measured: " + why}
	}
	return r, draw(out, r.Chart())
}

// refuseIdle says of algorithms that --algo names and that do no case why they do not;
// it is an error if none of them does any.
func (b *benchFlags) refuseIdle(e *env, caps conv.Caps, cases []papers.Case, algos []conv.Algo) error {
	if b.algos == "" {
		return nil
	}
	idle := papers.Idle(caps, cases, algos, b.opt.Precision)
	if len(idle) == len(algos) && len(algos) > 0 && !b.opt.HostSplit {
		const most = 3 // a pattern may name them all
		why := strings.Join(idle[:min(len(idle), most)], "; ")
		if n := len(idle) - most; n > 0 {
			why += fmt.Sprintf("; and %d more", n)
		}
		return usagef("--algo: %s", why)
	}
	if b.quiet || strings.ContainsAny(b.algos, "*?[") { // what a pattern finds nobody asked for by name
		return nil
	}
	for _, why := range idle {
		fmt.Fprintf(e.stderr, "%-8s%s\n", "note", why)
	}
	return nil
}

func (b *benchFlags) conv(ctx context.Context, e *env, dev *clrt.Device, caps conv.Caps, cases []papers.Case, algos []conv.Algo) (*papers.ConvReport, error) {
	r := &papers.ConvReport{Suite: b.suite, Scale: b.scale, Precision: b.opt.Precision.String(), Device: dev.Info()}
	var err error
	if r.Peaks, err = units(dev, caps.Matrix, caps.Warpgroup); err != nil {
		return nil, err
	}
	b.opt.Done = b.sayTo(e)
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
		r.Ratios = append(r.Ratios, papers.Ratios(r.Rows, base)...)
	}
	return r, nil
}

// compile fills the cache, where there is one and drivers compile whole kernels, as
// those of GPUs do: on CPUs they wait for the size of work-groups.
func (b *benchFlags) compile(e *env, dev *clrt.Device, caps conv.Caps, cases []papers.Case, algos []conv.Algo) error {
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
	n := papers.Compile(cl, caps, cases, algos, b.opt.Precision)
	if !b.quiet {
		fmt.Fprintf(e.stderr, "compiled %d programs in %.1f s, or found them in the cache\n", n, time.Since(start).Seconds())
	}
	return nil
}

// convCase has a context of its own, so that nothing of a case outlives it.
func convCase(ctx context.Context, dev *clrt.Device, caps conv.Caps, c papers.Case, algos []conv.Algo, peaks peak.Units, o papers.Options) (*papers.ConvRow, error) {
	cl, err := clrt.NewContext(dev)
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	return papers.Conv(ctx, cl, caps, c, algos, peaks, o)
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

func (b *benchFlags) sayTo(e *env) func(papers.Case, *papers.Measurement) {
	if b.quiet {
		return nil
	}
	return func(c papers.Case, m *papers.Measurement) {
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
