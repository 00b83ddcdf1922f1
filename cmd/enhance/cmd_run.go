package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"enhance/atomicfile"
	"enhance/model"
	"enhance/pipeline"
)

const modelRunHelp = `enhance model run -m MODEL -i in.f32 --shape C,H,W -o out.f32
enhance model run -m pynet-random:gold -i formula:gold:96x128 --reference want.f32
enhance model run -i formula:x:64x64 --dump conv_l1_d5=l1_d5.f32 -o out.f32

Runs a network on a bare tensor: planes of little-endian float32, or the formula
input of a seed with HxW packed rows and columns. Sides that the network cannot
divide are padded by reflection and the result is cropped, as for photos.
`

// tensorOrder is the command line of model run.
type tensorOrder struct {
	netFlags
	in, out, shape, reference string
	dumps                     []string
	overwrite, dryRun, quiet  bool
}

// tensorResult is what --json prints: a report for each value.
type tensorResult struct {
	*pipeline.TensorReport
	File       string            `json:"file,omitempty"`
	Comparison *tensorComparison `json:"comparison,omitempty"`
	Dumps      []tensorResult    `json:"dumps,omitempty"`
	Status     int               `json:"status"`
	Error      string            `json:"error,omitempty"`
}

// tensorComparison is the distance to --reference.
type tensorComparison struct {
	Path   string            `json:"path"`
	MaxAbs float64           `json:"max_abs"`
	PSNR   pipeline.Decibels `json:"psnr"` // for a peak of 1; null: equal
}

func (o *tensorOrder) flags() *pflag.FlagSet {
	f := newFlags("model run")
	f.StringVarP(&o.in, "input", "i", "", "`FILE` of samples, or formula:SEED:HxW")
	f.StringVar(&o.shape, "shape", "", "`C,H,W` of the input file")
	f.StringVarP(&o.out, "output", "o", "", "`FILE` for the result's samples, - for standard output")
	f.BoolVarP(&o.overwrite, "overwrite", "y", false, "replace outputs that exist")
	f.StringArrayVar(&o.dumps, "dump", nil, "`NAME[=FILE]`: also make the value of a node (without FILE: NAME.f32), NaN included; can be repeated; - for NAME lists the nodes")
	f.StringVar(&o.reference, "reference", "", "`FILE` of samples to compare the result with")
	f.BoolVar(&o.dryRun, "dry-run", false, "decide and print everything; compute nothing, but with --precision auto the patch that decides")
	o.declareModel(f)
	o.declareDevice(f)
	o.declareProfile(f)
	f.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing but errors")
	o.declareReport(f)
	return f
}

func modelRun(e *env, args []string) int {
	o := &tensorOrder{}
	f := o.flags()
	if code, done := e.begin(&o.netFlags, f, args, modelRunHelp); done {
		return code
	}
	if err := o.check(f); err != nil {
		return e.fail(err, "")
	}
	o.set.PlanOnly = o.dryRun && o.set.Profile != nil && o.set.Device == ""
	o.set.Early = !o.dryRun
	tellTuning(&o.set, e.stderr, o.quiet, false)
	e.compileApart(&o.set)
	s, err := pipeline.NewSession(o.set)
	if err != nil {
		return e.fail(err, "")
	}
	defer s.Close()
	if len(o.dumps) == 1 && o.dumps[0] == "-" {
		return listNodes(e, s.Model())
	}
	ctx, stop := interruptible(e, s.Abandon)
	defer stop()
	r, err := o.run(ctx, e, s)
	if err != nil {
		text := message(err, "")
		r.Error, r.Status = strings.TrimPrefix(text, "enhance: "), status(err)
		fmt.Fprintln(e.stderr, text)
	}
	if o.json {
		if code := e.putJSON(r); code != exitOK {
			return code
		}
	}
	return r.Status
}

func (o *tensorOrder) check(f *pflag.FlagSet) error {
	listing := len(o.dumps) == 1 && o.dumps[0] == "-"
	switch {
	case f.NArg() > 0:
		return usagef("model run: %q: give the input with -i", f.Arg(0))
	case o.in == "" && !listing:
		return usagef("model run: give an input: -i FILE --shape C,H,W, or -i formula:SEED:HxW")
	case o.out == "-" && o.json:
		return usagef("-o - and --json both want standard output: choose one")
	case o.out == "-" && o.dryRun:
		return usagef("-o - and --dry-run both want standard output: leave one out")
	}
	return o.keepFiles()
}

// keepFiles refuses orders of which one file would cost another.
func (o *tensorOrder) keepFiles() error {
	var all fileUses
	if !strings.HasPrefix(o.in, "formula:") {
		all.reads(o.in, "the input")
	}
	all.reads(o.reference, "the reference")
	all.readsModel(&o.set)
	all.reads(o.profile, "the device profile")
	all.makes(o.out, "the result (-o)")
	for _, d := range o.dumps {
		name, file := dumpFile(d)
		all.makes(file, "the value of "+name+" (--dump)")
	}
	return all.check()
}

// dumpFile is what --dump names: a node, and the file that its value goes to.
func dumpFile(text string) (node, file string) {
	node, file, ok := strings.Cut(text, "=")
	if !ok && node != "-" {
		file = strings.ReplaceAll(node, "/", "_") + ".f32"
	}
	return node, file
}

// listNodes prints what --dump can name.
func listNodes(e *env, m *model.Model) int {
	for _, n := range m.Graph.Nodes {
		if _, err := fmt.Fprintf(e.stdout, "%s\t%s\n", n.Name, n.Op); err != nil {
			return e.fail(err, "")
		}
	}
	return exitOK
}

// run makes the result, unless only dumps are wanted, and the dumps.
func (o *tensorOrder) run(ctx context.Context, e *env, s *pipeline.Session) (r tensorResult, err error) {
	var shape model.Shape
	if o.shape != "" {
		if shape, err = pipeline.ParseShape(o.shape); err != nil {
			return r, err
		}
	}
	in, err := pipeline.OpenTensor(o.in, s.Model().Graph.Nodes[0].C, shape)
	if err != nil {
		return r, err
	}
	if o.out != "" || o.reference != "" || len(o.dumps) == 0 {
		if r, err = o.value(ctx, e, s, in, "", o.out); err != nil {
			return r, err
		}
	}
	for _, d := range o.dumps {
		name, file := dumpFile(d)
		dump, err := o.value(ctx, e, s, in, name, file)
		r.Dumps = append(r.Dumps, dump)
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// value makes one node's value, "" for the result, and writes and compares it.
func (o *tensorOrder) value(ctx context.Context, e *env, s *pipeline.Session, in *pipeline.Tensor, node, file string) (r tensorResult, err error) {
	say := e.stderr
	switch {
	case o.dryRun && !o.json:
		say = e.stdout
	case o.quiet:
		say = io.Discard
	}
	if file != "" && file != "-" { // before the work
		if err := atomicfile.Check(file, atomicfile.Options{Overwrite: o.overwrite}); err != nil {
			return r, err
		}
	}
	progress := newMeter(e.stderr, o.quiet)
	job := pipeline.TensorJob{Input: *in, Node: node, AllowNonFinite: node != "", DryRun: o.dryRun, Progress: progress.set}
	job.Planned = func(t *pipeline.TensorReport) { writeTensorPlanned(say, t) }
	out, rep, err := s.RunTensor(ctx, job)
	progress.end()
	r = tensorResult{TensorReport: rep}
	if err != nil || o.dryRun {
		return r, err
	}
	switch {
	case file == "-":
		err = pipeline.PutFloats(e.stdout, out.Data)
	case file != "":
		r.File = file
		err = pipeline.WriteFloats(file, out.Data, o.overwrite)
	}
	if err == nil && node == "" && o.reference != "" {
		r.Comparison, err = compareTensor(o.reference, out)
	}
	writeTensorDone(say, &r)
	return r, err
}

func compareTensor(path string, out *pipeline.Tensor) (*tensorComparison, error) {
	want, err := pipeline.ReadFloats(path, int64(len(out.Data)))
	if err != nil {
		return nil, err
	}
	worst, psnr, err := pipeline.CompareTensors(out.Data, want)
	return &tensorComparison{Path: path, MaxAbs: worst, PSNR: pipeline.Decibels(psnr)}, err
}

func writeTensorPlanned(w io.Writer, r *pipeline.TensorReport) {
	fmt.Fprintf(w, "%-8s%s %d,%d,%d, padded to %dx%d\n", "value", r.Node, r.Output[0], r.Output[1], r.Output[2], r.Plan.Packed[0], r.Plan.Packed[1])
	fmt.Fprintf(w, "%-8s%s (%s)\n", "device", deviceName(&r.Device), r.Device.Why)
	fmt.Fprintf(w, "%-8s%s, %s\n", "model", r.Model.Name, precisionLine(&r.Plan))
	fmt.Fprintf(w, "%-8s%s\n", "plan", planLine(&r.Plan))
	for _, a := range r.Algos {
		fmt.Fprintf(w, "%-8s%d convolutions by %s, %.1f %% of the work\n", "", a.Steps, a.Algo, 100*a.Share)
	}
}

func writeTensorDone(w io.Writer, r *tensorResult) {
	s, v := &r.Seconds, r.Values
	fmt.Fprintf(w, "%-8s%.3f s: prepare %.3f, run %.3f (%.1f GFLOP/s)\n", "time", s.Total, s.Prepare, s.Run, float64(r.Plan.FLOPs)/s.Run/1e9)
	if m := &r.Memory; m.Measured {
		agree := "as planned"
		if !m.AsPlanned {
			agree = fmt.Sprintf("NOT as planned (%d bytes)", r.Plan.Peak)
		}
		fmt.Fprintf(w, "%-8speak device memory %s (%d bytes), %s\n", "memory", pipeline.Bytes(m.Peak), m.Peak, agree)
	}
	fmt.Fprintf(w, "%-8smean %.6g, std %.6g, from %.6g to %.6g\n", "values", v.Mean, v.Std, v.Min, v.Max)
	for _, text := range r.Warnings {
		fmt.Fprintf(w, "%-8s%s\n", "note", oneLine(text))
	}
	if v.NonFinite > 0 {
		fmt.Fprintf(w, "%-8s%d samples are NaN or infinite\n", "note", v.NonFinite)
	}
	if c := r.Comparison; c != nil {
		fmt.Fprintf(w, "%-8smax abs difference %.3g, PSNR %s dB (peak 1) against %s\n", "quality", c.MaxAbs, decibels(c.PSNR), c.Path)
	}
}
