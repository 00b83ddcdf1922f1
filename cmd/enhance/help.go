package main

import (
	"fmt"
	"io"
	"runtime/debug"
)

const helpHead = `enhance makes a finished picture of a camera RAW photo with a neural network,
through OpenCL, within a memory budget.

  enhance photo.dng -o photo.png
  enhance *.dng -o developed/ --exposure auto
  enhance photo.dng -o - -f tiff -b 16 | ...

Photos are DNG files, 16-bit gray PNG and TIFF mosaics (with --cfa), and headerless
dumps (with --raw-size and --cfa). The result's bytes do not depend on --mem.

Flags:
`

const helpTail = `
Standard output carries the picture (-o -) or a report (--json, --dry-run, lists),
never both; everything else goes to standard error.

Exit status: 0 done; 1 one of several photos failed, or the result is not finite;
2 usage; 3 unsupported or damaged photo, weights or device profile; 4 a file cannot
be read or written; 5 no such device, or it failed; 6 memory budget too small (the
message names the smallest that works), or the host has too little; 7 output exists;
8 below --min-psnr; 130 interrupted.
`

func printHelp(w io.Writer) {
	fmt.Fprint(w, helpHead, flagSet(&order{}, &texts{}).FlagUsagesWrapped(90))
	if len(commands) > 0 {
		fmt.Fprint(w, "\nOther commands (enhance COMMAND --help says more):\n")
		for _, c := range commands {
			fmt.Fprintf(w, "  %-10s %s\n", c.name, c.summary)
		}
	}
	fmt.Fprint(w, helpTail)
}

// released is the version that the release build sets with -ldflags.
var released = ""

// version names the build: a release, a module version, or a commit.
func version() string {
	if released != "" {
		return released
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v, commit := info.Main.Version, ""
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			commit = " (" + s.Value[:12] + ")"
		}
	}
	if v == "" || v == "(devel)" {
		v = "development"
	}
	return v + commit
}
