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
	if f.unwritten += n; f.unwritten >= writeEvery {
		f.unwritten = 0
		if file := f.Descriptor(); file != nil {
			startWriting(file)
		}
	}
	return n, nil
}

// writeEvery is how many bytes are written before the system is told to begin with them, so that
// Commit need not wait for all of them.
const writeEvery = 4 << 20

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
// flushes the directory. If it fails before the file has its name nothing is left behind.
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
	if f.unnamed == nil { // some systems rename closed files only
		if err := f.out.Close(); err != nil {
			return f.fail("close", err)
		}
	}
	if err := f.publish(); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
		return f.fail("give the finished file the name", err)
	}
	f.out.Close() // what it held is on the disk: Sync said so
	f.done = true
	if err := syncDir(dirOf(f.target)); err != nil {
		return &Error{Op: "flush the directory of", Path: f.path, Err: cause(err),
			Hint: "the file is complete but may be lost if the power fails now"}
	}
	return nil
}

// linkUnnamed is a variable for tests of systems that refuse it.
var linkUnnamed = linkOpen

// publish gives the file its final name in one step: an unnamed file is linked there,
// a named one is renamed. Without Overwrite a file that has the name already stays.
func (f *File) publish() error {
	if f.unnamed != nil {
		named, err := f.linkTarget()
		if named || err != nil {
			return err
		}
	}
	if f.overwrite {
		return os.Rename(f.temp, f.target)
	}
	return f.renameNew()
}

// linkTarget links the unnamed file to its final name. Where a file is to be replaced,
// which a link cannot do, or where the system refuses the link, it gives the contents a
// hidden name instead, and named is false. (A process that is killed between that and
// the rename leaves the hidden file; the system has no call that replaces a file by one
// without a name.)
func (f *File) linkTarget() (named bool, err error) {
	err = linkUnnamed(f.unnamed, f.target)
	switch {
	case err == nil:
		f.unnamed = nil
		return true, nil
	case !errors.Is(err, fs.ErrExist):
		return false, f.copyNamed() // such as where /proc has gone
	case !f.overwrite:
		return false, err
	}
	temp := tempName(f.target)
	if err := linkUnnamed(f.unnamed, temp); err != nil {
		return false, f.copyNamed()
	}
	f.temp, f.unnamed = temp, nil
	return false, nil
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

// renameNew renames the temporary file unless its final name is taken.
func (f *File) renameNew() error {
	err := renameNoReplace(f.temp, f.target)
	if !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	// A plain rename would silently replace a file that appeared meanwhile; a hard
	// link fails instead.
	err = os.Link(f.temp, f.target)
	switch {
	case err == nil:
		// The file has its name: a second one that cannot be removed is no failure.
		os.Remove(f.temp)
		return nil
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
