package main

import (
	"errors"
	"io"
	"os"
	"sync"

	"enhance/internal/atomicfile"
	"enhance/internal/regularfile"
	"enhance/pipeline"
)

// openPassed opens the photo to be passed on. It is not ok if that needs an error, or if
// the photo is not a whole file.
func openPassed(j *pipeline.Job) (photo *os.File, done func(), ok bool) {
	switch r := j.Reader.(type) {
	case nil:
		f, _, err := regularfile.Open(j.Input)
		if err != nil {
			return nil, nil, false
		}
		return f, func() { f.Close() }, true
	case *stdinPhoto:
		if f, isFile := r.ReaderAt.(*os.File); isFile {
			return f, func() {}, true
		}
	}
	return nil, nil, false
}

// unfinished is the file that a server writes: one with a name to come, or one to be copied
// to a stream.
type unfinished struct {
	mu     sync.Mutex
	file   *atomicfile.File
	stream *os.File
}

// create makes the file for a picture.
func (c *client) create(j *pipeline.Job) (u *unfinished, err error) {
	u = &unfinished{}
	if j.Output.Writer != nil {
		if u.stream, err = os.CreateTemp("", "picture-"); err == nil {
			err = os.Remove(u.stream.Name())
		}
	} else {
		opt := atomicfile.Options{Overwrite: j.Output.Overwrite}
		if j.Reader == nil {
			opt.Keep = []string{j.Input}
		}
		if u.file, err = atomicfile.Create(j.Output.Path, opt); err == nil && u.file.Descriptor() == nil {
			err = errors.New("no descriptor")
		}
	}
	if err != nil {
		u.drop()
		return nil, err
	}
	c.mu.Lock()
	c.files[u] = struct{}{}
	c.mu.Unlock()
	return u, nil
}

func (u *unfinished) descriptor() *os.File {
	if u.file != nil {
		return u.file.Descriptor()
	}
	return u.stream
}

// finish names the file, or copies it to its stream.
func (u *unfinished) finish(j *pipeline.Job) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file != nil {
		return u.file.Commit()
	}
	if _, err := u.stream.Seek(0, io.SeekStart); err != nil {
		return err
	}
	_, err := io.Copy(j.Output.Writer, u.stream)
	return err
}

// drop removes the file unless it is finished.
func (u *unfinished) drop() {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.file != nil {
		u.file.Abort()
	}
	if u.stream != nil {
		u.stream.Close()
	}
}

// drop removes a file unless it is finished, and forgets it.
func (c *client) drop(u *unfinished) {
	u.drop()
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.files, u)
}
