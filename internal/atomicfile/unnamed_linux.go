package atomicfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openUnnamed opens a new file in dir that has no name (open(2), O_TMPFILE), nil
// where that or naming it later cannot be had.
func openUnnamed(dir string) *os.File {
	f, err := os.OpenFile(dir, os.O_RDWR|unix.O_TMPFILE, newMode)
	if err != nil {
		return nil // whatever it is, creating a named file will do or say it
	}
	if _, err := os.Stat(procPath(f)); err != nil {
		f.Close()
		return nil
	}
	return f
}

// linkOpen gives an unnamed file a name that is not taken. It needs no privilege
// this way (open(2) has it).
func linkOpen(f *os.File, name string) error {
	err := unix.Linkat(unix.AT_FDCWD, procPath(f), unix.AT_FDCWD, name, unix.AT_SYMLINK_FOLLOW)
	if err != nil {
		return &os.LinkError{Op: "linkat", Old: procPath(f), New: name, Err: err}
	}
	return nil
}

// renameNoReplace renames a file unless the new name is taken, or says
// errors.ErrUnsupported where the kernel or the file system cannot (renameat2(2)).
func renameNoReplace(old, new string) error {
	err := unix.Renameat2(unix.AT_FDCWD, old, unix.AT_FDCWD, new, unix.RENAME_NOREPLACE)
	switch err {
	case nil:
		return nil
	case unix.EINVAL, unix.ENOSYS:
		return errors.ErrUnsupported
	}
	return &os.LinkError{Op: "renameat2", Old: old, New: new, Err: err}
}

func procPath(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
