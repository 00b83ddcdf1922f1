package atomicfile

import (
	"os"
	"syscall"
)

// Check reports what would keep Create from making path, as far as can be told
// without writing anything: nil, or the error that Create would give.
func Check(path string, opt Options) error {
	target, _, err := inspect(path, opt)
	if err != nil {
		return err
	}
	if err := checkDir(dirOf(target)); err != nil {
		return &Error{Op: "create", Path: path, Err: cause(err), Hint: createHint(err, target)}
	}
	return nil
}

// checkDir reports why no file can be made in dir.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return syscall.ENOTDIR
	}
	return writable(dir)
}

// MakeDir makes a directory, or, for a dry run, only reports what would keep it from
// being made. One that is there is as good.
func MakeDir(path string, dry bool) error {
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil || !os.IsNotExist(err): // text.png/
		return &Error{Op: "make the directory", Path: path, Err: cause(orNotDir(err)), Hint: "a file has that name or one in it; choose another"}
	}
	parent := dirOf(trimSeparators(path))
	if err = checkDir(parent); err == nil && !dry {
		err = os.Mkdir(path, 0o755)
	}
	if err != nil {
		return &Error{Op: "make the directory", Path: path, Err: cause(err), Hint: createHint(err, trimSeparators(path))}
	}
	return nil
}

func orNotDir(err error) error {
	if err == nil {
		return syscall.ENOTDIR
	}
	return err
}

// trimSeparators cuts what ends a directory's name, but for the root.
func trimSeparators(path string) string {
	for len(path) > 1 && os.IsPathSeparator(path[len(path)-1]) {
		path = path[:len(path)-1]
	}
	return path
}
