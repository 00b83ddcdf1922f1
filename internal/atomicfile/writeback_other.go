//go:build !linux

package atomicfile

import "os"

// startWriting does nothing: when the contents go to the disk is left to the system.
func startWriting(*os.File) {}
