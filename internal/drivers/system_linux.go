package drivers

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// free is how many bytes a user may still write in the file system of a folder, and
// whether it has room for another file; unknown: not ok.
func free(dir string) (bytes int64, files, ok bool) {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return 0, false, false
	}
	return int64(min(s.Bavail, 1<<40)) * int64(s.Bsize), s.Files == 0 || s.Ffree > 0, true
}

// mine reports whether a folder is this user's alone and no symbolic link.
func mine(i fs.FileInfo) bool {
	s, ok := i.Sys().(*syscall.Stat_t)
	return ok && i.IsDir() && int(s.Uid) == os.Getuid() && i.Mode().Perm()&0o077 == 0
}

// addressSpace is the limit of addresses, as text.
func addressSpace() string {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &l) != nil {
		return "unknown"
	}
	return fmt.Sprint(l.Cur)
}
