package main

import (
	"errors"
	"fmt"
	"io"

	"enhance/bench/eval"
	"enhance/internal/atomicfile"
	"enhance/internal/printable"
	"enhance/model"
	"enhance/pipeline"
)

var modelQuantizeCommand = &command{name: "model quantize", summary: "make a network of 8-bit codes of one of ours",
	usage: []string{"model quantize MODEL DIR|PICTURE... -o FILE.safetensors [--max-loss DB]"}, run: runModelQuantize, words: builtinModels, files: true,
	about: `Runs a network over mosaics of finished pictures (PNG, JPEG or TIFF), finds the ranges of its
values, and writes a network whose inner convolutions multiply integers of 8 bits, as many of
them as --max-loss allows. The first and last convolutions and all sums stay as they are. Then
both networks restore some of the pictures, and the decibels that are lost are printed.`}

// maxCalibration is how many pictures a network is calibrated with, and maxCompared how many it is compared with afterwards.
const maxCalibration, maxCompared = 32, 6

// quantized is what model quantize --json prints.
type quantized struct {
	Model        string       `json:"model"`
	Output       string       `json:"output"`
	Pictures     int          `json:"pictures"`
	Convolutions int          `json:"convolutions"` // of codes
	Lost         float64      `json:"lost"`         // dB of CPSNR, in the mean of the pictures compared
	Comparison   *eval.Report `json:"comparison"`
}

func runModelQuantize(c *call) error {
	switch {
	case len(c.args) < 2:
		return c.wants("a model, and pictures or directories of them")
	case !(c.maxLoss > 0):
		return usagef("--max-loss: %g: want more than 0 dB", c.maxLoss)
	}
	if err := c.namesWeights(); err != nil {
		return err
	}
	c.compileApart()
	photos, err := eval.Files(c.args[1:])
	if err != nil {
		return err
	}
	var all fileUses
	all.readsModel(&pipeline.Settings{Model: c.args[0]})
	for _, path := range photos {
		all.reads(path, "the picture")
	}
	all.makes(c.output, "the network (-o)")
	if err := all.check(); err != nil {
		return err
	}
	if err := atomicfile.Check(c.output, atomicfile.Options{Overwrite: c.overwrite}); err != nil {
		return err
	}
	ctx, stop := interruptible(c.env, func() {})
	defer stop()
	some := spread(photos, maxCalibration)
	m, err := eval.Quantize(ctx, c.args[0], some, c.maxLoss)
	if bad := new(eval.OptionError); errors.As(err, &bad) {
		return usagef("model quantize: %v", err)
	}
	if err != nil {
		return err
	}
	if err := saveModel(c.output, m, c.overwrite); err != nil {
		return err
	}
	r := quantized{Model: c.args[0], Output: c.output, Pictures: len(some)}
	for i := range m.Graph.Nodes {
		if m.Graph.Nodes[i].Op == model.OpQuantConv {
			r.Convolutions++
		}
	}
	set := c.set
	order := eval.Options{Photos: spread(photos, maxCompared), Border: 8}
	for _, name := range []string{c.args[0], c.output} {
		set.Model = name
		order.Models = append(order.Models, set)
	}
	if r.Comparison, err = eval.Run(ctx, order); err != nil {
		return err
	}
	r.Lost = float64(r.Comparison.Methods[0].Mean.CPSNR - r.Comparison.Methods[1].Mean.CPSNR)
	return c.report(&r, func(w io.Writer) error {
		fmt.Fprintf(w, "%s: %d convolutions of codes, by %d pictures; %.2f dB are lost over %d of them\n",
			printable.Text(c.output), r.Convolutions, r.Pictures, r.Lost, r.Comparison.Photos)
		return r.Comparison.WriteText(w)
	})
}

// spread is at most n of a list, from all over it.
func spread(list []string, n int) []string {
	if len(list) <= n {
		return list
	}
	var out []string
	for i := range n {
		out = append(out, list[i*len(list)/n])
	}
	return out
}
