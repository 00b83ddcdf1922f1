//go:build !linux

package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func canMount(*testing.T) bool { return false }

func cmdSmalldisk(ts *testscript.TestScript, neg bool, args []string) {
	ts.Fatalf("no small disk on this system")
}
