package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"enhance/bench/eval"
	"enhance/internal/printable"
	"enhance/pipeline"
)

var evalCommand = &command{name: "eval", summary: "compare networks and LibRaw on photos: PSNR and SSIM",
	usage: []string{"eval DIR|PHOTO... [-m MODEL]... [--sigma N] [--compare libraw]",
		"eval DIR|PHOTO... [-m MODEL]... --sensor S,O[,R,G,B] [--save DIR]"}, run: runEval, files: true,
	about: `Makes mosaics of finished photos (PNG, JPEG or TIFF), restores them, and compares the
results with the photos in sRGB rounded to 8 bits: CPSNR, PSNR of every channel, SSIM.
The mosaics hold sRGB codes, as in papers, or with --sensor what a sensor stores. -m classical
is the demosaicer that needs no network.`}

// evalOrder is what eval is asked for.
type evalOrder struct {
	*call
	eval.Options
}

func runEval(c *call) error {
	c.compileApart()
	o := &evalOrder{call: c}
	if err := o.readOptions(); err != nil {
		return err
	}
	if c.verbose {
		o.Done = func(method string, r eval.PhotoResult) {
			fmt.Fprintf(c.stderr, "%s  %s  %s dB, SSIM %.4f\n", method, printable.Text(r.Photo), decibels(r.CPSNR), r.SSIM)
		}
	}
	ctx, stop := interruptible(c.env, func() {})
	defer stop()
	rep, err := o.run(ctx)
	if err != nil {
		return err
	}
	c.wrote(c.stderr, c.saveDir, "the results, as PHOTO.METHOD.png")
	return c.report(rep, rep.WriteText)
}

// readOptions makes the options of package eval.
func (o *evalOrder) readOptions() (err error) {
	o.Mosaic.Seed, o.Mosaic.Sigma, o.Border, o.Save = o.seed, o.sigma, o.border, o.saveDir
	if len(o.args) == 0 {
		return usagef("eval: name photos, or directories of them")
	}
	if o.Photos, err = eval.Files(o.args); err != nil {
		return err
	}
	if o.Mosaic.FullColour = o.cfa == "rgb"; !o.Mosaic.FullColour {
		if o.Mosaic.CFA, err = parsePattern("cfa", o.cfa); err != nil {
			return err
		}
	}
	if o.sensor != "" {
		if o.Mosaic.Sensor, err = eval.ParseSensor(o.sensor); err != nil {
			return usagef("--sensor: %v", err)
		}
	}
	for _, with := range strings.FieldsFunc(o.compare, func(r rune) bool { return r == ',' }) {
		switch with {
		case "libraw":
			o.LibRaw = true
		case "rawtherapee":
			o.RawTherapee = true
		default:
			return usagef("--compare: %q: want libraw, rawtherapee or both with a comma", with)
		}
	}
	if o.noise != "" {
		if err = o.Noise.UnmarshalText([]byte(o.noise)); err != nil {
			return err
		}
	}
	if o.Denoise, err = o.parseDenoise(); err != nil {
		return err
	}
	if len(o.models) == 0 { // what a photo would get
		m, err := pipeline.DefaultModel(o.Mosaic.CFA, o.Mosaic.FullColour)
		if err != nil {
			return err
		}
		o.models = []string{m}
	}
	for _, m := range o.models {
		if m == pipeline.Classical {
			o.Classical = true
			continue
		}
		set := o.set
		set.Model = m
		o.Models = append(o.Models, set)
	}
	return nil
}

// run measures; what is wrong with the options is a usage error.
func (o *evalOrder) run(ctx context.Context) (*eval.Report, error) {
	rep, err := eval.Run(ctx, o.Options)
	var bad *eval.OptionError
	if errors.As(err, &bad) {
		return nil, usagef("eval: %v", err)
	}
	if errors.Is(err, eval.ErrNoLibRaw) || errors.Is(err, eval.ErrNoRawTherapee) {
		return nil, usagef("--compare: %v", err)
	}
	return rep, err
}
