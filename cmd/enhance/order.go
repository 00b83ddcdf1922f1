package main

import (
	"encoding"
	"fmt"
	"path/filepath"
	"strings"

	"enhance/pipeline"
)

// order is what the main command is asked for.
type order struct {
	*call
	inputs []input
	job    pipeline.Job // Input and Output.Path are filled in for each photo
	times  timeProfile
	page   page
}

// newOrder reads a command line.
func newOrder(c *call) (o *order, err error) {
	o = &order{call: c}
	if c.listDevices {
		return o, nil
	}
	c.set.PlanOnly = c.set.Profile != "" && c.dryRun && c.device == ""
	c.set.Early = !c.dryRun
	if err = o.readJob(); err != nil {
		return nil, err
	}
	if len(c.args) > 0 {
		if err = mistyped(strings.TrimSpace(c.args[0])); err != nil {
			return nil, err
		}
	}
	if o.shard != "" {
		if _, err = parseShard(o.shard); err != nil {
			return nil, err
		}
	}
	if o.inputs, err = o.collectInputs(); err != nil {
		return nil, err
	}
	return o, o.check()
}

// readJob reads what every photo has in common.
func (o *order) readJob() (err error) {
	j := &o.job
	j.Output.Bits, j.Output.Quality, j.Output.Overwrite, j.Output.Strip = o.bits, o.quality, o.overwrite, o.strip
	o.page.path = o.pageFile
	j.Reference, j.MinPSNR, j.PlanDrawing, j.DryRun = o.reference, o.minPSNR, o.planSVG, o.dryRun
	switch { // 0 would be taken for the default
	case o.bits == 0:
		return usagef("--bits: 0: want 8, 16 or 32")
	case o.quality == 0:
		return usagef("--quality: 0: want 1 to 100")
	}
	if !o.given["bits"] {
		j.Output.Bits = 0 // the format's
	}
	if o.format != "" {
		if err = j.Output.Format.UnmarshalText([]byte(o.format)); err != nil {
			return err
		}
	}
	if err = o.readLook(); err != nil {
		return err
	}
	if o.noise != "" {
		if err = j.Noise.UnmarshalText([]byte(o.noise)); err != nil {
			return err
		}
	}
	if o.defects != "" {
		if j.Defects, err = pipeline.ReadDefects(o.defects); err != nil {
			return err
		}
	}
	if o.dcp != "" {
		if j.CameraProfile, err = pipeline.ReadCameraProfile(o.dcp); err != nil {
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

// readLook reads how light becomes the picture; what is not given keeps its default.
func (o *order) readLook() error {
	j := &o.job
	for _, one := range []struct {
		text string
		to   encoding.TextUnmarshaler
	}{{o.wb, &j.WB}, {o.tone, &j.Tone}, {o.exposure, &j.Exposure}, {o.sharpen, &j.Sharpen}, {o.lens, &j.Lens},
		{o.resize, &j.Output.Resize}, {o.outProfile, &j.Output.Profile}, {o.look, &j.ProfileLook},
		{o.subsampling, &j.Output.Subsampling}} {
		if one.text == "" {
			continue
		}
		if err := one.to.UnmarshalText([]byte(one.text)); err != nil {
			return err
		}
	}
	return nil
}

// check refuses combinations that make no sense.
func (o *order) check() error {
	toStdout, several := o.output == "-", len(o.inputs) > 1 || o.batch()
	switch {
	case toStdout && o.json:
		return usagef("-o - and --json both write to standard output: choose one")
	case toStdout && o.dryRun:
		return usagef("-o - and --dry-run both write to standard output: choose one")
	case toStdout && several:
		return usagef("-o - takes one photo, not %s", o.howMany())
	case o.reference != "" && several:
		return usagef("--reference takes one photo, not %s", o.howMany())
	case o.minPSNR != 0 && o.reference == "":
		return usagef("--min-psnr needs --reference")
	case !(o.minPSNR >= 0):
		return usagef("--min-psnr: want decibels above 0")
	case o.planSVG != "" && several:
		return usagef("--plan-svg takes one photo, not %s", o.howMany())
	case o.pageFile != "" && !isPage(o.pageFile):
		return usagef("--report %s: the name of a page ends in .html", o.pageFile)
	case o.pageFile != "" && o.dryRun:
		return usagef("--report and --dry-run contradict each other: a dry run makes nothing to look at")
	case o.times.wanted() && o.dryRun:
		return usagef("--profile and --dry-run contradict each other: a dry run runs nothing that could be timed")
	case o.given["quality"] && !o.makesJPEG():
		return usagef("--quality is for JPEG, which this output is not: leave it out, or give -f jpeg")
	case o.overwrite && o.skipExisting:
		return usagef("-y and --skip-existing contradict each other")
	}
	return nil
}

// makesJPEG reports whether pictures are JPEG files. An output whose format is not known
// has an error of its own.
func (o *order) makesJPEG() bool {
	f := o.job.Output.Format
	if f == pipeline.AnyFormat {
		if err := f.UnmarshalText([]byte(filepath.Ext(o.output))); err != nil {
			return false
		}
	}
	return f == pipeline.JPEG
}

// howMany says how many photos there are, for messages to those who may have one.
func (o *order) howMany() string {
	if o.batch() {
		return "the photos of -r, --from or --shard"
	}
	return fmt.Sprint(len(o.inputs))
}

// openStdinPhoto makes standard input the photo of the order, if it is.
func (o *order) openStdinPhoto() (done func(), err error) {
	if o.inputs[0].path != "-" {
		return func() {}, nil
	}
	return fromStdin(&o.job)
}
