package main

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"enhance/pipeline"
	"enhance/profile"
)

// order is the main job's command line, understood.
type order struct {
	inputs   []string
	out      string // as given; "" if not
	settings pipeline.Settings
	job      pipeline.Job // Input and Output.Path are filled in for each photo

	listDevices, json, dryRun, quiet, version, help bool
	verbose, skipExisting                           bool
	profile                                         profileFlag
	deviceProfile                                   string // as given
}

// texts are flags whose values are parsed after all are known.
type texts struct {
	format, mem, hostMem, profile, precision, wb, exposure, denoise, noise, level string
	bits                                                                          int
	raw                                                                           rawFlags
}

// flagSet declares the flags of the main job.
func flagSet(o *order, t *texts) *pflag.FlagSet {
	f := pflag.NewFlagSet("enhance", pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	f.StringArrayVarP(&o.inputs, "input", "i", nil, "photo `FILE` to develop; also without -i; can be repeated")
	f.StringVarP(&o.out, "output", "o", "", "`FILE`, DIR (exists or ends in /) or - for standard output; without it the photo's name with .png, in the current directory")
	f.StringVarP(&t.format, "format", "f", "", "`KIND` of picture: png, tiff or jpeg; without it by the output's extension")
	f.IntVarP(&t.bits, "bits", "b", 8, "bits `N` of a stored sample: 8 or 16")
	f.IntVar(&o.job.Output.Quality, "quality", 92, "`N` of JPEG, 1 to 100")
	f.BoolVarP(&o.job.Output.Overwrite, "overwrite", "y", false, "replace an output that exists")
	f.BoolVar(&o.skipExisting, "skip-existing", false, "pass over photos whose output exists")

	f.StringVar(&t.wb, "wb", "", "white balance: as-shot, auto or the gains `R,G,B`; without it as shot, or auto where the file records none")
	f.StringVar(&t.exposure, "exposure", "0", "auto, or stops in `EV` on top of the file's own (models with display-ready output: applied in linear light, auto refused)")

	f.StringVar(&t.denoise, "denoise", "", "`STRENGTH` of 0 to 1: how much of the noise is removed, without it 1 (models that take the noise level)")
	f.StringVar(&t.noise, "noise", "", "the noise's variance S·v + O in samples v of 0 to 1: `S,O`, S,O,S,O,S,O by colour, or estimate; without it the file's, or estimated where it records none")

	f.StringVarP(&o.settings.Model, "model", "m", "", modelUsage)
	f.StringVar(&t.level, "level", "", "level `N` of a PyNET whose output is wanted, 0 to 5")
	f.StringVarP(&o.settings.Device, "device", "g", "", "`DEVICE`: index, platform:device, part of a name, or host for plain Go without OpenCL; several with commas, or all, share several photos; without it a GPU if any, else a CPU device, else host")
	f.IntVarP(&o.settings.Cores, "jobs", "j", 0, coresUsage)
	f.StringVar(&t.mem, "mem", "", "most `BYTES` of device memory, such as 256M (suffixes k, m, g), never more than the device has, 0 for all of that; without it 80 % of a GPU's memory, half of what is available on a CPU device")
	f.StringVar(&t.hostMem, "host-mem", "", "most `BYTES` of the host's memory that a photo may be planned to take, 0 for no limit; without it what is available")
	f.StringVar(&t.profile, "device-profile", "", "`NAME` or FILE.json: plan within that device's limits ("+strings.Join(profile.Names(), ", ")+"); with --dry-run and without -g no device is needed")
	f.StringVar(&t.precision, "precision", "fp32", "`KIND`: "+precisionUsage)
	f.StringVar(&o.settings.Algo, "algo", "", "convolution algorithms: auto, a `NAME`, or PATTERN=NAME,... for layers (enhance explain shows the choice)")
	f.BoolVar(&o.settings.NoTune, "no-tune", false, noTuneUsage)

	t.raw.declare(f)

	f.StringVar(&o.job.Reference, "reference", "", "picture `FILE` to compare the result with: prints PSNR and SSIM")
	f.Float64Var(&o.job.MinPSNR, "min-psnr", 0, "with --reference: exit 8 if the CPSNR is below so many `dB`")
	f.BoolVar(&o.dryRun, "dry-run", false, "decide and print everything, section by section, and refuse what the run would refuse before it begins; compute nothing, but with --precision auto the patch that decides; write nothing but --plan-svg")
	f.StringVar(&o.job.PlanDrawing, "plan-svg", "", "draw the plan to `FILE`: every buffer's bytes over the steps")
	o.profile.declare(f)
	f.BoolVar(&o.listDevices, "list-devices", false, "list the devices that -g selects from; with --json also the profile of each, for --device-profile")
	f.BoolVar(&o.json, "json", false, "print the report (or the list) as one JSON object on standard output")
	f.BoolVarP(&o.verbose, "verbose", "v", false, "say more, and of each of several photos all that is said of one")
	f.BoolVarP(&o.quiet, "quiet", "q", false, "say nothing but errors")
	f.BoolVar(&o.version, "version", false, "print the version")
	f.BoolVarP(&o.help, "help", "h", false, "print this")

	// For study: neither changes a byte of the result.
	f.IntVar(&o.settings.StripRows, "strip-rows", 0, "force strips of that many output rows")
	f.BoolVar(&o.settings.WholePlanes, "whole-planes", false, "force one layer after another over whole planes")
	f.MarkHidden("strip-rows")
	f.MarkHidden("whole-planes")
	return f
}

// parse understands a command line.
func parse(args []string) (*order, error) {
	o, t := &order{}, &texts{}
	f := flagSet(o, t)
	if err := f.Parse(args); err != nil {
		return nil, usagef("%v: see enhance --help", err)
	}
	o.inputs = append(o.inputs, f.Args()...)
	if o.help || o.version {
		return o, nil
	}
	if err := refuseEmpty(f); err != nil {
		return nil, err
	}
	o.job.Output.Bits = t.bits
	o.job.DryRun, o.settings.Early = o.dryRun, !o.dryRun
	if err := o.values(t); err != nil {
		return nil, err
	}
	return o, o.check()
}

// refuseEmpty refuses flags whose value is there but empty, as an unset variable
// of a script leaves it: they would pass for flags that were not given.
func refuseEmpty(f *pflag.FlagSet) (err error) {
	f.Visit(func(given *pflag.Flag) {
		if given.Value.Type() == "string" && given.Value.String() == "" && err == nil {
			err = usagef("--%s: its value is empty: give one or leave the flag out", given.Name)
		}
	})
	return err
}

// values parses what pflag does not.
func (o *order) values(t *texts) (err error) {
	switch { // 0 would be taken for the default
	case t.bits == 0:
		return usagef("--bits: 0: want 8 or 16")
	case o.job.Output.Quality == 0:
		return usagef("--quality: 0: want 1 to 100")
	}
	for _, name := range strings.Split(o.settings.Device, ",") {
		if name == "" && o.settings.Device != "" {
			return usagef("--device: %q: a name between commas is empty", o.settings.Device)
		}
	}
	if t.format != "" {
		if o.job.Output.Format, err = pipeline.ParseFormat(t.format); err != nil {
			return err
		}
	}
	if err := limitCores(o.settings.Cores); err != nil {
		return err
	}
	if t.mem != "" {
		if o.settings.Memory, err = pipeline.ParseMemory(t.mem); err != nil {
			return err
		}
	}
	if t.hostMem != "" {
		if o.settings.HostMemory, err = pipeline.ParseMemory(t.hostMem); err != nil {
			return usagef("--host-mem: %q: want bytes such as 2G", t.hostMem)
		}
	}
	if t.profile != "" {
		if o.settings.Profile, err = profile.Load(t.profile); err != nil {
			return err
		}
		o.deviceProfile = t.profile
		o.settings.PlanOnly = o.dryRun && o.settings.Device == ""
	}
	if o.settings.Precision, err = pipeline.ParsePrecision(t.precision); err != nil {
		return err
	}
	if t.wb != "" {
		if o.job.WB, err = pipeline.ParseWhiteBalance(t.wb); err != nil {
			return err
		}
	}
	if o.job.Exposure, err = pipeline.ParseExposure(t.exposure); err != nil {
		return err
	}
	if t.noise != "" {
		if o.job.Noise, err = pipeline.ParseNoise(t.noise); err != nil {
			return err
		}
	}
	if t.denoise != "" {
		v, err := pipeline.ParseDenoise(t.denoise)
		if err != nil {
			return err
		}
		o.job.Denoise = &v
	}
	if t.level != "" {
		level, err := parseLevel(t.level)
		if err != nil {
			return err
		}
		o.settings.Level = &level
	}
	if err := o.profile.parse(); err != nil {
		return err
	}
	return t.raw.parse(&o.job.Raw)
}

// check refuses combinations that make no sense.
func (o *order) check() error {
	toStdout := o.out == "-"
	switch {
	case o.listDevices:
		return nil
	case len(o.inputs) == 0:
		return usagef("no photo given: try enhance photo.dng -o photo.png, or enhance --help")
	case toStdout && o.json:
		return usagef("-o - and --json both want standard output: choose one")
	case toStdout && o.dryRun:
		return usagef("-o - and --dry-run both want standard output: leave one out")
	case toStdout && len(o.inputs) > 1:
		return usagef("-o - takes one photo, not %d", len(o.inputs))
	case o.job.Reference != "" && len(o.inputs) > 1:
		return usagef("--reference takes one photo, not %d", len(o.inputs))
	case o.job.MinPSNR != 0 && o.job.Reference == "":
		return usagef("--min-psnr needs --reference")
	case !(o.job.MinPSNR >= 0):
		return usagef("--min-psnr: want decibels above 0")
	case o.job.PlanDrawing != "" && len(o.inputs) > 1:
		return usagef("--plan-svg takes one photo, not %d", len(o.inputs))
	case o.profile.wanted() && o.dryRun:
		return usagef("--profile and --dry-run contradict each other: nothing runs that could be timed")
	case o.quiet && o.verbose:
		return usagef("-q and -v contradict each other")
	case o.job.Output.Overwrite && o.skipExisting:
		return usagef("-y and --skip-existing contradict each other")
	case o.settings.StripRows < 0:
		return usagef("--strip-rows: %d: want at least 1", o.settings.StripRows)
	case o.settings.StripRows > 0 && o.settings.WholePlanes:
		return usagef("--strip-rows and --whole-planes contradict each other")
	}
	for _, in := range o.inputs {
		if in == "-" {
			return usagef("a photo cannot come from standard input: give a file")
		}
		if in == "" {
			return usagef("a photo's name is empty")
		}
	}
	return nil
}

// number prints a float briefly.
func number(v float64) string {
	return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.4f", v), "0"), ".")
}
