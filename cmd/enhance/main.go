// Command enhance develops camera RAW photos with a neural network, through OpenCL,
// within a memory budget:
//
//	enhance photo.dng -o photo.png
//
// [run] is the program. It looks the command up in [commands], parses its flags, which
// [flagTable] declares once for parsing, help, manual page and completion, and runs it.
//
//	commands.go, flag.go, flagtable.go, options.go   commands and flags
//	settings.go                                      from flags to pipeline.Settings
//	help.go, manpage.go, completion.go, version.go   what describes them
//	develop.go, order.go, conflicts.go               developing photos
//	inputs.go, filelist.go, stdinphoto.go            which photos
//	targets.go, shard.go                             what becomes of each
//	watch.go                                         photos that come into a folder
//	report.go, lines.go, summary.go, ordered.go      what is printed about photos
//	serve.go, servejob.go, serveclient*.go           a process that stays, and its clients
//	meter.go, notices.go                             progress, and news of a session
//	model*.go, bench*.go, eval.go, explain.go, ...   the other commands
//	drivers.go, compilers.go, warmup.go              processes of this program beside this one
//	farm*.go, flagtablefarm.go                       a farm of machines
//	exit.go, interrupt.go                            errors, exit statuses, Ctrl-C
package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"golang.org/x/term"

	"enhance/internal/compilers"
	"enhance/internal/drivers"
	"enhance/internal/printable"
	"enhance/raw/libraw"
)

// began is when the program began.
var began = time.Now()

func main() { os.Exit(run(os.Args[1:], os.Stdout, lastingStderr())) }

// run runs the program with the arguments after its name. It returns the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	if len(args) == 1 && args[0] == compileArgument {
		return compilers.Serve()
	}
	if len(args) == 1 && args[0] == driversArgument {
		return drivers.Serve()
	}
	if len(args) == 1 && args[0] == readArgument {
		return libraw.Serve()
	}
	if len(args) == 1 && args[0] == warmUpArgument {
		return warmUp()
	}
	out := &checkedWriter{w: stdout}
	e := &env{stdout: out, stderr: printable.NewWriter(stderr), self: ownCommand}
	if f, ok := stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		e.terminal = f
	}
	code := e.dispatch(args)
	if out.err != nil && code == exitOK {
		return e.exit(out.err)
	}
	return code
}

// env is the outside world of a command.
type env struct {
	stdout   io.Writer // as it is: pictures and JSON go there, text through text
	stderr   io.Writer // what is not printable is escaped
	terminal *os.File  // standard error if that is a terminal, else nil
	// self makes the command that starts this program once more, see compilers.go; nil:
	// never do.
	self func(argument string) []string
}

// text is standard output for text: what is not printable is escaped.
func (e *env) text() io.Writer { return printable.NewWriter(e.stdout) }

// checkedWriter remembers the first error of writing, so that output that went nowhere
// is not taken for a success.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if err == nil {
		return n, nil
	}
	if c.err == nil {
		c.err = &stdoutError{err}
	}
	return n, &stdoutError{err}
}

// stdoutError says that standard output took no more.
type stdoutError struct{ err error }

func (e *stdoutError) Unwrap() error { return e.err }

func (e *stdoutError) Error() string {
	why := e.err
	if at := (*fs.PathError)(nil); errors.As(why, &at) {
		why = at.Err
	}
	return fmt.Sprintf("cannot write to standard output: %v", why)
}
