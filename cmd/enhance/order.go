package main

import (
	"strings"

	"enhance/pipeline"
)

// order is what the main command is asked for.
type order struct {
	*call
	inputs []string
	job    pipeline.Job // Input and Output.Path are filled in for each photo
	times  timeProfile
}

// newOrder reads a command line.
func newOrder(c *call) (*order, error) {
	o := &order{call: c, inputs: append(c.options.inputs, c.args...)}
	if c.listDevices {
		return o, nil
	}
	c.set.PlanOnly = c.set.Profile != nil && c.dryRun && c.device == ""
	c.set.Early = !c.dryRun
	if err := o.readJob(); err != nil {
		return nil, err
	}
	return o, o.check()
}

// readJob reads what every photo has in common.
func (o *order) readJob() (err error) {
	j := &o.job
	j.Output.Bits, j.Output.Quality, j.Output.Overwrite = o.bits, o.quality, o.overwrite
	j.Reference, j.MinPSNR, j.PlanDrawing, j.DryRun = o.reference, o.minPSNR, o.planSVG, o.dryRun
	switch { // 0 would be taken for the default
	case o.bits == 0:
		return usagef("--bits: 0: want 8 or 16")
	case o.quality == 0:
		return usagef("--quality: 0: want 1 to 100")
	}
	if o.format != "" {
		if err = j.Output.Format.UnmarshalText([]byte(o.format)); err != nil {
			return err
		}
	}
	if o.wb != "" {
		if err = j.WB.UnmarshalText([]byte(o.wb)); err != nil {
			return err
		}
	}
	if o.tone != "" {
		if err = j.Tone.UnmarshalText([]byte(o.tone)); err != nil {
			return err
		}
	}
	if o.exposure != "" {
		if err = j.Exposure.UnmarshalText([]byte(o.exposure)); err != nil {
			return err
		}
	}
	if o.noise != "" {
		if err = j.Noise.UnmarshalText([]byte(o.noise)); err != nil {
			return err
		}
	}
	if j.Denoise, err = o.parseDenoise(); err != nil {
		return err
	}
	if err := o.times.parse(o.profiling); err != nil {
		return err
	}
	j.Raw, err = o.rawOptions()
	return err
}

// check refuses combinations that make no sense.
func (o *order) check() error {
	toStdout, several := o.output == "-", len(o.inputs) > 1
	switch {
	case len(o.inputs) == 0:
		return usagef("no photo given: try enhance photo.dng -o photo.png, or enhance --help")
	case toStdout && o.json:
		return usagef("-o - and --json both write to standard output: choose one")
	case toStdout && o.dryRun:
		return usagef("-o - and --dry-run both write to standard output: choose one")
	case toStdout && several:
		return usagef("-o - takes one photo, not %d", len(o.inputs))
	case o.reference != "" && several:
		return usagef("--reference takes one photo, not %d", len(o.inputs))
	case o.minPSNR != 0 && o.reference == "":
		return usagef("--min-psnr needs --reference")
	case !(o.minPSNR >= 0):
		return usagef("--min-psnr: want decibels above 0")
	case o.planSVG != "" && several:
		return usagef("--plan-svg takes one photo, not %d", len(o.inputs))
	case o.times.wanted() && o.dryRun:
		return usagef("--profile and --dry-run contradict each other: a dry run runs nothing that could be timed")
	case o.overwrite && o.skipExisting:
		return usagef("-y and --skip-existing contradict each other")
	}
	for _, in := range o.inputs {
		switch in {
		case "-":
			return usagef("a photo cannot come from standard input: give a file")
		case "":
			return usagef("a photo's name is empty")
		}
	}
	return mistyped(strings.TrimSpace(o.inputs[0]))
}
