// Package regularfile opens files that people name: photos, weights, profiles, results
// that are kept. A folder, a pipe, a device or a socket under such a name is an error at once;
// opening a pipe in the ordinary way waits for its writer, and a device may never end.
//
// Start at [Open]; [Read] is for files that are small by nature.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular is wrapped by the error of Open for what is neither a file nor a folder.
// Of a folder it is syscall.EISDIR.
var ErrNotRegular = errors.New("not a regular file")

// ErrTooLarge is wrapped by the error of Read for files with more bytes than are right.
var ErrTooLarge = errors.New("file is too large")

// Open opens the named file for reading, and returns how many bytes it has. It does not wait.
func Open(path string) (f *os.File, size int64, err error) {
	// The kind is asked of the open file: another one may have taken its name meanwhile.
	f, err = os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.EAGAIN) { // a lease, which a file server is asked to give up
		f, err = os.Open(path)
	}
	if errors.Is(err, syscall.ENXIO) { // a socket
		return nil, 0, refuse(path, ErrNotRegular)
	}
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = refuse(path, syscall.EISDIR)
	case !info.Mode().IsRegular():
		err = refuse(path, ErrNotRegular)
	default:
		return f, info.Size(), nil
	}
	return nil, 0, errors.Join(err, f.Close())
}

func refuse(path string, why error) error { return &fs.PathError{Op: "open", Path: path, Err: why} }

// Read reads the whole of a file of at most limit bytes.
func Read(path string, limit int64) ([]byte, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b := make([]byte, 0, min(size, limit)+1)
	for int64(len(b)) <= limit { // a file may grow, and those of /proc tell no size
		n, err := f.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
	}
	return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("%w: at most %d bytes are right", ErrTooLarge, limit)}
}
