package main

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"enhance/model"
	"enhance/pipeline"
	"enhance/profile"
)

// netFlags are the flags that say how a network runs, as subcommands share them
// with the main job.
type netFlags struct {
	set            pipeline.Settings
	level          int // model.AnyLevel if none was asked for
	levelText      string
	mem, precision string
	profile        string
	json, help     bool
}

// newFlags makes an empty flag set of a subcommand.
func newFlags(name string) *pflag.FlagSet {
	f := pflag.NewFlagSet("enhance "+name, pflag.ContinueOnError)
	f.SortFlags = false
	f.Usage = func() {}
	return f
}

var modelUsage = "network: " + model.BuiltinNames() + " (built in; without it " + model.Default + "), pynet-random:SEED[,level=N][,norm1=false][,width=W], pynet-m-random:SEED[,size=tiny|fast|best], or a .safetensors or .pth `FILE`"

// declareModel adds -m and --level.
func (n *netFlags) declareModel(f *pflag.FlagSet) {
	f.StringVarP(&n.set.Model, "model", "m", "", modelUsage)
	f.StringVar(&n.levelText, "level", "", "level `N` of a PyNET whose output is wanted, 0 to 5")
}

// declareDevice adds the flags of the device and of how it is used.
func (n *netFlags) declareDevice(f *pflag.FlagSet) {
	f.StringVarP(&n.set.Device, "device", "g", "", "index, platform:device, part of a name, or host (enhance --list-devices)")
	f.IntVarP(&n.set.Cores, "jobs", "j", 0, coresUsage)
	f.StringVar(&n.mem, "mem", "", "most bytes of device memory, such as 256M, never more than the device has, 0 for all of that")
	f.StringVar(&n.precision, "precision", "fp32", precisionUsage)
	f.BoolVar(&n.set.NoTune, "no-tune", false, noTuneUsage)
	f.StringVar(&n.set.Algo, "algo", "", "convolution algorithms: auto, a name, or PATTERN=NAME,... for layers, such as 'conv_l1_*=direct-rows,*=auto'")
	f.IntVar(&n.set.StripRows, "strip-rows", 0, "force strips of that many output rows")
	f.BoolVar(&n.set.WholePlanes, "whole-planes", false, "force one layer after another over whole planes")
}

// withoutHost leaves the host executor out of what -g is said to take.
func withoutHost(f *pflag.FlagSet) {
	f.Lookup("device").Usage = "index, platform:device or part of a name (enhance --list-devices)"
}

// declareProfile adds --device-profile.
func (n *netFlags) declareProfile(f *pflag.FlagSet) {
	f.StringVar(&n.profile, "device-profile", "", "`NAME` or FILE.json: plan within that device's limits ("+strings.Join(profile.Names(), ", ")+")")
}

// declareReport adds --json and --help.
func (n *netFlags) declareReport(f *pflag.FlagSet) {
	f.BoolVar(&n.json, "json", false, "print the report as one JSON object on standard output")
	f.BoolVarP(&n.help, "help", "h", false, "print this")
}

// errHelp ends parsing where --help was given.
var errHelp = errors.New("help asked for")

// parse understands the arguments. The error is errHelp or a usageError.
func (n *netFlags) parse(f *pflag.FlagSet, args []string) (err error) {
	if err := f.Parse(args); err != nil {
		return usagef("%v: see %s --help", err, f.Name())
	}
	if n.help {
		return errHelp
	}
	if err := refuseEmpty(f); err != nil {
		return err
	}
	if err := limitCores(n.set.Cores); err != nil {
		return err
	}
	if n.mem != "" {
		if n.set.Memory, err = pipeline.ParseMemory(n.mem); err != nil {
			return err
		}
	}
	if n.profile != "" {
		if n.set.Profile, err = profile.Load(n.profile); err != nil {
			return err
		}
	}
	if n.precision != "" { // commands that compute nothing do not have it
		if n.set.Precision, err = pipeline.ParsePrecision(n.precision); err != nil {
			return err
		}
	}
	n.level = model.AnyLevel
	if n.levelText != "" {
		if n.level, err = parseLevel(n.levelText); err != nil {
			return err
		}
		n.set.Level = &n.level
	}
	switch {
	case n.set.StripRows < 0:
		return usagef("--strip-rows: %d: want at least 1", n.set.StripRows)
	case n.set.StripRows > 0 && n.set.WholePlanes:
		return usagef("--strip-rows and --whole-planes contradict each other")
	}
	return nil
}

// parseLevel reads a level of PyNET.
func parseLevel(text string) (int, error) {
	level, err := strconv.Atoi(text)
	if err != nil || level < 0 || level > 5 {
		return 0, usagef("--level: %q: want 0 to 5", text)
	}
	return level, nil
}

// sizeUsage is what --size says where there is --raw-size too.
const sizeUsage = "`HxW`, rows x columns of the mosaic (--raw-size has them the other way round), instead of a photo"

// photoOrSize is what a command about plans is asked about: the one photo among
// the arguments, or the rows and columns of --size.
func photoOrSize(f *pflag.FlagSet, size string, samples *rawFlags) (h, w int, photo pipeline.Job, err error) {
	name := strings.TrimPrefix(f.Name(), "enhance ")
	switch {
	case (f.NArg() == 1) == (size != "") || f.NArg() > 1:
		return 0, 0, photo, usagef("%s: want one photo, or --size HxW: see enhance %s --help", name, name)
	case size != "" && samples.given():
		return 0, 0, photo, usagef("%s: --size has no samples for --raw-size, --cfa, --black and --white to describe: leave them out", name)
	case size != "":
		h, w, err = pipeline.ParseSize(size)
		return h, w, photo, err
	}
	photo.Input = f.Arg(0)
	return 0, 0, photo, samples.parse(&photo.Raw)
}

// putJSON prints the one object of a report.
func (e *env) putJSON(v any) int {
	enc := json.NewEncoder(e.stdout)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return e.fail(err, "")
	}
	return exitOK
}
