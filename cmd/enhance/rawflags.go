package main

import (
	"math"
	"strconv"
	"strings"

	"github.com/spf13/pflag"

	"enhance/raw"
)

// rawFlags are the flags that say of a photo's samples what its file does not.
type rawFlags struct{ size, cfa, black, white string }

func (t *rawFlags) declare(f *pflag.FlagSet) {
	f.StringVar(&t.size, "raw-size", "", "`WxH`, columns x rows: the photo is a headerless dump of little-endian 16-bit samples of that size")
	f.StringVar(&t.cfa, "cfa", "", "filter `PATTERN`: RGGB, BGGR, GBRG or GRBG")
	f.StringVar(&t.black, "black", "", "black `LEVEL`, instead of the file's")
	f.StringVar(&t.white, "white", "", "white `LEVEL`, instead of the file's")
}

// given reports whether any of them is there.
func (t *rawFlags) given() bool { return *t != rawFlags{} }

// parse understands them.
func (t *rawFlags) parse(r *raw.Options) error {
	if t.size != "" {
		w, h, ok := strings.Cut(strings.ToLower(t.size), "x")
		var werr, herr error
		r.Width, werr = strconv.Atoi(w)
		r.Height, herr = strconv.Atoi(h)
		if !ok || werr != nil || herr != nil || r.Width < 1 || r.Height < 1 {
			return usagef("--raw-size: %q: want columns x rows, such as 4032x3024 (--size of other commands has the rows first)", t.size)
		}
		if t.cfa == "" {
			return usagef("--raw-size: a headerless photo needs --cfa too, such as --cfa RGGB")
		}
	}
	if t.cfa != "" {
		p, err := raw.ParsePattern(strings.ToUpper(t.cfa))
		if err != nil {
			return usagef("--cfa: %q: want RGGB, BGGR, GBRG or GRBG", t.cfa)
		}
		r.CFA = &p
	}
	for _, l := range []struct {
		flag, text string
		to         **float64
	}{{"black", t.black, &r.Black}, {"white", t.white, &r.White}} {
		if l.text == "" {
			continue
		}
		v, err := strconv.ParseFloat(l.text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return usagef("--%s: %q is not a level", l.flag, l.text)
		}
		*l.to = &v
	}
	return nil
}
