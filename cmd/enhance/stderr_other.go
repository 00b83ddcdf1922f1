//go:build !unix

package main

import (
	"io"
	"os"
)

// lastingStderr is standard error: where there is no SIGPIPE, a write to a closed pipe
// only fails.
func lastingStderr() io.Writer { return os.Stderr }
