// Command enhance makes a finished picture of a camera RAW photo with a neural
// network, through OpenCL, within a memory budget.
//
//	enhance photo.dng -o photo.png
//
// One file an idea:
//
//	main.go       this: where arguments go
//	command.go    subcommands: a file that calls register adds one
//	cmd_*.go      the subcommands: model, explain, bench; cmd_settings.go: their flags
//	flags.go      the flags of the main job; rawflags.go: those about samples;
//	              help.go: what --help prints
//	develop.go    the main job, for one photo or many; sums.go: what became of them
//	targets.go    which photo becomes which file; clashes.go: none costs another
//	interrupt.go  Ctrl-C
//	describe.go   what is said before and after; brief.go: of each of several photos;
//	              progress.go: in between
//	tuningflags.go  --precision, --no-tune, and what tuning says
//	compilers.go  kernels are compiled in several processes
//	devices.go    --list-devices
//	exit.go       exit statuses and one-line messages
package main

import (
	"io"
	"os"

	"enhance/clrt/compilers"
)

func main() {
	if len(os.Args) == 2 && os.Args[1] == compileArgument {
		os.Exit(compilers.Serve())
	}
	os.Exit(run(&env{os.Stdin, os.Stdout, os.Stderr, ownCommand()}, os.Args[1:]))
}

// env is the outside world of a command.
type env struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	self           []string // starts this program once more, see compilers.go; nil: never do
}

// run is the program: it returns the exit status.
func run(e *env, args []string) int {
	if len(args) > 0 {
		if c := lookup(args[0]); c != nil {
			return c.run(e, args[1:])
		}
	}
	return runDevelop(e, args)
}
