package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"enhance/raw/libraw"
)

// haveLibRaw reports whether the program reads a camera maker's file here.
func haveLibRaw() (bool, error) {
	path, err := exec.LookPath("enhance")
	if err != nil {
		return false, err
	}
	out, err := exec.Command(path, "inspect", filepath.Join("..", "..", "testdata", "raw", "DC50.kdc")).Output()
	return err == nil && !bytes.Contains(out, []byte("refused")), err
}

// killreader args...: runs the program of two photos, kills the first process that it
// starts to read one, and wants that exactly that photo fails.
func cmdKillreader(ts *testscript.TestScript, neg bool, args []string) {
	path, err := exec.LookPath(args[0])
	check(ts, err)
	c := exec.Command(path, args[1:]...)
	c.Dir = ts.MkAbs(".")
	c.Env = os.Environ()
	for _, name := range append([]string{"ENHANCE_CACHE_DIR", libraw.LibraryEnv}, passed...) {
		if v := ts.Getenv(name); v != "" {
			c.Env = append(c.Env, name+"="+v)
		}
	}
	var stderr bytes.Buffer
	c.Stderr = &stderr
	check(ts, c.Start())
	killed := 0
	for range 10000 {
		if killed = childWith(c.Process.Pid, readArgument); killed != 0 {
			p, err := os.FindProcess(killed)
			check(ts, err)
			check(ts, p.Kill())
			break
		}
		time.Sleep(time.Millisecond)
	}
	err = c.Wait()
	const want = "ended without an answer (signal: killed)"
	switch {
	case killed == 0:
		ts.Fatalf("no process was started")
	case c.ProcessState.ExitCode() != exitFailed || strings.Count(stderr.String(), want) != 1:
		ts.Fatalf("%v, want exit status %d and %q once\n%s", err, exitFailed, want, stderr.String())
	}
}
