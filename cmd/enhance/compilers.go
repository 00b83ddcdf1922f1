package main

import (
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

// readArgument alone makes a process of this program one that reads a photo for
// another, see package libraw.
const readArgument = "__read-photo"

// ownCommand starts this program once more with an argument, as it is now: the file that
// a path leads to may have been replaced by another version.
func ownCommand(argument string) []string {
	path := "/proc/self/exe"
	if runtime.GOOS != "linux" {
		var err error
		if path, err = os.Executable(); err != nil {
			return nil
		}
	}
	return []string{path, os.Args[0], argument}
}

// another is the command that starts this program once more, nil if it never does.
func (e *env) another(argument string) []string {
	if e.self == nil {
		return nil
	}
	return e.self(argument)
}

// compileApart has sessions compile kernels in several processes.
func (c *call) compileApart() {
	command := c.another(compileArgument)
	if command == nil {
		return
	}
	o := compilers.Options{Command: command, Most: -1, Debug: c.set.Debug}
	if text := os.Getenv(compilersEnv); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			item(c.stderr, "note", "%s is %q, which has no effect: want a number of processes, 0 for none", compilersEnv, text)
		} else {
			o.Most = n
		}
	}
	c.compilers, c.mostCompilers = compilers.New(o), o.Most
	c.set.Compiler = c.compilers
}
