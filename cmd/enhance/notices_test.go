package main

import (
	"bytes"
	"testing"
)

// TestNotices: compilation is not called tuning, and a driver's text stays on its line.
func TestNotices(t *testing.T) {
	var say bytes.Buffer
	c := &call{env: &env{stderr: &say}}
	c.tellNotices(false)
	c.set.Compiling("compiling\x1b[2J")
	c.set.Tell("measuring\nmore")
	if want := "kernels compiling\\x1b[2J\ntune    measuring; more\n"; say.String() != want {
		t.Errorf("%q, want %q", say.String(), want)
	}
	c = &call{env: &env{stderr: &say}}
	c.quiet = true
	if c.tellNotices(true); c.set.Tell != nil || c.set.Compiling != nil || c.set.Debug != nil {
		t.Error("-q does not silence the notices")
	}
}
