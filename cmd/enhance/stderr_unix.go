//go:build unix

package main

import (
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// lastingStderr is standard error that may be closed at its other end: a write to file
// descriptor 2 then ends a Go program by SIGPIPE, and a picture with it, while a write to
// another descriptor only fails. Standard output stays as it is: `enhance ... | head`
// ends with status 141.
func lastingStderr() io.Writer {
	fd, err := syscall.Dup(2)
	if err != nil {
		return os.Stderr
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "/dev/stderr")
}

// closedAtStart reports whether f was closed when the program began. Go's runtime opens
// /dev/null for reading and writing in its place, where a shell's > /dev/null is for
// writing only. What other programs open so looks the same: only results that were asked
// for on standard output are refused.
func closedAtStart(f *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	if err != nil || !os.SameFile(info, null) {
		return false
	}
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR
}
