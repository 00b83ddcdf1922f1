// Package atomicfile writes a file that either appears whole under its final
// name or does not appear at all.
//
// [Create] checks the target and opens a temporary file in the target's own
// directory, so an unwritable directory, an existing file, a file that cannot be
// replaced or a directory in the way is found before any work is spent on the contents. The caller writes,
// then calls [File.Commit], which flushes the data to the disk, gives the file
// its final name and flushes the directory. [File.Abort] drops everything.
//
//	f, err := atomicfile.Create("out.png", atomicfile.Options{})
//	if err != nil {
//		return err
//	}
//	defer f.Abort() // does nothing after Commit
//	if _, err := f.Write(data); err != nil {
//		return err
//	}
//	return f.Commit()
//
// The temporary file has no name where the system has such files (Linux, on most
// file systems): a process that is killed, be it for want of memory, leaves nothing.
// Only a kill between the two system calls that replace an existing file (linkat,
// rename) leaves the finished contents under a hidden name.
// Elsewhere the file is named .NAME-XXXXXXXXXXXXXXXX.part with a shortened NAME and stays
// behind; the final name is never touched. A program that handles SIGINT should call
// Abort on its way out.
package atomicfile

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

var (
	// ErrExists is reported when the target exists and Options.Overwrite is false.
	ErrExists = errors.New("file exists")

	// ErrNotRegular is reported when the target is a directory, a device, a pipe,
	// a socket or a symbolic link that does not lead to a regular file.
	ErrNotRegular = errors.New("not a regular file")

	// ErrKept is reported when the target is a file of Options.Keep.
	ErrKept = errors.New("the output is made from it")

	// ErrClosed is reported by every use of a File that was committed, aborted or
	// dropped after a failed write.
	ErrClosed = errors.New("file already committed or aborted")
)

// Error is a failure to produce the file at Path. It unwraps to its cause:
// ErrExists, ErrNotRegular, ErrKept, ErrClosed, or the operating system's error.
type Error struct {
	Op   string // what was being done, such as "write"
	Path string // the final path, as the caller gave it
	Err  error
	Hint string // what to do about it; may be empty
}

func (e *Error) Error() string {
	text := fmt.Sprintf("cannot %s %s: ", e.Op, e.Path)
	switch {
	case e.Hint == "":
		return text + e.Err.Error()
	case errors.Is(e.Err, fs.ErrNotExist): // the hint says what is missing
		return text + e.Hint
	}
	return text + e.Err.Error() + ": " + e.Hint
}

func (e *Error) Unwrap() error { return e.Err }

// Options selects how a target that already exists is treated.
type Options struct {
	// Overwrite replaces an existing regular file and keeps its permission bits.
	// Replacing needs write permission for the directory, not for the old file.
	Overwrite bool

	// Keep are paths of files that are never replaced, whatever Overwrite says and
	// by whatever name or link they are reached: those that the contents are made
	// from. Paths of files that are not there do not matter.
	Keep []string
}

// newMode is the mode asked for a new file; the umask takes its bits away.
const newMode fs.FileMode = 0o644

// backing is the part of os.File that a File needs; tests put failing disks here.
type backing interface {
	io.WriteSeeker
	Sync() error
	Chmod(fs.FileMode) error
	Close() error
}

// File is a file under construction. It is not safe for concurrent use.
type File struct {
	path      string       // as the caller gave it, for messages
	target    string       // where the file goes, symbolic links resolved
	temp      string       // the temporary file's name, while it has one
	unnamed   *os.File     // the temporary file, while it has none
	keepMode  *fs.FileMode // permission bits of the file being replaced
	overwrite bool
	out       backing
	unwritten int   // bytes that the system was not told to begin with
	failed    error // the first failure; everything is removed already
	done      bool
}

// Descriptor is the open file for another process to write to, nil if there is none to pass.
// Commit then names the file that the process has written.
func (f *File) Descriptor() *os.File {
	if f.done || f.failed != nil {
		return nil
	}
	file, _ := f.out.(*os.File)
	return file
}

// newUnnamed is a variable for tests of systems without such files.
var newUnnamed = openUnnamed

// Create starts a file that will be named path. A symbolic link to a regular
// file is followed, so that the file it names is replaced and the link stays.
func Create(path string, opt Options) (*File, error) {
	target, mode, err := inspect(path, opt)
	if err != nil {
		return nil, err
	}
	f := &File{path: path, target: target, keepMode: mode, overwrite: opt.Overwrite}
	if f.unnamed = newUnnamed(dirOf(target)); f.unnamed != nil {
		f.out = f.unnamed
		return f, nil
	}
	if f.out, f.temp, err = openTemp(target); err != nil {
		return nil, &Error{Op: "create", Path: path, Err: cause(err), Hint: createHint(err, target)}
	}
	return f, nil
}

// inspect decides whether path may be written, and returns the file to write and
// the permission bits to keep (nil if it is new).
func inspect(path string, opt Options) (target string, mode *fs.FileMode, err error) {
	if path == "" {
		return "", nil, &Error{Op: "create", Path: `""`, Err: fs.ErrInvalid, Hint: "give the output a file name"}
	}
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return path, nil, nil
	} else if err != nil {
		return "", nil, &Error{Op: "create", Path: path, Err: cause(err)}
	}
	target, err = filepath.EvalSymlinks(path)
	if err != nil {
		return "", nil, &Error{Op: "create", Path: path, Err: ErrNotRegular,
			Hint: "it is a symbolic link that leads nowhere; remove it or name its target"}
	}
	info, err := os.Stat(target)
	if err != nil {
		return "", nil, &Error{Op: "create", Path: path, Err: cause(err)}
	}
	if !info.Mode().IsRegular() {
		return "", nil, &Error{Op: "create", Path: path, Err: ErrNotRegular, Hint: kindHint(info.Mode())}
	}
	for _, keep := range opt.Keep {
		if other, err := os.Stat(keep); err == nil && os.SameFile(info, other) {
			return "", nil, &Error{Op: "replace", Path: path, Err: ErrKept, Hint: "choose another name"}
		}
	}
	if !opt.Overwrite {
		return "", nil, &Error{Op: "create", Path: path, Err: ErrExists, Hint: "choose another name or allow overwriting"}
	}
	if err := checkReplace(target); err != nil {
		return "", nil, &Error{Op: "replace", Path: path, Err: err, Hint: replaceHint(err)}
	}
	perm := info.Mode().Perm()
	return target, &perm, nil
}

// dirOf is the directory of target, as it is written: filepath.Dir takes link/.. for
// nothing, the system does not.
func dirOf(target string) string {
	dir, _ := filepath.Split(target)
	if dir == "" {
		return "."
	}
	return dir
}

func kindHint(m fs.FileMode) string {
	if m.IsDir() {
		return "it is a directory; add a file name"
	}
	return "the file is written beside its name and renamed, which a device or pipe cannot be; name a regular file"
}

func createHint(err error, target string) string {
	dir := trimSeparators(dirOf(target))
	info, missing := os.Stat(dir)
	switch {
	case errors.Is(missing, fs.ErrNotExist):
		return "directory " + dir + " does not exist; create it first"
	case missing == nil && !info.IsDir():
		return dir + " is a file; choose another directory"
	case errors.Is(err, fs.ErrNotExist): // as /proc says it
		return "no files can be made in " + dir + "; choose another directory"
	case errors.Is(err, fs.ErrPermission):
		return "directory " + dir + " is not writable; choose another"
	case errors.Is(err, syscall.EROFS):
		return "choose another directory than " + dir
	}
	return ""
}

// tempName makes up the name of a hidden file beside target.
func tempName(target string) string {
	dir, base := filepath.Split(target)
	// File systems limit a name to 255 bytes: a long one is cut, so that a target
	// of legal length always has a temporary file of legal length.
	if len(base) > 64 {
		base = base[:64]
	}
	var r [8]byte
	rand.Read(r[:]) // never fails since Go 1.24
	return dir + "." + base + "-" + hex.EncodeToString(r[:]) + ".part"
}

// openTemp creates the hidden file beside target.
func openTemp(target string) (*os.File, string, error) {
	for try := 0; ; try++ {
		temp := tempName(target)
		f, err := os.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, newMode)
		if errors.Is(err, fs.ErrExist) && try < 100 {
			continue
		}
		return f, temp, err
	}
}

// cause strips the temporary file's name from an operating system error: the
// user knows only the final name.
func cause(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	var le *os.LinkError
	if errors.As(err, &le) {
		return le.Err
	}
	return err
}
