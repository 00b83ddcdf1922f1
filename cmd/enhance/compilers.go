package main

import (
	"fmt"
	"os"
	"runtime"
	"strconv"

	"enhance/internal/compilers"
)

// compileArgument alone makes a process of this program one that compiles kernels for
// another, see package compilers.
const compileArgument = "__compile-kernels"

// compilersEnv bounds the processes that kernels are compiled in beside this one.
const compilersEnv = "ENHANCE_COMPILERS"

// ownCommand starts this program once more, as it is now: the file that a path leads
// to may have been replaced by another version.
func ownCommand() []string {
	path := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil
		}
	}
	return []string{path, os.Args[0], compileArgument}
}

// compileApart has sessions compile kernels in several processes.
func (c *call) compileApart() {
	if c.self == nil {
		return
	}
	o := compilers.Options{Command: c.self, Most: -1, Debug: c.set.Debug}
	if text := os.Getenv(compilersEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			fmt.Fprintf(c.stderr, "%-8s%s is %q, which has no effect: want a number of processes, 0 for none\n", "note", compilersEnv, text)
		} else {
			o.Most = n
		}
	}
	c.set.Compiler = compilers.New(o)
}
