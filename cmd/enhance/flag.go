package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"enhance/internal/suggest"
)

// flag describes one flag, for parsing, help, the manual page and completion. A name may
// have several entries in flagTable if it means different things to different commands.
type flag struct {
	name, short string
	arg         string // what the value is called; "" for a switch
	def         string // the default, as on the command line
	help        string // a phrase that fits a line of help
	more        string // further sentences, left out of the short help
	group       group
	commands    []string // that take it, by name
	basic       bool     // in enhance --help, not only in enhance help all
	words       func() []string
	files       bool               // the value names a file
	to          func(*options) any // a pointer to the field that holds the value
}

// group is a heading in help.
type group int

const (
	groupPhoto group = iota
	groupOutput
	groupColour
	groupDevice
	groupMeasure
	groupReport
	groupFarm
	groupStudy
	groups
)

var groupTitles = [groups]string{"Photo", "Output", "Colour and noise", "Device and memory", "Measurement", "Reports and messages", "Farm", "For study"}

// takes reports whether a command has the flag.
func (f *flag) takes(command string) bool { return slices.Contains(f.commands, command) }

// flagsOf lists the flags of a command in the order of the table.
func flagsOf(command string) (all []*flag) {
	for i := range flagTable {
		if flagTable[i].takes(command) {
			all = append(all, &flagTable[i])
		}
	}
	return all
}

// declare makes the flag known to a parser that fills o.
func (f *flag) declare(set *pflag.FlagSet, o *options) {
	switch p := f.to(o).(type) {
	case *string:
		set.StringVarP(p, f.name, f.short, f.def, "")
	case *bool:
		set.BoolVarP(p, f.name, f.short, false, "")
	case *[]string:
		set.StringArrayVarP(p, f.name, f.short, nil, "")
	case *int:
		set.IntVarP(p, f.name, f.short, int(mustNumber(f.def)), "")
	case *uint64:
		set.Uint64VarP(p, f.name, f.short, uint64(mustNumber(f.def)), "")
	case *float64:
		set.Float64VarP(p, f.name, f.short, mustNumber(f.def), "")
	default:
		panic(fmt.Sprintf("flag %s: no flag can set a %T", f.name, p))
	}
}

// mustNumber reads a default of the table, 0 if there is none.
func mustNumber(def string) float64 {
	if def == "" {
		return 0
	}
	v, err := strconv.ParseFloat(def, 64)
	if err != nil {
		panic(err)
	}
	return v
}

// repeats reports whether the flag may be given several times.
func (f *flag) repeats() bool {
	_, ok := f.to(&options{}).(*[]string)
	return ok
}

// parseFlags parses a command's arguments into c.options, c.args and c.given.
func (c *call) parseFlags(args []string) error {
	set := pflag.NewFlagSet("", pflag.ContinueOnError)
	set.Usage = func() {}
	for _, f := range flagsOf(c.cmd.name) {
		f.declare(set, &c.options)
	}
	if err := set.Parse(args); err != nil {
		return c.explainParse(err)
	}
	c.args, c.given = set.Args(), map[string]bool{}
	if c.help || c.version {
		return nil
	}
	var empty error
	set.Visit(func(f *pflag.Flag) {
		c.given[f.Name] = true
		// An unset variable of a script leaves an empty value: it would pass for a flag
		// that was not given.
		if f.Value.Type() == "string" && f.Value.String() == "" && empty == nil {
			empty = usagef("--%s: the value is empty: give one or leave the flag out", f.Name)
		}
	})
	return empty
}

// elsewhere are names that other programs have for the flags here.
var elsewhere = map[string]string{
	"size": "resize", "scale": "resize", "width": "resize", "height": "resize", "max-size": "resize",
	"brightness": "exposure", "ev": "exposure", "white-balance": "wb", "temperature": "wb", "tint": "wb",
	"noise-reduction": "denoise", "sharpness": "sharpen", "lens-correction": "lens", "style": "look", "black-level": "black", "white-level": "white",
	"depth": "bits", "bit-depth": "bits", "icc": "output-profile", "color-space": "output-profile", "colorspace": "output-profile",
	"threads": "jobs", "cores": "jobs", "force": "overwrite", "replace": "overwrite", "memory": "mem", "gpu": "device",
	"network": "model", "weights": "model", "out": "output", "type": "format", "silent": "quiet",
}

// explainParse puts the parser's errors into words.
func (c *call) explainParse(err error) error {
	var (
		unknown *pflag.NotExistError
		missing *pflag.ValueRequiredError
		invalid *pflag.InvalidValueError
	)
	help := "see " + c.cmd.called() + " --help"
	switch {
	case errors.As(err, &unknown):
		name, letters := unknown.GetSpecifiedName(), unknown.GetSpecifiedShortnames()
		if letters != "" {
			if file := "-" + letters; exists(file) {
				return usagef("unknown flag -%s: for the file of this name write .%c%s", name, filepath.Separator, file)
			}
			return usagef("unknown flag -%s: %s", name, help)
		}
		var known []string
		for _, f := range flagsOf(c.cmd.name) {
			known = append(known, f.name)
		}
		near := suggest.Nearest(name, known)
		if own := elsewhere[name]; slices.Contains(known, own) {
			near = own
		}
		if near != "" {
			return usagef("unknown flag --%s: did you mean --%s? %s", name, near, help)
		}
		return usagef("unknown flag --%s: %s", name, help)
	case errors.As(err, &missing):
		f := missing.GetFlag()
		return usagef("--%s needs a value: %s", f.Name, help)
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		want := "a number"
		switch f.Value.Type() {
		case "int":
			want = "a whole number"
		case "uint64":
			want = "a whole number from 0"
		case "bool":
			want = "no value, or true or false"
		}
		return usagef("--%s: %q: want %s", f.Name, invalid.GetValue(), want)
	}
	return usagef("%s: %s", strings.TrimSuffix(err.Error(), "\n"), help)
}

// valueOf is a flag's value as on a command line.
func valueOf(f *flag, o *options) string {
	switch p := f.to(o).(type) {
	case *string:
		return *p
	case *[]string:
		return strings.Join(*p, ",")
	case *float64:
		return strconv.FormatFloat(*p, 'g', -1, 64)
	case *bool:
		return strconv.FormatBool(*p)
	case *int:
		return strconv.Itoa(*p)
	case *uint64:
		return strconv.FormatUint(*p, 10)
	}
	return ""
}
