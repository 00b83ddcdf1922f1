package main

import (
	"os"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdAwait waits until a file is there: await FILE.
func cmdAwait(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: await FILE")
	}
	for range 600 {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	ts.Fatalf("%s did not appear within a minute", args[0])
}
