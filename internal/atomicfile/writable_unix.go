//go:build unix

package atomicfile

import "golang.org/x/sys/unix"

// writable asks the system whether files can be made in dir (access(2)): it knows
// permissions and file systems that are read-only.
func writable(dir string) error { return unix.Access(dir, unix.W_OK|unix.X_OK) }
