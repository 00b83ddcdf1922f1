package main

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/term"

	"enhance/pipeline"
	"enhance/raw"
)

// stdinPhoto is a photo from standard input: a file as it is, what comes through a pipe in
// a temporary file without a name, since photos are not read from front to back.
type stdinPhoto struct {
	io.ReaderAt
	size int64
	file *os.File // the temporary one; nil: none
}

// stdinName is how messages and reports name the photo.
const stdinName = "standard input"

// fromStdin makes standard input the photo of a job.
func fromStdin(j *pipeline.Job) (done func(), err error) {
	p, err := openStdin(2 * int64(j.Raw.Width) * int64(j.Raw.Height))
	if err != nil {
		return func() {}, err
	}
	j.Input, j.Reader, j.Size = stdinName, p, p.size
	return p.close, nil
}

// openStdin takes standard input to its end. limit, unless 0, is the size of the photo: no
// more than a byte more is read.
func openStdin(limit int64) (*stdinPhoto, error) {
	fail := func(err error) (*stdinPhoto, error) {
		return nil, &pipeline.FileError{Path: stdinName, Err: err}
	}
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return nil, usagef("standard input is a terminal: redirect a photo to it, as in enhance - -o photo.png < photo.dng")
	}
	info, err := os.Stdin.Stat()
	if err != nil {
		return fail(err)
	}
	if info.Mode().IsRegular() {
		at, err := os.Stdin.Seek(0, io.SeekCurrent)
		if err != nil {
			return fail(err)
		}
		if at == 0 {
			return &stdinPhoto{ReaderAt: os.Stdin, size: info.Size()}, nil
		}
		return &stdinPhoto{ReaderAt: io.NewSectionReader(os.Stdin, at, info.Size()-at), size: max(0, info.Size()-at)}, nil
	}
	if info.IsDir() {
		return fail(&fs.PathError{Op: "read", Path: stdinName, Err: syscall.EISDIR})
	}
	f, err := os.CreateTemp("", "photo-")
	if err != nil {
		return nil, err
	}
	p := &stdinPhoto{ReaderAt: f, file: f}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if p.size, err = io.Copy(f, photoFrom(os.Stdin, limit)); err != nil {
		return nil, errors.Join(&pipeline.FileError{Path: stdinName, Err: err}, f.Close())
	}
	return p, nil
}

// photoFrom is as much of a stream as a photo may be: up to a byte more than limit, or,
// if that is 0, all of it, but of what cannot be a photo only the beginning, which is
// enough to refuse it.
func photoFrom(r io.Reader, limit int64) io.Reader {
	if limit > 0 {
		return io.LimitReader(r, limit+1)
	}
	head := make([]byte, 32)
	n, err := io.ReadFull(r, head)
	head = head[:n]
	if err != nil || !raw.Plausible(head) {
		return bytes.NewReader(head)
	}
	return io.MultiReader(bytes.NewReader(head), r)
}

func (p *stdinPhoto) close() {
	if p != nil && p.file != nil {
		p.file.Close()
	}
}
