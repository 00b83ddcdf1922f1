package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// killchild ARGUMENT args...: runs enhance, kills the first process that it starts with that hidden
// argument, and wants that it succeeds all the same.
func cmdKillchild(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath("enhance")
	check(ts, err)
	c := exec.Command(path, args[1:]...)
	c.Dir = ts.MkAbs(".")
	c.Env = os.Environ()
	for _, name := range append([]string{"ENHANCE_CACHE_DIR", compilersEnv}, passed...) {
		if v := ts.Getenv(name); v != "" {
			c.Env = append(c.Env, name+"="+v)
		}
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	check(ts, c.Start())
	killed := 0
	for range 10000 {
		if killed = childWith(c.Process.Pid, args[0]); killed != 0 {
			time.Sleep(10 * time.Millisecond) // that it has begun
			p, err := os.FindProcess(killed)
			check(ts, err)
			check(ts, p.Kill())
			break
		}
		time.Sleep(time.Millisecond)
	}
	err = c.Wait()
	switch {
	case killed == 0:
		ts.Fatalf("no process was started")
	case err != nil:
		ts.Fatalf("%v\n%s", err, stderr.String())
	}
}

// childWith is a process that was started by another with an argument, 0 if there is
// none.
func childWith(parent int, argument string) int {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", parent))
	for _, name := range threads {
		list, _ := os.ReadFile(name)
		for _, word := range strings.Fields(string(list)) {
			pid, _ := strconv.Atoi(word)
			if line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); bytes.Contains(line, []byte(argument)) {
				return pid
			}
		}
	}
	return 0
}

// same DIR DIR: both hold files of the same names, and at least one.
func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	var names [2][]string
	for i := range names {
		entries, err := os.ReadDir(ts.MkAbs(args[i]))
		check(ts, err)
		for _, e := range entries {
			names[i] = append(names[i], e.Name())
		}
	}
	if len(names[0]) == 0 || !slices.Equal(names[0], names[1]) {
		ts.Fatalf("%q and %q", names[0], names[1])
	}
}
