package main

import (
	"fmt"
	"io"

	"enhance/internal/printable"
	"enhance/pipeline"
	"enhance/pipeline/facts"
)

var classifyCommand = &command{name: "classify", summary: "say what a picture shows, by an ONNX network",
	usage: []string{"classify -m NET.onnx PICTURE [--labels FILE] [--top 5] [--input rgb255]"}, run: runClassify, files: true,
	about: `Runs a network that makes a number for each class over a PNG, TIFF or JPEG and prints
the likeliest classes. The picture's short side is resized, to 256 for a network of 224, and
the middle is taken; ImageNet's mean is subtracted and its spread divided out. Where the
network ends without softmax, enhance makes probabilities. A file NET.onnx.json may say
otherwise: its section "classify" has resize, crop, input, mean, std and labels.`}

// classifyResult is what --json prints.
type classifyResult struct {
	*facts.ClassifyReport
	outcome
}

func runClassify(c *call) error {
	j, err := c.classifyJob()
	if err != nil {
		return err
	}
	s, err := c.newSession(false)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := interruptible(c.env, s.Abandon)
	defer stop()
	rep, err := s.Classify(ctx, j)
	r := classifyResult{rep, c.tell(err)}
	if err == nil && !c.json {
		writeClasses(c.stdout, rep)
	}
	return c.finish(r, r.Status)
}

// classifyJob is what the command line asks for.
func (c *call) classifyJob() (j pipeline.ClassifyJob, err error) {
	switch {
	case len(c.args) != 1:
		return j, c.wants(fmt.Sprintf("one picture, not %d", len(c.args)))
	case c.model == "":
		return j, usagef("classify: give the network with -m NET.onnx")
	case c.top < 1:
		return j, usagef("--top %d: want at least 1", c.top)
	case c.shortSide < 0 || c.shortSide > 1<<16:
		return j, usagef("--short-side %d: want 1 to %d", c.shortSide, 1<<16)
	}
	j = pipeline.ClassifyJob{Input: c.args[0], Top: c.top, Short: c.shortSide}
	if c.view != "" {
		if j.View, err = pipeline.ParseView(c.view); err != nil {
			return j, err
		}
		j.View.Short = c.shortSide
	}
	if c.labels != "" {
		j.Labels, err = pipeline.ReadLabels(c.labels)
	}
	return j, err
}

// writeClasses prints a line for each class: probability, number, label.
func writeClasses(w io.Writer, r *facts.ClassifyReport) {
	for _, k := range r.Classes {
		fmt.Fprintf(w, "%7.3f %%  %4d  %s\n", 100*k.Probability, k.Index, printable.Line(k.Label))
	}
}
