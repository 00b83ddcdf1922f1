package main

import (
	"context"
	"fmt"
	"io"

	"enhance/internal/printable"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

var applyCommand = &command{name: "apply", summary: "run an ONNX or ncnn network over a picture",
	usage: []string{"apply -m NET.onnx PICTURE -o OUT.png [--input rgb255]"}, run: runApply, files: true,
	about: `Runs a network for pictures, such as a denoiser or an upscaler, over a PNG, TIFF or
JPEG. The network sees the whole picture, so that nothing depends on the budget. It takes
and makes 3 channels; one of 1 channel runs over red, green and blue in turn. enhance finds
the factor by which the network enlarges, and pads sides that it cannot divide by reflection.
NET is an ONNX file, or NET.param of ncnn with NET.bin beside it.`}

// applyResult is what --json prints.
type applyResult struct {
	*facts.ApplyReport
	outcome
}

func runApply(c *call) error {
	j, err := c.applyJob()
	if err != nil {
		return err
	}
	c.set.PlanOnly = c.dryRun && c.set.Profile != "" && c.device == ""
	s, err := c.newSession(false)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := interruptible(c.env, s.Abandon)
	defer stop()
	r, err := c.apply(ctx, s, j)
	r.outcome = c.tell(err)
	return c.finish(r, r.Status)
}

// applyJob is what the command line asks for.
func (c *call) applyJob() (j pipeline.ApplyJob, err error) {
	switch {
	case len(c.args) != 1:
		return j, c.wants(fmt.Sprintf("one picture, not %d", len(c.args)))
	case c.model == "":
		return j, usagef("apply: give the network with -m NET.onnx or -m NET.param")
	case c.output == "" && !c.dryRun:
		return j, usagef("apply: give the result's file with -o OUT.png, or --dry-run")
	case c.output == "-" && c.json:
		return j, usagef("-o - and --json both write to standard output: choose one")
	}
	if err := j.Samples.UnmarshalText([]byte(c.samples)); err != nil {
		return j, err
	}
	var all fileUses
	all.reads(c.args[0], "the picture")
	all.readsModel(&c.set)
	all.reads(c.deviceProfile, "the device profile")
	all.makes(c.output, "the result (-o)")
	if err := all.check(); err != nil {
		return j, err
	}
	j.Input, j.DryRun = c.args[0], c.dryRun
	j.Output = pipeline.Output{Path: c.output, Bits: c.bits, Quality: c.quality, Overwrite: c.overwrite}
	if c.subsampling != "" {
		if err := j.Output.Subsampling.UnmarshalText([]byte(c.subsampling)); err != nil {
			return j, err
		}
	}
	if c.format != "" {
		if err := j.Output.Format.UnmarshalText([]byte(c.format)); err != nil {
			return j, err
		}
	}
	if c.output == "-" {
		j.Output.Path, j.Output.Writer = "", c.stdout
	}
	return j, nil
}

func (c *call) apply(ctx context.Context, s *pipeline.Session, j pipeline.ApplyJob) (applyResult, error) {
	say := c.stderr
	switch {
	case c.dryRun && !c.json:
		say = c.text()
	case c.quiet:
		say = io.Discard
	}
	progress := c.newMeter()
	j.Progress = progress.set
	j.Planned = func(r *facts.ApplyReport) { writeApplyPlanned(say, r) }
	rep, err := s.Apply(ctx, j)
	progress.end()
	if err == nil && !c.dryRun {
		writeApplyDone(say, rep)
	}
	return applyResult{ApplyReport: rep}, err
}

func writeApplyPlanned(w io.Writer, r *facts.ApplyReport) {
	padded := ""
	if r.Plan.Packed != r.Picture {
		padded = ", padded to " + sizeOf(r.Plan.Packed)
	}
	item(w, "picture", "%s: %s%s", printable.Text(r.Input), sizeOf(r.Picture), padded)
	runs := ""
	if r.Runs > 1 {
		runs = fmt.Sprintf(", in %d runs: the network takes one channel", r.Runs)
	}
	item(w, "result", "%s%s", sizeOf(r.Result), runs)
	writeNetwork(w, &r.Device, r.Model.String(), &r.Plan)
}

func writeApplyDone(w io.Writer, r *facts.ApplyReport) {
	s := &r.Seconds
	item(w, "output", "%s", outputName(&r.Output))
	item(w, "time", "%.3f s: prepare %.3f, last run %.3f", s.Total, s.Prepare, s.Run)
	writeExactPeak(w, &r.Memory, &r.Plan)
	writeNotes(w, r.Warnings)
}
