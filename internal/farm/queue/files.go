package queue

import (
	"context"
	"fmt"
	"os"

	"enhance/internal/farm"
	"enhance/internal/farm/store"
)

// PutFile keeps a file that a setting names, unless the farm has it.
func (q *Queue) PutFile(ctx context.Context, path string, f *farm.File) error {
	if f.Bytes > maxFileBytes {
		return &OptionError{"model", fmt.Sprintf("%s has %d bytes, and a farm takes files of %d at most", path, f.Bytes, int64(maxFileBytes))}
	}
	objects, err := q.js.ObjectStore(ctx, filesBucket)
	if err != nil {
		return failed("find the settings' files", err)
	}
	return failed("send "+path, store.PutObject(ctx, objects, path, f.SHA256))
}

// PutPhoto keeps a photo, unless the farm has it, and returns its SHA-256: "" if it cannot be
// read.
func (q *Queue) PutPhoto(ctx context.Context, path string) (sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	sum, _, err = store.SumOf(f)
	f.Close()
	if err != nil {
		return "", err
	}
	objects, err := q.js.ObjectStore(ctx, store.PhotosBucket)
	if err == nil {
		err = store.PutObject(ctx, objects, path, sum)
	}
	return sum, failed("send "+path, err)
}
