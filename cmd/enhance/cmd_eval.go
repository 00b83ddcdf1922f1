package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"enhance/bench/eval"
	"enhance/model"
	"enhance/pipeline"
	"enhance/raw"
)

func init() {
	register(&command{name: "eval", summary: "hold networks and LibRaw against photos: PSNR and SSIM", run: runEval})
}

const evalHelp = `enhance eval DIR|PHOTO... [-m MODEL]... [--sigma N | --sensor S,O[,R,G,B]] [--compare libraw]
enhance eval kodak/ -m fast -m best --compare libraw
enhance eval kodak/ -m best --sensor 1e-3,1e-5,2,1,1.6 --save out/

Makes mosaics of finished photos (PNG, JPEG, TIFF), restores them, and compares with
the photos: CPSNR, PSNR of every channel and SSIM, in sRGB rounded to 8 bits. The
mosaics hold sRGB codes, as papers have it, or with --sensor what a sensor stores.
`

// evalOrder is the command line of eval.
type evalOrder struct {
	netFlags
	models                               []string
	phase, sensor, compare, noise, power string
	sigma                                float64
	verbose                              bool
	eval.Options
}

func (o *evalOrder) flags() *pflag.FlagSet {
	f := newFlags("eval")
	f.StringArrayVarP(&o.models, "model", "m", nil, "network, as the main job takes it; can be repeated (default "+model.Default+")")
	f.StringVar(&o.phase, "phase", "RGGB", "filter `PATTERN` of the mosaics: RGGB, BGGR, GBRG or GRBG")
	f.Float64Var(&o.sigma, "sigma", 0, "standard deviation `N` of Gaussian noise added to sRGB codes of 0 to 255")
	f.StringVar(&o.sensor, "sensor", "", "`S,O[,R,G,B]`: mosaics of light as a sensor stores it, with noise of variance S·v + O, white-balance gains R, G, B")
	f.Uint64Var(&o.Mosaic.Seed, "seed", 1, "`N` that noise is made from, with the photo's name")
	f.IntVar(&o.Border, "border", 8, "pixels `N` left out on every side")
	f.StringVar(&o.compare, "compare", "", "libraw: LibRaw's demosaicers too (needs its program dcraw_emu)")
	f.StringVar(&o.power, "denoise", "", "`STRENGTH` of 0 to 1, of networks that take the noise level")
	f.StringVar(&o.noise, "noise", "", "with --sensor: estimate, or S,O, in place of the levels that are known")
	f.StringVar(&o.Save, "save", "", "existing `DIR` to write every result to, as PHOTO.METHOD.png")
	o.declareDevice(f)
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say every photo's figures as they come")
	o.declareReport(f)
	return f
}

func runEval(e *env, args []string) int {
	o := &evalOrder{}
	f := o.flags()
	if code, done := e.begin(&o.netFlags, f, args, evalHelp); done {
		return code
	}
	e.compileApart(&o.set)
	if err := o.values(f.Args()); err != nil {
		return e.fail(err, "")
	}
	if o.verbose {
		o.Done = func(method string, r eval.PhotoResult) {
			fmt.Fprintf(e.stderr, "%s  %s  %s dB, SSIM %.4f\n", method, r.Photo, decibels(r.CPSNR), r.SSIM)
		}
	}
	ctx, stop := interruptible(e, func() {})
	defer stop()
	rep, err := o.run(ctx)
	if err != nil {
		return e.fail(err, "")
	}
	if o.json {
		return e.putJSON(rep)
	}
	if err := rep.WriteText(e.stdout); err != nil {
		return e.fail(err, "")
	}
	return exitOK
}

// values parses what pflag does not.
func (o *evalOrder) values(photos []string) (err error) {
	if len(photos) == 0 {
		return usagef("eval: name photos, or directories of them")
	}
	if o.Photos, err = eval.Files(photos); err != nil {
		return err
	}
	if o.Mosaic.Phase, err = raw.ParsePattern(strings.ToUpper(o.phase)); err != nil {
		return usagef("--phase: %q: want RGGB, BGGR, GBRG or GRBG", o.phase)
	}
	o.Mosaic.Sigma = o.sigma
	if o.sensor != "" {
		if o.Mosaic.Sensor, err = eval.ParseSensor(o.sensor); err != nil {
			return usagef("--sensor: %v", err)
		}
	}
	switch o.compare {
	case "":
	case "libraw":
		o.LibRaw = true
	default:
		return usagef("--compare: %q: want libraw", o.compare)
	}
	if o.noise != "" {
		if o.Noise, err = pipeline.ParseNoise(o.noise); err != nil {
			return err
		}
	}
	if o.power != "" {
		v, err := pipeline.ParseDenoise(o.power)
		if err != nil {
			return err
		}
		o.Denoise = &v
	}
	if len(o.models) == 0 {
		o.models = []string{""}
	}
	for _, m := range o.models {
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
	if errors.Is(err, eval.ErrNoLibRaw) {
		return nil, usagef("--compare: %v", err)
	}
	return rep, err
}
