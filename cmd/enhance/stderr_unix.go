//go:build unix

package main

import (
	"io"
	"os"
	"syscall"
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
