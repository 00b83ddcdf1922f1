package work

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// Folder is photos in a folder that machines share.
type Folder struct {
	path string
	root *os.Root
}

// OpenFolder opens the folder that names of photos are below.
func OpenFolder(path string) (*Folder, error) {
	root, err := os.OpenRoot(path)
	return &Folder{path, root}, err
}

// errNotRegular says that a photo is no file.
var errNotRegular = errors.New("it is no regular file")

// Fetch opens the photo below the root and reads it once for its SHA-256.
func (f *Folder) Fetch(_ context.Context, t *farm.Task) (*Photo, error) {
	info, err := f.root.Stat(t.Photo)
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: t.Photo, Err: errNotRegular}
	}
	if err != nil {
		return nil, explain(err)
	}
	from, err := f.root.Open(t.Photo)
	if err != nil {
		return nil, explain(err)
	}
	defer from.Close()
	sum, _, err := store.SumOf(from)
	if err != nil {
		return nil, explain(err)
	}
	return &Photo{Root: f.path, Name: t.Photo, SHA256: sum, Done: func() {}, Changed: func() bool {
		now, err := f.root.Stat(t.Photo)
		return err != nil || !os.SameFile(info, now) || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime())
	}}, nil
}

// explain is an error without the path, which is said before it.
func explain(err error) error {
	if farm.Escapes(err) {
		return &farm.Failure{Kind: farm.Hopeless, Class: farm.IO,
			Reason: "a link in its path leads out of the folder of photos, which a worker does not leave: put the photo itself there"}
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		return fmt.Errorf("cannot %s it: %w", verb(p.Op), p.Err)
	}
	return err
}

// verb is what a call of the system does.
func verb(op string) string {
	switch op {
	case "statat", "openat", "stat", "lstat":
		return "open"
	}
	return op
}
