package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"enhance/internal/atomicfile"
	"enhance/internal/printable"
	"enhance/internal/tensorfile"
	"enhance/model"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

var modelRunCommand = &command{name: "model run", summary: "run a network on a bare tensor",
	usage: []string{"model run -m MODEL -i in.f32 --shape C,H,W -o out.f32", "model run -m MODEL -i formula:SEED:WxH [--reference want.f32]",
		"model run -m MODEL -i formula:SEED:WxH --dump NODE=node.f32",
		"model run -m NET.onnx -i NAME=a.f32 -i OTHER=b.f32 --shape C,H,W -o c"}, run: runModelRun,
	about: `Runs a network on a tensor: planes of little-endian float32 samples, or samples made
from a seed, of W packed columns and H packed rows. enhance pads sides that the network
cannot divide by reflection and crops the result, as for photos. An ONNX network gets its
input as it is and gives what ONNX says; --shape is that of its first input.`}

// tensorOrder is what model run is asked for.
type tensorOrder struct{ *call }

// tensorResult is what --json prints: a report for each value.
type tensorResult struct {
	*facts.TensorReport
	File       string            `json:"file,omitempty"`
	Comparison *tensorComparison `json:"comparison,omitempty"`
	Dumps      []tensorResult    `json:"dumps,omitempty"`
	outcome
}

// tensorComparison is the distance to --reference.
type tensorComparison struct {
	Path   string         `json:"path"`
	MaxAbs float64        `json:"max_abs"`
	PSNR   facts.Decibels `json:"psnr"` // for a peak of 1; null: equal
}

func runModelRun(c *call) error {
	o := &tensorOrder{c}
	if err := o.check(); err != nil {
		return err
	}
	c.set.PlanOnly = c.dryRun && c.set.Profile != "" && c.device == ""
	c.set.Early = !c.dryRun
	s, err := c.newSession(false)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.lists() {
		return listNodes(c.text(), s.Model())
	}
	ctx, stop := interruptible(c.env, s.Abandon)
	defer stop()
	r, err := o.run(ctx, s)
	r.outcome = c.tell(err)
	return c.finish(r, r.Status)
}

// lists reports whether only the names of nodes are asked for.
func (o *tensorOrder) lists() bool { return len(o.dumps) == 1 && o.dumps[0] == "-" }

func (o *tensorOrder) check() error {
	switch {
	case len(o.args) > 0:
		return usagef("model run: %q: give the input with -i", o.args[0])
	case len(o.tensors) == 0 && !o.lists():
		return usagef("model run: give an input: -i FILE --shape C,H,W, or -i formula:SEED:WxH")
	case o.output == "-" && o.json:
		return usagef("-o - and --json both write to standard output: choose one")
	case o.output == "-" && o.dryRun:
		return usagef("-o - and --dry-run both write to standard output: choose one")
	}
	return o.keepFiles()
}

// keepFiles refuses orders whose outputs would replace their inputs or each other.
func (o *tensorOrder) keepFiles() error {
	var all fileUses
	for _, text := range o.tensors {
		if _, file := inputFile(text); !strings.HasPrefix(file, "formula:") {
			all.reads(file, "the input")
		}
	}
	all.reads(o.reference, "the reference")
	all.readsModel(&o.set)
	all.reads(o.deviceProfile, "the device profile")
	all.makes(o.output, "the result (-o)")
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

// inputFile is what -i names: an input, if the network has several, and its file.
func inputFile(text string) (input, file string) {
	input, file, ok := strings.Cut(text, "=")
	if !ok {
		return "", text
	}
	return input, file
}

// open reads the input, or all of them as the channels of one.
func (o *tensorOrder) open(s *pipeline.Session, shape model.Shape) (*pipeline.Tensor, error) {
	if name, _ := inputFile(o.tensors[0]); name == "" && len(o.tensors) == 1 {
		shape, data, err := tensorfile.Open(o.tensors[0], s.Model().Graph.Nodes[0].C, shape)
		return &pipeline.Tensor{Shape: shape, Data: data}, err
	}
	if shape == (model.Shape{}) {
		return nil, usagef("model run: several inputs are files of samples, which do not say their shape: give --shape C,H,W of the first")
	}
	ports, err := s.Inputs(shape.H, shape.W)
	if err != nil {
		return nil, err
	}
	files, known := map[string]string{}, []string{}
	for _, text := range o.tensors {
		name, file := inputFile(text)
		if files[name] != "" {
			return nil, usagef("-i %s: the input %q is given twice", text, name)
		}
		files[name] = file
	}
	in := &pipeline.Tensor{Shape: model.Shape{H: shape.H, W: shape.W}}
	for _, p := range ports {
		known = append(known, p.Name)
		file := files[p.Name]
		if file == "" {
			return nil, usagef("model run: the input %q is missing: give -i %s=FILE", p.Name, p.Name)
		}
		data, err := tensorfile.Read(file, int64(p.C)*int64(shape.H)*int64(shape.W))
		if err != nil {
			return nil, err
		}
		in.C += p.C
		in.Data = append(in.Data, data...)
		delete(files, p.Name)
	}
	for name := range files {
		return nil, usagef("model run: the network has no input %q: want %s", name, alternatives(known))
	}
	return in, nil
}

// listNodes prints what --dump can name.
func listNodes(w io.Writer, m *model.Model) error {
	for _, n := range m.Graph.Nodes {
		if _, err := fmt.Fprintf(w, "%s\t%s\n", n.Name, n.Op); err != nil {
			return err
		}
	}
	return nil
}

// run makes the result, unless only dumps are wanted, and the dumps.
func (o *tensorOrder) run(ctx context.Context, s *pipeline.Session) (r tensorResult, err error) {
	var shape model.Shape
	if o.shape != "" {
		if shape, err = tensorfile.ParseShape(o.shape); err != nil {
			return r, err
		}
	}
	in, err := o.open(s, shape)
	if err != nil {
		return r, err
	}
	if o.output != "" || o.reference != "" || len(o.dumps) == 0 {
		if r, err = o.value(ctx, s, in, "", o.output); err != nil {
			return r, err
		}
	}
	for _, d := range o.dumps {
		name, file := dumpFile(d)
		dump, err := o.value(ctx, s, in, name, file)
		r.Dumps = append(r.Dumps, dump)
		if err != nil {
			return r, err
		}
	}
	return r, nil
}

// value makes one node's value, "" for the result, and writes and compares it.
func (o *tensorOrder) value(ctx context.Context, s *pipeline.Session, in *pipeline.Tensor, node, file string) (r tensorResult, err error) {
	say := o.stderr
	switch {
	case o.dryRun && !o.json:
		say = o.text()
	case o.quiet:
		say = io.Discard
	}
	if file != "" && file != "-" { // before the work
		if err := atomicfile.Check(file, atomicfile.Options{Overwrite: o.overwrite}); err != nil {
			return r, err
		}
	}
	progress := o.newMeter()
	job := pipeline.TensorJob{Input: *in, Node: node, AllowNonFinite: node != "", DryRun: o.dryRun, Progress: progress.set}
	job.Planned = func(t *facts.TensorReport) { writeTensorPlanned(say, t) }
	out, rep, err := s.RunTensor(ctx, job)
	progress.end()
	r = tensorResult{TensorReport: rep}
	if err != nil || o.dryRun {
		return r, err
	}
	switch {
	case file == "-":
		err = tensorfile.Put(o.stdout, out.Data)
	case file != "":
		r.File = file
		err = tensorfile.Write(file, out.Data, o.overwrite)
	}
	if err == nil && node == "" && o.reference != "" {
		r.Comparison, err = compareTensor(o.reference, out)
	}
	writeTensorDone(say, &r)
	if err == nil && !o.dryRun {
		what := "the result"
		if node != "" {
			what = "the value of " + node
		}
		o.wrote(say, file, what)
	}
	return r, err
}

func compareTensor(path string, out *pipeline.Tensor) (*tensorComparison, error) {
	want, err := tensorfile.Read(path, int64(len(out.Data)))
	if err != nil {
		return nil, err
	}
	worst, psnr, err := tensorfile.Compare(out.Data, want)
	return &tensorComparison{Path: path, MaxAbs: worst, PSNR: facts.Decibels(psnr)}, err
}

func writeTensorPlanned(w io.Writer, r *facts.TensorReport) {
	item(w, "input", "%d channels of %dx%d, padded to %s", r.Input[0], r.Input[2], r.Input[1], sizeOf(r.Plan.Packed))
	item(w, "value", "%s: %d channels of %dx%d", r.Node, r.Output[0], r.Output[2], r.Output[1])
	writeNetwork(w, &r.Device, r.Model.String(), &r.Plan)
	for _, a := range r.Algos {
		item(w, "layers", "%d %s by %s, %.1f %% of the work", a.Steps, plural(a.Steps, "convolution"), a.Algo, 100*a.Share)
	}
}

func writeTensorDone(w io.Writer, r *tensorResult) {
	s, v := &r.Seconds, r.Values
	item(w, "time", "%.3f s: prepare %.3f, run %.3f (%.1f GFLOP/s)", s.Total, s.Prepare, s.Run, float64(r.Plan.FLOPs)/s.Run/1e9)
	writeExactPeak(w, &r.Memory, &r.Plan)
	item(w, "values", "mean %.6g, std %.6g, from %.6g to %.6g", v.Mean, v.Std, v.Min, v.Max)
	writeNotes(w, r.Warnings)
	if v.NonFinite > 0 {
		item(w, "note", "%d samples are NaN or infinite", v.NonFinite)
	}
	if c := r.Comparison; c != nil {
		item(w, "quality", "max abs difference %.3g, PSNR %s dB (peak 1) against %s", c.MaxAbs, decibels(c.PSNR), printable.Text(c.Path))
	}
}
