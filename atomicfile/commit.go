package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"runtime"
	"syscall"
)

// Write appends to the file. A failed write (a full disk, say) removes the
// temporary file at once; every later call reports the same failure.
func (f *File) Write(p []byte) (int, error) {
	if err := f.usable("write"); err != nil {
		return 0, err
	}
	n, err := f.out.Write(p)
	if err != nil {
		return n, f.fail("write", err)
	}
	return n, nil
}

// Seek sets where the next Write goes, as in io.Seeker. Formats whose tables
// come before the data they describe need it.
func (f *File) Seek(offset int64, whence int) (int64, error) {
	if err := f.usable("seek in"); err != nil {
		return 0, err
	}
	n, err := f.out.Seek(offset, whence)
	if err != nil {
		return n, f.fail("seek in", err)
	}
	return n, nil
}

// Commit flushes the contents to the disk, gives the file its final name and
// flushes the directory. If it fails before the rename nothing is left behind.
// An error of the last flush means that the file is whole and in place but may
// not survive a power cut.
//
// Without Overwrite a file that appeared under the name since Create is kept and
// ErrExists is reported.
func (f *File) Commit() error {
	if err := f.usable("commit"); err != nil {
		return err
	}
	if f.keepMode != nil {
		if err := f.out.Chmod(*f.keepMode); err != nil {
			return f.fail("set the permissions of", err)
		}
	}
	if err := f.out.Sync(); err != nil {
		return f.fail("flush", err)
	}
	if err := f.giveName(); err != nil {
		return f.fail("name", err)
	}
	if err := f.out.Close(); err != nil {
		return f.fail("close", err)
	}
	if err := f.publish(); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
		return f.fail("rename the finished file to", err)
	}
	f.done = true
	if err := syncDir(dirOf(f.target)); err != nil {
		return &Error{Op: "flush the directory of", Path: f.path, Err: cause(err),
			Hint: "the file is complete but may be lost if the power fails now"}
	}
	return nil
}

// linkUnnamed is a variable for tests of systems that refuse it.
var linkUnnamed = linkOpen

// giveName gives an unnamed temporary file the name of a hidden one, for the moment
// until publish: only a name can replace another in one step.
func (f *File) giveName() error {
	if f.unnamed == nil {
		return nil
	}
	temp := tempName(f.target)
	if err := linkUnnamed(f.unnamed, temp); err != nil {
		return f.copyNamed() // such as where /proc has gone
	}
	f.temp, f.unnamed = temp, nil
	return nil
}

// copyNamed copies the unnamed file's contents to a named one.
func (f *File) copyNamed() error {
	if _, err := f.unnamed.Seek(0, io.SeekStart); err != nil {
		return err
	}
	info, err := f.unnamed.Stat()
	if err != nil {
		return err
	}
	out, temp, err := openTemp(f.target)
	if err != nil {
		return err
	}
	f.temp = temp // from here on fail removes it
	_, err = io.Copy(out, f.unnamed)
	if err == nil {
		err = out.Chmod(info.Mode().Perm())
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// publish gives the temporary file its final name.
func (f *File) publish() error {
	if f.overwrite {
		return os.Rename(f.temp, f.target)
	}
	// A rename would silently replace a file that appeared meanwhile; a hard link
	// fails instead.
	err := os.Link(f.temp, f.target)
	switch {
	case err == nil:
		return os.Remove(f.temp)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// The file system has no hard links (FAT, some network mounts): look, then
	// rename. What remains is the instant between the two.
	if _, err := os.Lstat(f.target); err == nil {
		return fs.ErrExist
	}
	return os.Rename(f.temp, f.target)
}

// Abort drops the file. After Commit, Abort or a failed write it does nothing.
func (f *File) Abort() error {
	if f.done || f.failed != nil {
		return nil
	}
	f.done = true
	closeErr := f.out.Close()
	if err := f.remove(); err != nil {
		return &Error{Op: "remove the temporary file of", Path: f.path, Err: err}
	}
	if closeErr != nil {
		return &Error{Op: "close", Path: f.path, Err: cause(closeErr)}
	}
	return nil
}

// remove removes the temporary file's name, if it has one.
func (f *File) remove() error {
	if f.temp == "" {
		return nil
	}
	return os.Remove(f.temp)
}

// Name is the final path, as it was given to Create.
func (f *File) Name() string { return f.path }

func (f *File) usable(op string) error {
	if f.failed != nil {
		return f.failed
	}
	if f.done {
		return &Error{Op: op, Path: f.path, Err: ErrClosed}
	}
	return nil
}

// fail removes the temporary file and remembers why.
func (f *File) fail(op string, err error) error {
	e := &Error{Op: op, Path: f.path, Err: cause(err)}
	switch {
	case errors.Is(err, syscall.ENOSPC):
		e.Hint = "the disk is full; free some space or write elsewhere"
	case errors.Is(err, ErrExists):
		e.Hint = "it appeared while this one was being written; choose another name or allow overwriting"
	}
	f.out.Close() // may be closed already; the first error is the one that counts
	if err := f.remove(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		e.Err = errors.Join(e.Err, err)
	}
	f.failed = e
	return e
}

// syncDir makes a rename durable.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be flushed there, and NTFS journals the rename
	}
	d, err := os.Open(dir)
	if err != nil {
		// A directory that may be written but not read cannot be opened to be
		// flushed; that is the owner's choice and no failure.
		if errors.Is(err, fs.ErrPermission) {
			return nil
		}
		return err
	}
	defer d.Close()
	// Some file systems have no fsync for directories and say so with these.
	if err := d.Sync(); err != nil && !errors.Is(err, syscall.EINVAL) && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}
