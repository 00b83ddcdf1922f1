package main

import (
	"os"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// canMount reports whether a file system of our own can be had.
func canMount(t *testing.T) bool {
	dir := t.TempDir()
	if syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=4k") != nil {
		return false
	}
	syscall.Unmount(dir, syscall.MNT_DETACH)
	return true
}

// smalldisk DIR BYTES: a file system with room for so many.
func cmdSmalldisk(ts *testscript.TestScript, neg bool, args []string) {
	dir := ts.MkAbs(args[0])
	check(ts, os.MkdirAll(dir, 0o755))
	check(ts, syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+args[1]))
	ts.Defer(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
}
