//go:build !linux

package compilers

import "os/exec"

// dieWithParent leaves it to the end of the standard input, which takes effect a
// moment later.
func dieWithParent(*exec.Cmd) {}
