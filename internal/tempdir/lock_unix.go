//go:build unix && !solaris && !aix

package tempdir

import (
	"os"
	"syscall"
)

// tryLock locks a file until it is closed, unless another process has locked it.
func tryLock(f *os.File) bool {
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil
}

// own reports whether a folder is this user's, and no link.
func own(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(s.Uid) == os.Getuid()
}
