package main

import (
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"enhance/internal/bytesize"
	"enhance/internal/tensorfile"
	"enhance/model"
	"enhance/pipeline"
	"enhance/raw"
)

// settings makes c.set of the flags that commands share. A command that does not take a
// flag leaves its setting zero.
func (c *call) settings() (err error) {
	s := &c.set
	s.Model, s.Device, s.Cores = c.model, c.device, c.jobs
	s.Algo, s.NoTune, s.StripRows, s.WholePlanes = c.algo, c.noTune, c.stripRows, c.wholePlanes
	if c.given["jobs"] && s.Cores == 0 {
		return usagef("-j: 0: want 1 to %d cores; leave it out for all", maxCores)
	}
	if err := limitCores(s.Cores); err != nil {
		return err
	}
	for _, name := range strings.Split(s.Device, ",") {
		if name == "" && s.Device != "" {
			return usagef("--device: %q: a name between commas is empty", s.Device)
		}
	}
	if c.mem != "" {
		if s.Memory, err = parseBudget(c.mem); err != nil {
			return usagef("--mem: %v or 0 for no limit", err)
		}
	}
	if c.hostMem != "" {
		if s.HostMemory, err = parseBudget(c.hostMem); err != nil {
			return usagef("--host-mem: %v or 0 for no limit", err)
		}
	}
	s.Profile = c.deviceProfile
	if c.precision != "" {
		if err = s.Precision.UnmarshalText([]byte(c.precision)); err != nil {
			return err
		}
	}
	if c.level != "" {
		level, err := strconv.Atoi(c.level)
		if err != nil || level < 0 || level > 5 {
			return usagef("--level: %q: want 0 to 5", c.level)
		}
		s.Level = &level
	}
	if c.ensemble != "" {
		n, err := strconv.Atoi(c.ensemble)
		if sizes := append([]int{1}, model.EnsembleSizes()...); err != nil || !slices.Contains(sizes, n) {
			var words []string
			for _, size := range sizes {
				words = append(words, strconv.Itoa(size))
			}
			return usagef("--ensemble: %q: want %s", c.ensemble, alternatives(words))
		}
		s.Ensemble = n
	}
	switch {
	case c.given["strip-rows"] && s.StripRows < 1:
		return usagef("--strip-rows: %d: want at least 1", s.StripRows)
	case s.StripRows > 0 && s.WholePlanes:
		return usagef("--strip-rows and --whole-planes contradict each other")
	case c.quiet && c.verbose:
		return usagef("-q and -v contradict each other")
	}
	return nil
}

// parseBudget reads bytes such as 256M; 0 is no limit.
func parseBudget(text string) (pipeline.Budget, error) {
	n, err := bytesize.Parse(text)
	if err != nil || n == 0 {
		return pipeline.Unlimited(), err
	}
	return pipeline.Limit(n), nil
}

// levelOrAny is the PyNET level that was asked for, or model.AnyLevel.
func (c *call) levelOrAny() int {
	if c.set.Level == nil {
		return model.AnyLevel
	}
	return *c.set.Level
}

// maxCores bounds -j: more is a mistake.
const maxCores = 1 << 16

// limitCores keeps Go's own work to n cores, 0 for all; the device's are the
// pipeline's business.
func limitCores(n int) error {
	if n < 0 || n > maxCores {
		return usagef("-j: %d: want 1 to %d cores; leave it out for all", n, maxCores)
	}
	if n > 0 && n < runtime.GOMAXPROCS(0) {
		runtime.GOMAXPROCS(n)
	}
	return nil
}

// rawFlags are the flags that describe samples.
var rawFlags = []string{"raw-size", "cfa", "black", "white"}

// rawOptions reads what flags say of a photo's samples.
func (c *call) rawOptions() (r raw.Options, err error) {
	r.LibRaw = c.another(readArgument)
	if c.rawSize != "" {
		w, h, ok := strings.Cut(strings.ToLower(c.rawSize), "x")
		var werr, herr error
		r.Width, werr = strconv.Atoi(w)
		r.Height, herr = strconv.Atoi(h)
		if !ok || werr != nil || herr != nil || r.Width < 1 || r.Height < 1 {
			return r, usagef("--raw-size: %q: want columns x rows, such as 4032x3024", c.rawSize)
		}
		if c.cfa == "" {
			return r, usagef("--raw-size: a headerless photo needs --cfa too, such as --cfa RGGB")
		}
	}
	if c.cfa != "" {
		p, err := parsePattern("cfa", c.cfa)
		if err != nil {
			return r, err
		}
		r.CFA = &p
	}
	if r.Black, err = parseSampleLevel("black", c.black); err == nil {
		r.White, err = parseSampleLevel("white", c.white)
	}
	return r, err
}

func parsePattern(flag, text string) (raw.Pattern, error) {
	p, err := raw.ParsePattern(strings.ToUpper(text))
	if err != nil {
		return p, usagef("--%s: %q: want %s, or rows x columns and the filters row by row, such as 4x4:RRGGRRGGGGBBGGBB", flag, text, strings.Join(patternNames(), ", "))
	}
	return p, nil
}

// parseSampleLevel reads a black or white level, nil if there is none.
func parseSampleLevel(flag, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
		return nil, usagef("--%s: %q: want a number", flag, text)
	}
	return &v, nil
}

// parseDenoise reads --denoise, nil if it was not given.
func (c *call) parseDenoise() (*float64, error) {
	if c.denoise == "" {
		return nil, nil
	}
	v, err := strconv.ParseFloat(c.denoise, 64)
	if err != nil || !(v >= 0 && v <= 1) {
		return nil, usagef("--denoise: %q: want a number from 0 to 1", c.denoise)
	}
	return &v, nil
}

// photoOrSize is what a command about plans is asked about: the one photo among the
// arguments, or the columns and rows of --size.
func (c *call) photoOrSize() (w, h int, photo pipeline.Job, done func(), err error) {
	done = func() {}
	switch {
	case (len(c.args) == 1) == (c.size != "") || len(c.args) > 1:
		return 0, 0, photo, done, usagef("%s: want one photo, or --size WxH: see %s --help", c.cmd.name, c.cmd.called())
	case c.size != "":
		for _, name := range rawFlags {
			if c.given[name] {
				return 0, 0, photo, done, usagef("%s: --%s describes a photo, and --size stands in place of one: leave one of them out", c.cmd.name, name)
			}
		}
		w, h, err = tensorfile.ParseSize(c.size)
		return w, h, photo, done, err
	}
	photo.Input = c.args[0]
	if photo.Raw, err = c.rawOptions(); err == nil && photo.Input == "-" {
		done, err = fromStdin(&photo)
	}
	return 0, 0, photo, done, err
}

// wantNoArguments refuses arguments of a command that takes flags only.
func (c *call) wantNoArguments() error {
	if len(c.args) > 0 {
		return usagef("%s: %q: want flags only: see %s --help", c.cmd.name, c.args[0], c.cmd.called())
	}
	return nil
}
